import { beforeEach, describe, expect, test } from 'vitest';
import { cliOn } from '../cli/run-cli.ts';
import { readAudit } from '../helpers/audit.ts';
import { startOfHour, testClock } from '../helpers/clock.ts';
import { createMember, createWorld, type World } from '../helpers/fixtures.ts';
import { closeAfterAll } from '../helpers/for-file.ts';
import { runJobs, waitingJobs } from '../helpers/jobs.ts';
import { startServerForFile, startServerForTest } from '../helpers/server.ts';
import { startSmtpReceiver } from '../helpers/smtp-receiver.ts';
import { emailOf, givePassword, signedIn, Visitor } from './visitor.ts';

const start = startOfHour();
const clock = testClock(start);
const password = 'a few words for a password';

let world: World;
let email: string;

const mail = closeAfterAll(await startSmtpReceiver());
const server = await startServerForFile({
  clock,
  environment: {
    SMTP_URL: mail.url,
    BASE_URL: 'http://ideas.example.com',
    RATE_LIMIT_SIGN_IN_IP: '1000000',
  },
});
beforeEach(async () => {
  clock.set(start);
  world = await createWorld(server);
  email = await emailOf(server, world.ownerId);
  mail.received.length = 0;
  server.auditLines.length = 0;
});

/** Returns the path and the token of the link in the last mail. */
async function mailedLink(address = email): Promise<{ path: string; token: string }> {
  expect((await new Visitor(server).post('/admin/password-link', { email: address })).status).toBe(200);
  expect(await runJobs(server)).toEqual([]);
  const [last] = mail.received.slice(-1);
  const [, path = '', token = ''] =
    /http:\/\/ideas\.example\.com(\/admin\/password\?token=([\w-]{43}))/.exec(last?.mail.text ?? '') ?? [];
  return { path, token };
}

const setBy = (token: string, chosen = password, visitor = new Visitor(server)) =>
  visitor.post('/admin/password', { token, password: chosen, password_again: chosen });
const isIn = async (chosen: string) => (await new Visitor(server).signIn(email, chosen)).status === 303;

describe('a password link by mail', () => {
  test("a mailed password link can set a user's first password only once, and only the mail contains the link's token", async () => {
    const { path, token } = await mailedLink(` ${email.toUpperCase()}`);
    expect(mail.received).toHaveLength(1);
    expect(mail.received[0]).toMatchObject({ to: email, mail: { subject: 'Set your password for Idea-Board' } });
    expect(mail.received[0]?.raw).not.toContain('List-Unsubscribe');
    expect(JSON.stringify(await server.sql('select * from password_links'))).not.toContain(token);
    expect(await server.sql('select from password_links where token_hash = sha256($1::bytea)', [token])).toHaveLength(
      1,
    );
    expect(server.logLines.join('') + server.auditLines.join('')).not.toContain(token);

    const visitor = new Visitor(server);
    // Mail filters follow links, so a link must stay valid after its page is opened.
    for (let looks = 0; looks < 2; looks++) expect((await visitor.get(path)).status).toBe(200);
    const answer = await visitor.submit(path, '/admin/password', { password, password_again: password });
    expect(answer.location).toBe('/sign-in?notice=password_set');
    expect(await isIn(password)).toBe(true);
    expect((await visitor.get(path)).status).toBe(404);
    expect((await setBy(token, 'another few words')).status).toBe(404);
    expect(await isIn(password)).toBe(true);
    const told = readAudit(server.auditLines).filter(({ event }) => event.startsWith('password.'));
    expect(told).toMatchObject([
      { event: 'password.reset_requested', user_id: world.ownerId },
      { event: 'password.set', by: 'user', by_user_id: world.ownerId, user_id: world.ownerId, sessions: 0 },
    ]);
    expect(server.auditLines.join('') + server.logLines.join('')).not.toContain(password);
  });

  test("if a person requests and uses a password link in a German browser, the mail is in German, and German becomes the user's language", async () => {
    const visitor = new Visitor(server, { 'accept-language': 'de' });
    await visitor.post('/admin/password-link', { email });
    await runJobs(server);
    const received = mail.received.at(-1)?.mail;
    expect(received?.subject).toBe('Ihr Passwort für Idea-Board festlegen');
    const path = /\/admin\/password\?token=\S+/.exec(received?.text ?? '')?.[0] ?? '';
    await visitor.submit(path, '/admin/password', { password, password_again: password });
    const [user] = await server.sql('select language from users where id = $1', [world.ownerId]);
    expect(user).toEqual({ language: 'de' });
  });

  test('a new password ends every session of the user and every other password link', async () => {
    const visitor = await signedIn(server, world.ownerId);
    const [first, second] = [await mailedLink(), await mailedLink()];
    expect((await setBy(first.token)).status).toBe(303);
    expect((await visitor.get('/admin')).status).toBe(303);
    expect((await setBy(second.token)).status).toBe(404);
    expect(await server.sql('select from password_links where user_id = $1', [world.ownerId])).toEqual([]);
  });

  test('if eight concurrent requests use the same password link, exactly one of them sets the password', async () => {
    const { token } = await mailedLink();
    const chosen = Array.from({ length: 8 }, (_, n) => `the password number ${n}`);
    const statuses = await Promise.all(chosen.map(async one => (await setBy(token, one)).status));
    expect(statuses.toSorted()).toEqual([303, ...Array(7).fill(404)]);
    expect(await isIn(chosen[statuses.indexOf(303)] ?? '')).toBe(true);
  });

  test('a password link expires after 30 minutes', async () => {
    const { token } = await mailedLink();
    clock.advance(30 * 60_000 - 1);
    expect((await setBy(token)).status).toBe(303);
    const late = await mailedLink();
    clock.advance(30 * 60_000);
    expect((await new Visitor(server).get(late.path)).status).toBe(404);
    expect((await setBy(late.token)).status).toBe(404);
  });

  test('a request for a password link gets the same response and queues the same kind of job for known and unknown e-mail addresses', async () => {
    const blockedId = await createMember(server, world.accountId, 'admin');
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, blockedId]);
    const addresses = [email, 'nobody@example.com', 'no address', 'a\0b@example.com', await emailOf(server, blockedId)];
    const answers = new Set<string>();
    for (const address of addresses) {
      const { status, html } = await new Visitor(server).post('/admin/password-link', { email: address });
      answers.add(`${status} ${html.replace(address, '')}`);
    }
    expect(answers.size).toBe(1);
    const jobs = await waitingJobs(server);
    expect(jobs.map(({ task, payload }) => [task, payload])).toEqual([
      ['mail_password_link', { user_id: world.ownerId, language: 'en' }],
      ...Array(4).fill(['mail_password_link', { user_id: null, language: 'en' }]),
    ]);
    await runJobs(server);
    expect(mail.received.map(({ to }) => to)).toEqual([email]);
  });

  test('the server sends the mail with a password link again after a temporary failure', async () => {
    mail.refuse(email, 451);
    await new Visitor(server).post('/admin/password-link', { email });
    expect(await runJobs(server)).toMatchObject([{ task: 'mail_password_link' }]);
    expect(server.logLines.join('')).not.toMatch(/token=[\w-]{43}/);
    mail.accept();
    await server.sql('update graphile_worker._private_jobs set run_at = now()');
    await runJobs(server);
    expect(mail.received).toHaveLength(1);
  });

  test('on a server that cannot send mail, the page for password links refers people to the operator of the server', async () => {
    const silent = await startServerForTest({ on: server, clock });
    expect((await new Visitor(silent).get('/admin/password-link')).html).toContain('This server sends no mail');
    const { html } = await new Visitor(silent).post('/admin/password-link', { email });
    expect(html).toContain('This server sends no mail');
    expect(await runJobs(server)).toEqual([]);
  });
});

test('the operator of the server can print a password link with the command line, and the audit log has an entry for the link', async () => {
  const cli = cliOn(server.url, { BASE_URL: server.baseUrl });
  const { exitCode, stdout } = await cli.run('user', 'password-link', '--email', email);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/admin\/password\?token=[\w-]{43}\n$/);
  const { pathname, search } = new URL(stdout.trim());
  const answer = await new Visitor(server).submit(pathname + search, '/admin/password', {
    password,
    password_again: password,
  });
  expect(answer.status).toBe(303);
  expect(await isIn(password)).toBe(true);
  await runJobs(server);
  expect(readAudit(server.auditLines)).toContainEqual(
    expect.objectContaining({ event: 'password.link_created', by: 'operator', user_id: world.ownerId }),
  );
  expect(await cli.refusal('user', 'password-link', '--email', 'nobody@example.com')).toContain('There is no user');
});

describe('a password', () => {
  let token: string;
  beforeEach(async () => {
    token = (await mailedLink()).token;
  });

  test.each([
    ['short pass1', 'at least 12'],
    ['🌧️🌧️🌧️🌧️🌧️', 'at least 12'],
    ['x'.repeat(100) + 'yz'.repeat(79), 'at most 256'],
    ['Password1234', 'commonest'],
    ['1QAZ2wsx3edc', 'commonest'],
    ['ababababababab', 'commonest'],
  ])('the password %j is refused, and the password link stays valid', async (chosen, why) => {
    const answer = await setBy(token, chosen);
    expect([answer.status, answer.html.includes(why)]).toEqual([422, true]);
    expect(answer.html).not.toContain(chosen);
    expect((await setBy(token)).status).toBe(303);
  });

  test("a new password is refused if it is the user's e-mail address or the part of that address before the @", async () => {
    const long = `somebody.quite.long.${world.ownerId}@example.com`;
    await server.sql('update users u set email = $2 where id = $1', [world.ownerId, long]);
    for (const chosen of [long.toUpperCase(), long.split('@')[0] ?? '']) {
      expect((await setBy(token, chosen)).html).toContain('must not be the e-mail address');
    }
  });

  test('a new password is refused if the person enters two different passwords', async () => {
    const answer = await new Visitor(server).post('/admin/password', {
      token,
      password,
      password_again: `${password}!`,
    });
    expect([answer.status, answer.html.includes('differ')]).toEqual([422, true]);
  });

  test('a password may have 256 characters, including emoji, and a sign-in accepts the same password in another Unicode normalization form', async () => {
    const chosen = `Ä ${'🌧'.repeat(254)}`;
    expect((await setBy(token, chosen)).status).toBe(303);
    expect(await isIn(chosen.normalize('NFD'))).toBe(true);
    expect(await isIn(`${chosen}!`)).toBe(false);
  });

  test('a new password replaces the previous password', async () => {
    const before = await givePassword(server, world.ownerId);
    const { token: another } = await mailedLink();
    await setBy(another);
    expect(await isIn(before.password)).toBe(false);
    expect(await isIn(password)).toBe(true);
  });
});
