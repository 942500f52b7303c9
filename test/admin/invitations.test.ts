import { beforeEach, describe, expect, test } from 'vitest';
import { createUser as makeUser } from '../../server/domain/users/edit-user.ts';
import { newFormId } from '../../server/pages/shell/form.ts';
import { operatorIn } from '../helpers/administration.ts';
import { readAudit } from '../helpers/audit.ts';
import { startOfHour, testClock } from '../helpers/clock.ts';
import { createMember, createUser, createWorld } from '../helpers/fixtures.ts';
import { closeAfterAll } from '../helpers/for-file.ts';
import { makeJobsDue, runJobs, waitingJobs } from '../helpers/jobs.ts';
import { startServerForFile, startServerForTest } from '../helpers/server.ts';
import { startSmtpReceiver } from '../helpers/smtp-receiver.ts';
import { emailOf, hiddenFields, signedIn, Visitor } from './visitor.ts';

const start = startOfHour();
const clock = testClock(start);
const password = 'a few words for a password';
const list = '/admin/members/invitations';
const day = 86_400_000;
const farLimits = {
  RATE_LIMIT_INVITATIONS: '1000',
  RATE_LIMIT_INVITATIONS_ACCOUNT: '1000',
  RATE_LIMIT_INVITATIONS_ADDRESS: '1000',
};

const mail = closeAfterAll(await startSmtpReceiver());
const environment = { ...farLimits, SMTP_URL: mail.url, BASE_URL: 'http://ideas.example.com' };
const server = await startServerForFile({ clock, environment });
const world = await createWorld(server);
const owner = await signedIn(server, world.ownerId);
const adminId = await createMember(server, world.accountId, 'admin', 'Ada');
const admin = await signedIn(server, adminId);
beforeEach(() => {
  clock.set(start);
  mail.received.length = 0;
  server.auditLines.length = 0;
});

let count = 0;
const newAddress = () => `grace-${++count}@example.com`;
const invite = (email: string, role = 'member', inviter = admin) => inviter.submit(list, list, { email, role });
const pathIn = (text = '') => /\/admin\/invitations\/[\w-]{43}/.exec(text)?.[0] ?? '';
/** Invites a person by e-mail, and returns the path of the link in the mail. */
async function invited(email: string, role = 'member', inviter = admin): Promise<string> {
  expect((await invite(email, role, inviter)).location).toBe(`${list}?notice=invited`);
  expect(await runJobs(server)).toEqual([]);
  return pathIn(mail.received.at(-1)?.mail.text);
}
const chosen = { name: 'Grace', password, password_again: password };
const signUp = (path: string, visitor = new Visitor(server), fields: Record<string, string> = chosen) =>
  visitor.post(`${path}/sign-up`, fields);
const formToken = async (visitor: Visitor) =>
  hiddenFields((await visitor.get('/admin')).html, '/admin/sign-out').form_token ?? '';
const rows = (email: string) =>
  server.sql<{ id: number; role: string; delivery: string }>(
    'select id, role, delivery from invitations where account_id = $1 and lower(email) = lower($2)',
    [world.accountId, email],
  );
const membersWith = (email: string) =>
  server.sql<{ role: string }>(
    `select m.role from memberships m join users u on u.id = m.user_id
    where m.account_id = $1 and lower(u.email) = lower($2)`,
    [world.accountId, email],
  );
/** Checks whether the invitation link at this path still works. */
const works = async (path: string) => (await new Visitor(server).get(path)).status === 200;

test('an invited person opens the link in the mail, chooses a password and joins the account in the role that the inviter chose', async () => {
  const email = newAddress();
  const path = await invited(` ${email}`, 'moderator');
  expect(mail.received).toHaveLength(1);
  expect(mail.received[0]).toMatchObject({ to: email, mail: { subject: 'Join An account on Idea-Board' } });
  expect(mail.received[0]?.mail.text).toContain('Ada invites you to An account on Idea-Board, as a moderator.');
  expect(mail.received[0]?.raw).not.toContain('List-Unsubscribe');
  const token = path.split('/').at(-1) ?? '';
  expect(await server.sql('select from invitations where token_hash = sha256($1::bytea)', [token])).toHaveLength(1);
  expect(JSON.stringify(await server.sql('select * from invitations'))).not.toContain(token);
  expect((await admin.get(list)).html).toMatch(new RegExp(`${email}[^§]*Mailed;`));

  const visitor = new Visitor(server);
  // Mail filters follow links, so a link must stay valid after its page is opened.
  for (let looks = 0; looks < 2; looks++) {
    const page = await visitor.get(path);
    expect(page.html).toContain(`<bdi>Ada</bdi> invites <bdi>${email}</bdi> to the account <bdi>An account</bdi>`);
    expect(page.html).toContain('as a moderator');
    expect([page.headers.get('cache-control'), page.headers.get('referrer-policy')]).toEqual([
      'no-store',
      'same-origin',
    ]);
  }
  const answer = await visitor.submit(path, `${path}/sign-up`, chosen);
  expect(answer.status).toBe(303);
  const home = await visitor.get(answer.location ?? '');
  expect(home.html).toContain('Welcome! You are now a member of the account.');
  expect(home.html).toContain('Your role is moderator');
  expect(await membersWith(email)).toEqual([{ role: 'moderator' }]);
  expect(await rows(email)).toEqual([]);
  expect((await new Visitor(server).signIn(email, password)).status).toBe(303);

  const [user] = await server.sql<{ id: number; name: string }>('select id, name from users where email = $1', [email]);
  expect(user?.name).toBe('Grace');
  const told = readAudit(server.auditLines).filter(({ event }) => !event.startsWith('form.'));
  const masked = expect.stringMatching(/^g\*\*\*@e\*\*\*\.com#[0-9a-f]{12}$/);
  const byUser = { by: 'user', by_user_id: user?.id, user_id: user?.id };
  expect(told).toMatchObject([
    { event: 'invitation.created', by: 'user', by_user_id: adminId, email: masked, role: 'moderator' },
    { event: 'invitation.mailed', by: 'server', outcome: 'mailed' },
    { event: 'user.created', by: 'server', email: masked },
    { event: 'password.set', ...byUser },
    { event: 'member.added', ...byUser, role: 'moderator' },
    { event: 'invitation.accepted', ...byUser, role: 'moderator' },
    { event: 'sign_in.succeeded', user_id: user?.id },
    { event: 'sign_in.succeeded', user_id: user?.id },
  ]);
  const written = server.logLines.join('') + server.auditLines.join('');
  expect(written).toContain('/admin/invitations/[Redacted]');
  for (const secret of [token, password, email]) expect(written).not.toContain(secret);
});

test("if a person accepts an invitation in a German browser, German becomes the language in the person's profile", async () => {
  const headers = { 'accept-language': 'de' };
  const emails = [newAddress(), await emailOf(server, await createUser(server))];
  const [newPath = '', knownPath = ''] = [await invited(emails[0] ?? ''), await invited(emails[1] ?? '')];
  await signUp(newPath, new Visitor(server, headers));
  const [known] = await server.sql<{ id: number }>('select id from users where email = $1', [emails[1]]);
  const person = await signedIn(server, known?.id ?? 0);
  await person.post(`${knownPath}/accept`, { form_token: await formToken(person) }, { headers });
  expect(await server.sql('select distinct language from users where email = any($1)', [emails])).toEqual([
    { language: 'de' },
  ]);
});

describe('the invitation link of an existing user', () => {
  test('an existing user can sign in and accept an invitation, even if the invitation has their e-mail address in capital letters', async () => {
    const userId = await createUser(server, 'Hedy');
    const person = await signedIn(server, userId);
    const email = await emailOf(server, userId);
    const path = await invited(email.toUpperCase());
    const visitor = new Visitor(server);
    const page = await visitor.get(path);
    expect(page.html).toContain(`href="/sign-in?next=${encodeURIComponent(path)}"`);
    expect(page.html).not.toContain('name="password"');
    const signIn = await visitor.get(`/sign-in?next=${encodeURIComponent(path)}`);
    expect(hiddenFields(signIn.html, '/sign-in').next).toBe(path);

    expect((await person.submit(path, `${path}/accept`)).status).toBe(303);
    expect(await membersWith(email)).toEqual([{ role: 'member' }]);
    expect(await works(path)).toBe(false);
  });

  test('a user who is signed in with another e-mail address cannot accept an invitation, but gets the sign-up form after they sign out', async () => {
    const email = newAddress();
    const path = await invited(email, 'admin');
    const visitor = await signedIn(server, await createUser(server));
    const page = await visitor.get(path);
    expect(page.html).toContain('the invitation is for another address');
    const form_token = await formToken(visitor);
    const refused = await visitor.post(`${path}/accept`, { form_token });
    expect([refused.status, refused.html.includes('is for another address')]).toEqual([409, true]);
    expect(await membersWith(email)).toEqual([]);
    const answer = await visitor.post('/admin/sign-out', { form_token, next: path });
    expect(answer.location).toBe(path);
    expect((await visitor.get(path)).html).toContain('name="password"');
  });

  test('an invitation cannot be accepted without a session or without a form_token', async () => {
    const userId = await createUser(server);
    const person = await signedIn(server, userId);
    const path = await invited(await emailOf(server, userId));
    expect((await person.post(`${path}/accept`, {})).status).toBe(403);
    expect((await new Visitor(server).post(`${path}/accept`, {})).location).toMatch(/^\/sign-in/);
    // A user already has the invited e-mail address, so nobody else can sign up with it.
    const refused = await signUp(path);
    expect([refused.status, refused.html.includes('Sign in with this address')]).toEqual([409, true]);
    expect(await works(path)).toBe(true);
  });

  test('an existing member who opens an invitation link sees that they are already a member, and cannot accept the invitation', async () => {
    const userId = await createUser(server);
    const path = await invited(await emailOf(server, userId), 'admin');
    await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'member')`, [
      world.accountId,
      userId,
    ]);
    const person = await signedIn(server, userId);
    expect((await person.get(path)).html).toContain('You are already a member of the account.');
    const answer = await person.post(`${path}/accept`, { form_token: await formToken(person) });
    expect(answer.status).toBe(409);
    expect(await membersWith(await emailOf(server, userId))).toEqual([{ role: 'member' }]);
  });
});

describe('concurrent requests with invitation links', () => {
  test('exactly one of several concurrent sign-ups through one invitation link succeeds, and the others get 404', async () => {
    const email = newAddress();
    const path = await invited(email);
    const names = ['One', 'Two', 'Three', 'Four'];
    const answers = await Promise.all(names.map(name => signUp(path, new Visitor(server), { ...chosen, name })));
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 404, 404, 404]);
    expect(await membersWith(email)).toEqual([{ role: 'member' }]);
    const [user] = await server.sql<{ name: string }>('select name from users where email = $1', [email]);
    expect(user?.name).toBe(names[answers.findIndex(({ status }) => status === 303)]);
  });

  test('an invited user who accepts an invitation with several concurrent requests becomes a member only once', async () => {
    const userId = await createUser(server);
    const person = await signedIn(server, userId);
    const path = await invited(await emailOf(server, userId));
    const form_token = await formToken(person);
    const clicks = Array.from({ length: 4 }, () => person.post(`${path}/accept`, { form_token }));
    const statuses = (await Promise.all(clicks)).map(({ status }) => status);
    expect(statuses.sort()).toEqual([303, 404, 404, 404]);
    expect(await membersWith(await emailOf(server, userId))).toHaveLength(1);
    const accepted = readAudit(server.auditLines).filter(({ event }) => event === 'invitation.accepted');
    expect(accepted).toHaveLength(1);
  });

  test("a sign-up through an invitation is refused if somebody else's sign-up takes the invited e-mail address meanwhile, and the invitation link stays valid", async () => {
    const email = newAddress();
    const path = await invited(email);
    // The other sign-up starts to use the e-mail address while this sign-up hashes its password. This sign-up has
    // already checked that the address is free.
    const { passwords } = server.dependencies;
    const { hash } = passwords;
    passwords.hash = async text => {
      await server.database.transaction(transaction => makeUser(operatorIn(transaction), { email, name: 'Other' }));
      return hash(text);
    };
    const answer = await signUp(path).finally(() => Object.assign(passwords, { hash }));
    expect([answer.status, answer.html.includes('Sign in with this address')]).toEqual([409, true]);
    expect(await membersWith(email)).toEqual([]);
    expect(await works(path)).toBe(true);
  });
});

describe('an invitation', () => {
  test('every accepted, replaced, revoked, expired or unknown invitation link gets the same 404 response', async () => {
    const [accepted, again, revoked, late] = [newAddress(), newAddress(), newAddress(), newAddress()];
    const paths = [await invited(accepted), await invited(again), await invited(revoked), await invited(late)];
    expect((await signUp(paths[0] ?? '')).status).toBe(303);
    const newer = await invited(again, 'moderator');
    expect(await works(newer)).toBe(true);
    const path = `${list}/${(await rows(revoked))[0]?.id}/revoke`;
    expect((await admin.get(path)).html).toContain(`Revoke the invitation of <bdi>${revoked}</bdi>?`);
    expect((await admin.submit(path, path)).location).toBe(`${list}?notice=revoked`);
    expect((await admin.get(path)).status).toBe(404);

    clock.advance(7 * day - 1);
    expect(await works(paths[3] ?? '')).toBe(true);
    clock.advance(1);
    const answers = new Set<string>();
    for (const one of [...paths, '/admin/invitations/none', `/admin/invitations/${'x'.repeat(43)}`]) {
      for (const { status, html } of [await new Visitor(server).get(one), await signUp(one)]) {
        answers.add(`${status} ${html}`);
      }
    }
    expect([...answers]).toEqual([expect.stringMatching(/^404 [^§]*This invitation no longer works/)]);
    expect((await admin.get(list)).html).not.toContain(late);
    clock.set(start);
    expect(await membersWith(again)).toEqual([]);
    expect((await signUp(newer)).status).toBe(303);
    expect(await membersWith(again)).toEqual([{ role: 'moderator' }]);
  });

  test('an invitation link is valid only while the inviter is still allowed to invite people in the role of the invitation', async () => {
    const inviterId = await createMember(server, world.accountId, 'owner');
    const inviter = await signedIn(server, inviterId);
    const [asOwner, asMember] = [newAddress(), newAddress()];
    const [toOwner, toMember] = [await invited(asOwner, 'owner', inviter), await invited(asMember, 'member', inviter)];
    const become = (role: string) =>
      server.sql('update memberships set role = $2 where user_id = $1', [inviterId, role]);
    await become('admin');
    expect([await works(toOwner), await works(toMember)]).toEqual([false, true]);
    await become('moderator');
    expect([await works(toOwner), await works(toMember), (await signUp(toMember)).status]).toEqual([false, false, 404]);
    expect((await owner.get(list)).html).not.toContain(asMember);
    await become('admin');
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, inviterId]);
    expect(await works(toMember)).toBe(false);
    await server.sql('delete from user_blocks where user_id = $1', [inviterId]);
    expect(await works(toMember)).toBe(true);
    await server.sql('delete from memberships where user_id = $1', [inviterId]);
    expect(await works(toMember)).toBe(false);
    expect([...(await membersWith(asOwner)), ...(await membersWith(asMember))]).toEqual([]);
  });

  test('an invitation link does not work for a blocked user or for an account whose erasure has begun', async () => {
    const userId = await createUser(server);
    const email = await emailOf(server, userId);
    const person = await signedIn(server, userId);
    const path = await invited(email);
    const form_token = await formToken(person);
    const block = [world.accountId, userId];
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', block);
    // A user who is blocked in all their accounts is signed out, so this user is also a member of another account.
    await server.sql(`insert into memberships (account_id, user_id, role) select $1, $2, 'member'`, [
      (await createWorld(server)).accountId,
      userId,
    ]);
    expect([await works(path), (await person.post(`${path}/accept`, { form_token })).status]).toEqual([false, 404]);
    const again = await invite(email);
    expect([again.status, again.html.includes('is blocked in the account')]).toEqual([409, true]);
    await server.sql('delete from user_blocks where account_id = $1 and user_id = $2', block);
    expect(await works(path)).toBe(true);

    const erase = `update accounts set deletion_scheduled_at = $2, erasure_began_at = $2 where id = $1`;
    await server.sql(erase, [world.accountId, start]);
    expect([await works(path), (await person.post(`${path}/accept`, { form_token })).status]).toEqual([false, 404]);
    await server.sql(erase, [world.accountId, null]);
    expect(await membersWith(email)).toEqual([]);
  });

  test('an owner can invite a person to become an owner, and an admin cannot create, replace or revoke such an invitation', async () => {
    const email = newAddress();
    expect((await admin.get(list)).html).not.toContain('value="owner"');
    expect((await invite(email, 'owner')).status).toBe(403);
    expect(await rows(email)).toEqual([]);
    const path = await invited(email, 'owner', owner);
    const id = (await rows(email))[0]?.id;
    // An admin can neither revoke nor replace the invitation of an owner.
    expect((await admin.get(list)).html).not.toContain(`${list}/${id}/revoke`);
    const form_token = await formToken(admin);
    expect((await admin.post(`${list}/${id}/revoke`, { form_token })).status).toBe(403);
    expect((await invite(email, 'member')).status).toBe(403);
    expect(await works(path)).toBe(true);
    const stranger = await signedIn(server, (await createWorld(server)).ownerId);
    expect((await stranger.get(`${list}/${id}/revoke`)).status).toBe(404);
    expect((await stranger.post(`${list}/${id}/revoke`, { form_token: await formToken(stranger) })).status).toBe(404);
    expect((await signUp(path)).status).toBe(303);
    expect(await membersWith(email)).toEqual([{ role: 'owner' }]);
  });

  test('an invitation to an e-mail address that differs only in ä and Ä revokes the first invitation, which needs the right to manage its role', async () => {
    const email = `Ämilia-${++count}@example.com`;
    const similar = email.toLowerCase();
    const path = await invited(email, 'owner', owner);
    const [first] = await rows(email);
    server.auditLines.length = 0;
    expect((await invite(similar)).status).toBe(403);
    expect([await rows(email), await works(path), server.auditLines]).toEqual([[first], true, []]);
    await invited(similar, 'member', owner);
    expect(await rows(email)).toMatchObject([{ role: 'member' }]);
    expect(await works(path)).toBe(false);
    expect(readAudit(server.auditLines).slice(0, 2)).toMatchObject([
      { event: 'invitation.revoked', by_user_id: world.ownerId, invitation_id: first?.id, role: 'owner' },
      { event: 'invitation.created', by_user_id: world.ownerId, role: 'member' },
    ]);
  });

  test.each([
    ['an invalid address', { email: 'nobody' }, 422, 'is not an e-mail address'],
    ['an unknown role', { role: 'king' }, 422, 'Choose a role'],
  ])(
    'an invitation with %s is refused, and the server sends no mail and writes no audit entry',
    async (_what, given, status, why) => {
      const fields = { email: 'grace "h"@example.com', role: 'moderator', ...given };
      const answer = await admin.submit(list, list, fields);
      expect([answer.status, answer.html.includes(why)]).toEqual([status, true]);
      if (!('role' in given)) expect(answer.html).toContain('<option value="moderator" selected>');
      expect(server.auditLines).toEqual([]);
      expect(await waitingJobs(server)).toEqual([]);
    },
  );

  test('the invitation page, the page of an expired link and the list of invitations are in German for a browser that prefers German', async () => {
    const german = { headers: { 'accept-language': 'de' } };
    const path = await invited(newAddress(), 'moderator');
    const text = (html: string) => html.replaceAll(/<[^>]+>/g, '');
    const page = text((await new Visitor(server).get(path, german)).html);
    expect(page).toContain(`Ada lädt grace-${count}@example.com in das Konto An account ein, als Moderator.`);
    expect(text((await admin.get(list, german)).html)).toContain('Per E-Mail gesendet; der Link gilt bis zum ');
    clock.advance(8 * day);
    const expired = await new Visitor(server).get(path, german);
    expect(expired.status).toBe(404);
    expect(expired.html).toContain('Diese Einladung gilt nicht mehr');
  });

  test('a person who is already a member cannot be invited', async () => {
    const answer = await invite((await emailOf(server, world.ownerId)).toUpperCase());
    expect([answer.status, answer.html.includes('is a member of the account already')]).toEqual([409, true]);
  });

  test('a sign-up through an invitation with a short password, two different passwords or no name is refused, and the invitation link stays valid', async () => {
    const path = await invited(newAddress());
    for (const [fields, why] of [
      [{ ...chosen, password: 'short', password_again: 'short' }, 'at least 12'],
      [{ ...chosen, password_again: 'another few words' }, 'differ'],
      [{ ...chosen, name: ' ' }, 'must not be empty'],
    ] as const) {
      const answer = await signUp(path, new Visitor(server), fields);
      expect([answer.status, answer.html.includes(why), answer.html.includes(password)]).toEqual([422, true, false]);
      expect(answer.html).toContain(`name="name" required maxlength="100" autocomplete="name" value="${fields.name}"`);
    }
    expect((await signUp(path)).status).toBe(303);
  });

  test('the pages and mails of invitations escape HTML in names and e-mail addresses', async () => {
    const hostile = `"><img src=x onerror='alert(1)'>\u202e`;
    await server.sql('update accounts set name = $2 where id = $1', [world.accountId, hostile]);
    await server.sql('update users set name = $2 where id = $1', [adminId, hostile]);
    const address = `<img-${++count}@example.com`;
    const path = await invited(address);
    const { id } = (await rows(address))[0] ?? {};
    const seen = [
      await admin.get(`${list}/${id}/revoke`),
      await admin.get(path),
      await new Visitor(server).get(path),
      await signUp(path, new Visitor(server), { ...chosen, name: '<img src=x>', password_again: '' }),
    ];
    expect((await admin.get(list)).html).not.toContain('<img');
    for (const { html } of seen) {
      expect([html.includes('<img'), html.includes('\u202e')]).toEqual([false, false]);
      expect(html).toContain('&lt;img');
    }
    expect(mail.received.at(-1)?.mail.html).not.toContain('<img');
    await server.sql(`update accounts set name = 'An account' where id = $1`, [world.accountId]);
    await server.sql(`update users set name = 'Ada' where id = $1`, [adminId]);
  });
});

describe('the invitation mail', () => {
  test('the server sends an invitation mail again after a temporary failure, and the list of invitations marks a mail that the mail server refused permanently', async () => {
    const [later, never] = [newAddress(), newAddress()];
    mail.refuse(later, 451);
    mail.refuse(never, 550);
    await invite(later);
    await invite(never);
    expect(await runJobs(server)).toMatchObject([{ task: 'mail_invitation' }]);
    expect((await admin.get(list)).html).toMatch(
      new RegExp(
        `${never}[^§]*Refused by the mail server[^§]*${later}|${later}[^§]*${never}[^§]*Refused by the mail server`,
      ),
    );
    expect((await rows(later)).map(({ delivery }) => delivery)).toEqual(['waiting']);
    mail.accept();
    await makeJobsDue(server);
    await runJobs(server);
    expect(mail.received.map(({ to }) => to)).toEqual([later]);
    expect(await works(pathIn(mail.received[0]?.mail.text))).toBe(true);
    // A job that runs again after a crash must not replace the link that it has already mailed.
    const [row] = await rows(later);
    await server.sql(`select graphile_worker.add_job('mail_invitation', $1::json)`, [
      { invitation_id: row?.id, account_id: world.accountId },
    ]);
    await runJobs(server);
    expect(mail.received).toHaveLength(1);
    expect(await works(pathIn(mail.received[0]?.mail.text))).toBe(true);
  });

  test('several invitations of one person before the mail is sent cause a single mail with the last role, and a revoked invitation causes no mail', async () => {
    const [again, revoked] = [newAddress(), newAddress()];
    const before = await invited(again);
    mail.received.length = 0;
    for (const role of ['member', 'moderator', 'admin']) await invite(again, role);
    // The previous link is already invalid, although the server has not yet created the new link.
    expect(await works(before)).toBe(false);
    await invite(revoked);
    const path = `${list}/${(await rows(revoked))[0]?.id}/revoke`;
    await admin.submit(path, path);
    await runJobs(server);
    expect(mail.received.map(({ to }) => to)).toEqual([again]);
    expect(mail.received[0]?.mail.text).toContain('as an admin');
  });
});

test('a server that cannot send mail shows a valid invitation link to the inviter, but only once', async () => {
  const silent = await startServerForTest({ on: server, clock, environment: farLimits });
  const inviter = new Visitor(silent);
  for (const [name, value] of admin.cookies) inviter.cookies.set(name, value);
  const email = newAddress();
  const answer = await inviter.submit(list, list, { email, role: 'member' });
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([201, 'no-store']);
  expect(answer.html).toContain('The link is shown only now');
  const path = pathIn(answer.html);
  expect((await inviter.get(list)).html).toContain('To be handed over');
  expect((await inviter.get(list)).html).not.toContain(path);
  expect(silent.logLines.join('') + silent.auditLines.join('')).not.toContain(path.split('/').at(-1));
  expect(await waitingJobs(server)).toEqual([]);
  expect((await signUp(path)).status).toBe(303);
  expect(await membersWith(email)).toEqual([{ role: 'member' }]);
});

test('invitations have rate limits for each inviter, each account and each e-mail address, and invalid invitations do not count against these limits', async () => {
  const environment = {
    RATE_LIMIT_INVITATIONS: '4',
    RATE_LIMIT_INVITATIONS_ACCOUNT: '6',
    RATE_LIMIT_INVITATIONS_ADDRESS: '2',
  };
  // Starts the clock at midnight, so that both hours of this test count against the same daily limit of the account.
  clock.set(new Date(Math.ceil(start.getTime() / day) * day));
  const strict = await startServerForTest({ on: server, clock, environment });
  const own = await createWorld(server);
  const inviters = [];
  for (const role of ['owner', 'admin'] as const) {
    inviters.push(await signedIn(strict, await createMember(server, own.accountId, role)));
  }
  const send = async (visitor: Visitor | undefined, emails: string[]) => {
    const form_token = await formToken(visitor as Visitor);
    const answers = await Promise.all(
      emails.map(email => visitor?.post(list, { form_token, form_id: newFormId(), email, role: 'member' })),
    );
    return answers.map(answer => answer?.status ?? 0).sort();
  };
  const [first, second] = inviters;
  const eve = newAddress();
  for (let tries = 0; tries < 5; tries++) expect(await send(first, ['no address'])).toEqual([422]);
  expect(await send(first, Array(4).fill(eve))).toEqual([201, 201, 429, 429]);
  expect(await send(first, [newAddress(), newAddress(), newAddress(), newAddress()])).toEqual(Array(4).fill(429));
  clock.advance(3_600_000);
  expect(await send(first, [newAddress(), newAddress()])).toEqual([201, 201]);
  expect(await send(second, [newAddress(), newAddress(), newAddress()])).toContain(429);
  const keys = await server.sql<{ key: string }>(`select key from rate_limits where key like 'invitation:address:%'`);
  for (const { key } of keys) expect(key).toMatch(/^invitation:address:[\w-]{22}$/);
});

test('the list of 30 open invitations has two pages, and the first page has fewer than 50,000 characters', async () => {
  const { accountId, ownerId } = await createWorld(server);
  await server.sql(
    `insert into invitations (account_id, email, role, inviter_id, delivery, created_at, expires_at)
    select $1, rpad('w' || n, 230, 'w') || '@example.com', 'member', $2, 'mailed', $3::timestamptz, $3::timestamptz + interval '7 days'
    from generate_series(1, 30) n`,
    [accountId, ownerId, start],
  );
  const visitor = await signedIn(server, ownerId);
  const first = await visitor.get(list);
  expect([first.html.length < 50_000, first.html.match(/<li class="card/g)?.length]).toEqual([true, 25]);
  const next = /rel="next" href="([^"]+)"/.exec(first.html)?.[1] ?? '';
  expect((await visitor.get(next)).html.match(/<li class="card/g)).toHaveLength(5);
});
