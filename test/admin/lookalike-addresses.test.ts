import { beforeEach, describe, expect, test } from 'vitest';
import { inviteMember } from '../../server/domain/invitations/invite-member.ts';
import { createUser, updateUser } from '../../server/domain/users/edit-user.ts';
import { findUser } from '../../server/domain/users/find-user.ts';
import { operatorIn } from '../helpers/administration.ts';
import { readAudit } from '../helpers/audit.ts';
import { startOfHour, testClock } from '../helpers/clock.ts';
import { createMember, createWorld, type World } from '../helpers/fixtures.ts';
import { closeAfterAll } from '../helpers/for-file.ts';
import { runJobs } from '../helpers/jobs.ts';
import { startServerForFile } from '../helpers/server.ts';
import { startSmtpReceiver } from '../helpers/smtp-receiver.ts';
import { givePassword, type Person, signedIn, Visitor } from './visitor.ts';

const start = startOfHour();
const clock = testClock(start);
const invitations = '/admin/members/invitations';
let world: World;
let iris: Person;
let irisId: number;

const mail = closeAfterAll(await startSmtpReceiver());
const server = await startServerForFile({
  clock,
  environment: {
    SMTP_URL: mail.url,
    BASE_URL: 'http://ideas.example.com',
    TRUST_PROXY: 'true',
    RATE_LIMIT_SIGN_IN_ACCOUNT: '4',
    RATE_LIMIT_PASSWORD_LINK: '3',
    RATE_LIMIT_INVITATIONS_ADDRESS: '3',
    RATE_LIMIT_INVITATIONS: '1000',
  },
});
let count = 0;
beforeEach(async () => {
  clock.set(start);
  world = await createWorld(server);
  irisId = (await make(`iris.${++count}@bücher.example`)).id;
  iris = await givePassword(server, irisId);
  mail.received.length = 0;
  server.auditLines.length = 0;
});

const asOperator = <T>(work: (admin: ReturnType<typeof operatorIn>) => Promise<T>) =>
  server.database.transaction(transaction => work(operatorIn(transaction, clock.now())));
const make = (email: string) => asOperator(admin => createUser(admin, { email, name: 'Iris' }));
const find = async (email: string) => (await asOperator(admin => findUser(admin, email)))?.id;

/** Returns spellings of the e-mail address, and addresses that only look like it and belong to no user. */
function spellings(email: string): string[] {
  const [local = '', domain = ''] = email.split('@');
  return [
    email,
    email.toUpperCase(),
    email.replace('i', 'İ'),
    email.replace('is', 'İs'),
    email.replaceAll('i', 'İ'),
    email.replace('i', 'ı'),
    email.replace('i', 'ｉ'),
    email.replace('s', 'ſ'),
    email.replace('@', '＠'),
    `${local}@${domain}.`,
    `${local}@XN--BCHER-KVA.example`,
    `${local}@BÜCHER。example`,
    email.replace('i', 'i\u200b'),
    `${email}\0`,
    `\u00a0${email}\u3000`,
  ];
}

let lastIp = 0;
const stranger = () => new Visitor(server, { 'x-forwarded-for': `10.0.${lastIp >> 8}.${lastIp++ & 255}` });

describe('spellings of one address', () => {
  test('different spellings of an e-mail address share one rate limit for wrong passwords', async () => {
    const tries = spellings(iris.email).flatMap(email => Array.from({ length: 5 }, () => email));
    await Promise.all(tries.map(email => stranger().signIn(email, 'a wrong password')));
    const failures = readAudit(server.auditLines).filter(line => line.event === 'sign_in.failed');
    expect(failures.filter(({ user_id }) => user_id === irisId)).toHaveLength(4);
    // No spelling of the address avoids the rate limit for wrong passwords. So the server refuses even the right
    // password.
    for (const email of spellings(iris.email)) {
      expect((await stranger().signIn(email, iris.password)).status, email).not.toBe(303);
    }
    expect(await server.sql('select from sessions where user_id = $1', [irisId])).toEqual([]);
  });

  test('different spellings of an e-mail address share one rate limit for requests of a password link', async () => {
    const asked = spellings(iris.email).flatMap(email => [email, email, email, email]);
    await Promise.all(asked.map(email => stranger().post('/admin/password-link', { email })));
    expect(await runJobs(server)).toEqual([]);
    expect(mail.received).toHaveLength(3);
    expect(await server.sql('select from password_links where user_id = $1', [irisId])).toHaveLength(3);
  });

  test('different spellings of an e-mail address share one rate limit for invitations', async () => {
    const owner = await signedIn(server, world.ownerId);
    const invited = `ada.${count}@bücher.example`;
    const same = [
      invited.toUpperCase(),
      invited.replace('a', 'ａ'),
      `${invited}.`,
      `ada.${count}@xn--bcher-kva.example`,
    ];
    for (const email of [...same, ...same]) {
      await owner.submit(invitations, invitations, { email, role: 'member' });
      await runJobs(server);
    }
    expect(mail.received).toHaveLength(3);
    expect(new Set(mail.received.map(({ to }) => to.toLowerCase()))).toEqual(new Set([`ada.${count}@bücher.example`]));
    expect(await server.sql('select from invitations where account_id = $1', [world.accountId])).toHaveLength(1);
  });

  test('a user can sign in with another spelling of the e-mail address in a browser with an earlier sign-in, despite wrong passwords from other browsers', async () => {
    const own = stranger();
    expect((await own.signIn(`iris.${count}@XN--BCHER-KVA.EXAMPLE.`, iris.password)).status).toBe(303);
    for (let n = 0; n < 5; n++) await stranger().signIn(iris.email, 'a wrong password');
    own.cookies.delete('idea_board_session');
    expect((await own.signIn(iris.email.replace('i', 'ｉ'), iris.password)).status).toBe(303);
    expect((await stranger().signIn(iris.email, iris.password)).status).toBe(429);
  });

  test('concurrent attempts to create users with different spellings of one e-mail address create only one user', async () => {
    const base = `zoe.${count}@example.com`;
    const asked = [base, base.toUpperCase(), base.replace('z', 'ｚ'), `${base}.`];
    const outcomes = await Promise.allSettled(asked.map(make));
    const refusals = outcomes.flatMap(outcome => (outcome.status === 'rejected' ? [outcome.reason.message] : []));
    expect(refusals).toHaveLength(3);
    for (const message of refusals) expect(message).toMatch(/^Another user has the address /);
    const ids = await Promise.all(asked.map(find));
    expect(new Set(ids).size).toBe(1);
    expect(ids[0]).toEqual(expect.any(Number));
  });

  test('a member or a blocked user cannot be invited with another spelling of their e-mail address', async () => {
    const memberId = await createMember(server, world.accountId, 'member');
    await server.sql('update users set email = $2 where id = $1', [memberId, `eve.${count}@example.com`]);
    const invite = (email: string) =>
      asOperator(admin =>
        inviteMember(admin, { accountId: world.accountId, email, role: 'member' }, { isMailed: false }),
      );
    await expect(invite(`ｅVE.${count}@example.com.`)).rejects.toThrow('is a member of the account already');
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, irisId]);
    await expect(invite(`IRIS.${count}@xn--bcher-kva.example`)).rejects.toThrow('is blocked in the account');
  });
});

describe('addresses that only look alike', () => {
  test('two e-mail addresses that differ only in İ and i belong to different users, and a password link is mailed only to the entered address', async () => {
    const [plain, dotted] = [`liv.${count}@example.com`, `lİv.${count}@example.com`];
    const attacker = await make(dotted);
    // The owner of the address with a plain i can still become a user with that address.
    const owner = await make(plain);
    expect([await find(plain), await find(dotted)]).toEqual([owner.id, attacker.id]);
    await stranger().post('/admin/password-link', { email: plain });
    expect(await runJobs(server)).toEqual([]);
    expect(mail.received.map(({ to }) => to)).toEqual([plain]);
    expect(
      await server.sql('select user_id from password_links where user_id in ($1, $2)', [owner.id, attacker.id]),
    ).toEqual([{ user_id: owner.id }]);
  });

  test('a user cannot accept an invitation to an e-mail address that only looks like their own', async () => {
    const address = `lİs.${count}@example.com`;
    const { token } = await asOperator(admin =>
      inviteMember(admin, { accountId: world.accountId, email: address, role: 'admin' }, { isMailed: false }),
    );
    const other = await make(`lis.${count}@example.com`);
    const visitor = await signedIn(server, other.id);
    const page = await visitor.get(`/admin/invitations/${token}`);
    expect(page.html).not.toContain(`action="/admin/invitations/${token}/accept"`);
    await visitor.post(`/admin/invitations/${token}/accept`, {});
    expect(await server.sql('select from memberships where user_id = $1', [other.id])).toEqual([]);
  });

  test('an invitation to an e-mail address with an invisible character is refused, and the error message names the character', async () => {
    const owner = await signedIn(server, world.ownerId);
    const answer = await owner.submit(invitations, invitations, { email: 'ada\u200b@example.com', role: 'member' });
    expect(answer.status).toBe(422);
    expect(answer.html).toContain('The address has an invisible character, U+200B: remove it');
    expect(await server.sql('select from invitations where account_id = $1', [world.accountId])).toEqual([]);
  });
});

test('a user can still request a password link with the first spelling of their e-mail address after the operator has changed the spelling', async () => {
  const inUnicode = `Iris.${count}@BÜCHER.example`;
  for (const email of [`iris.${count}@xn--bcher-kva.example`, inUnicode, iris.email, inUnicode]) {
    await asOperator(async admin => {
      const user = await findUser(admin, iris.email);
      if (user) await updateUser(admin, user, { email });
    });
    expect(await server.sql('select email, canonical_email from users where id = $1', [irisId])).toEqual([
      { email, canonical_email: `iris.${count}@xn--bcher-kva.example` },
    ]);
  }
  await stranger().post('/admin/password-link', { email: iris.email });
  expect(await runJobs(server)).toEqual([]);
  expect(mail.received.map(({ to }) => to)).toEqual([`Iris.${count}@bücher.example`]);
});

test('the server sends mail to the canonical domain of an e-mail address, even if toLowerCase() in JavaScript would return a different domain', async () => {
  const address = `Zoe.${count}@ΟΔΟΣ.example`;
  await make(address);
  await stranger().post('/admin/password-link', { email: address.replace('Σ', 'σ') });
  expect(await runJobs(server)).toEqual([]);
  // toLowerCase() would end the first label with ς instead of σ. In DNS, that is another domain.
  expect(mail.received.map(({ to }) => to)).toEqual([`Zoe.${count}@οδοσ.example`]);
});
