import { beforeEach, describe, expect, test } from 'vitest';
import { resetSecondFactor } from '../../server/domain/second-factor/second-factor.ts';
import { updateUser } from '../../server/domain/users/edit-user.ts';
import { User } from '../../server/entities/user.ts';
import { operatorIn } from '../helpers/administration.ts';
import { readAudit } from '../helpers/audit.ts';
import { testClock } from '../helpers/clock.ts';
import { createMember, createUser, createWorld, type World } from '../helpers/fixtures.ts';
import { closeAfterAll } from '../helpers/for-file.ts';
import { runJobs } from '../helpers/jobs.ts';
import { startServerForFile, startServerForTest } from '../helpers/server.ts';
import { startSmtpReceiver } from '../helpers/smtp-receiver.ts';
import { administer } from '../helpers/webhooks.ts';
import { follow, mailedToken } from '../pages/mailed-links.ts';
import { type Authenticator, authenticatorWith, openOffer, secondFactorPage, turnOn } from './authenticator.ts';
import { emailOf, givePassword, hiddenFields, type Person, Visitor } from './visitor.ts';

const start = '2026-03-02T09:00:00Z';
const minute = 60_000;
const clock = testClock(start);
const codePage = '/sign-in/code';

let userId: number;
let person: Person;
/** The browser in which the user turned on two-factor sign-in. */
let visitor: Visitor;
let app: Authenticator;

const mail = closeAfterAll(await startSmtpReceiver());
const server = await startServerForFile({
  clock,
  environment: {
    SMTP_URL: mail.url,
    BASE_URL: 'http://ideas.example.com',
    TRUST_PROXY: 'true',
    RATE_LIMIT_SIGN_IN_IP: '8',
    RATE_LIMIT_SECOND_FACTOR: '5',
  },
});
beforeEach(async () => {
  clock.set(start);
  await server.sql('delete from rate_limits');
  userId = await createUser(server, 'Grace');
  person = await givePassword(server, userId);
  visitor = await passwordOnly();
  app = await turnOn(visitor, person.password, clock);
  await runJobs(server);
  mail.received.length = 0;
  server.auditLines.length = 0;
});

const from = (ip: string) => new Visitor(server, { 'x-forwarded-for': ip });
let network = 0;

/** Enters the right password in a new browser on another network. */
async function passwordOnly(next = '', one = from(`198.51.100.${(network++ % 250) + 1}`)): Promise<Visitor> {
  const answer = await one.signIn(person.email, person.password, next);
  expect(answer.status).toBe(303);
  return one;
}

const enter = (one: Visitor, code: string) => one.submit(codePage, codePage, { code });
const isSignedIn = async (one: Visitor) => (await one.get('/admin/profile')).status === 200;
const told = (event: string) => readAudit(server.auditLines).filter(line => line.event === event);
const sessions = async () =>
  (
    await server.sql<{ has_second_factor: boolean }>('select has_second_factor from sessions where user_id = $1', [
      userId,
    ])
  ).map(({ has_second_factor }) => has_second_factor);

describe('turning on two-factor sign-in', () => {
  test('the database stores the secret of an authenticator app encrypted and recovery codes as hashes, and no log contains that secret or a recovery code', async () => {
    const rows = JSON.stringify(await server.sql('select * from second_factors')) + server.auditLines + server.logLines;
    const stored = await server.sql<{ text: string }>(
      `select encode(secret, 'escape') as text from second_factors
      union all select encode(code_hash, 'escape') from recovery_codes`,
    );
    const all = rows + JSON.stringify(stored);
    expect(all).not.toContain(app.secret);
    for (const code of app.recoveryCodes) expect(all).not.toContain(code.replaceAll('-', ''));
    expect(await server.sql('select from recovery_codes where user_id = $1', [userId])).toHaveLength(10);
  });

  test('after a user turns on two-factor sign-in, the page never again shows the secret of the authenticator app or the recovery codes', async () => {
    const { html } = await visitor.get(secondFactorPage);
    expect(html).toContain('You have 10 unused recovery codes');
    expect(html).not.toContain(app.secret);
    for (const code of app.recoveryCodes) expect(html).not.toContain(code);
  });

  test('two-factor sign-in stays off until the user enters a right code of the authenticator app', async () => {
    userId = await createUser(server, 'Ada');
    person = await givePassword(server, userId);
    const browser = await passwordOnly();
    const { html, secret } = await openOffer(browser, person.password);
    const action = `${secondFactorPage}/enable`;
    const wrong = await browser.post(action, { ...hiddenFields(html, action), code: '000000' });
    expect(wrong.status).toBe(422);
    expect(wrong.html).toContain('The code is wrong');
    expect(wrong.html).toContain(`>${secret.match(/.{4}/g)?.join(' ')}<`);
    expect(await server.sql('select from second_factors where user_id = $1', [userId])).toEqual([]);
    expect(await isSignedIn(await passwordOnly())).toBe(true);
    const code = authenticatorWith(secret, clock).code();
    const right = await browser.post(action, { ...hiddenFields(wrong.html, action), code });
    expect(right.status).toBe(200);
    expect(told('second_factor.enabled')).toMatchObject([
      { user_id: userId, by: 'user', by_user_id: userId, sessions: 1 },
    ]);
  });

  test('a user needs the right password to get the secret for an authenticator app', async () => {
    userId = await createUser(server, 'Ada');
    person = await givePassword(server, userId);
    const browser = await passwordOnly();
    const refused = await browser.submit(secondFactorPage, `${secondFactorPage}/offer`, { current_password: 'wrong' });
    expect(refused.status).toBe(422);
    expect(refused.html).not.toContain('qr-code');
  });

  test('the QR code to turn on two-factor sign-in expires after thirty minutes, and does not work in the session of another user', async () => {
    userId = await createUser(server, 'Ada');
    person = await givePassword(server, userId);
    const browser = await passwordOnly();
    const { html, secret } = await openOffer(browser, person.password);
    const action = `${secondFactorPage}/enable`;
    const { offer = '' } = hiddenFields(html, action);
    userId = await createUser(server, 'Eve');
    person = await givePassword(server, userId);
    const other = await passwordOnly();
    const own = hiddenFields((await openOffer(other, person.password)).html, action);
    const code = authenticatorWith(secret, clock).code();
    expect((await other.post(action, { ...own, offer, code })).status).toBe(409);
    clock.advance(30 * minute);
    const late = authenticatorWith(secret, clock).code();
    expect((await browser.post(action, { ...hiddenFields(html, action), code: late })).status).toBe(409);
    expect(await server.sql('select from second_factors where user_id = $1', [userId])).toEqual([]);
  });

  test('after a user turns on two-factor sign-in, their current session counts as a two-factor session, and their other session has ended', async () => {
    userId = await createUser(server, 'Ada');
    person = await givePassword(server, userId);
    const [one, other] = [await passwordOnly(), await passwordOnly()];
    expect(await sessions()).toEqual([false, false]);
    await turnOn(one, person.password, clock);
    expect(await sessions()).toEqual([true]);
    expect([await isSignedIn(one), await isSignedIn(other)]).toEqual([true, false]);
  });

  test('if the form that turns on two-factor sign-in is sent twice at the same time, only one request succeeds', async () => {
    userId = await createUser(server, 'Ada');
    person = await givePassword(server, userId);
    const browser = await passwordOnly();
    const { html, secret } = await openOffer(browser, person.password);
    const action = `${secondFactorPage}/enable`;
    const fields = { ...hiddenFields(html, action), code: authenticatorWith(secret, clock).code() };
    const answers = await Promise.all([browser.post(action, fields), browser.post(action, fields)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(await server.sql('select from recovery_codes where user_id = $1', [userId])).toHaveLength(10);
  });
});

describe('a sign-in with two factors', () => {
  test('a user with two-factor sign-in gets a session only after the right password and then the right code', async () => {
    const browser = await passwordOnly('/admin/profile/notifications');
    expect(browser.cookies.has('idea_board_session')).toBe(false);
    expect(await isSignedIn(browser)).toBe(false);
    const page = await browser.get(`${codePage}?next=%2Fadmin%2Fprofile%2Fnotifications`);
    expect(page.html).toMatch(/<input[^>]* name="code"[^>]* autocomplete="one-time-code" inputmode="numeric"/);
    expect(page.headers.get('cache-control')).toBe('no-store');
    const answer = await browser.post(codePage, { ...hiddenFields(page.html, codePage), code: app.code() });
    expect([answer.status, answer.location]).toEqual([303, '/admin/profile/notifications']);
    expect(await isSignedIn(browser)).toBe(true);
    expect(await sessions()).toEqual([true, true]);
    expect(readAudit(server.auditLines).map(({ event, method }) => [event, method])).toEqual([
      ['sign_in.code_requested', undefined],
      ['sign_in.second_factor_succeeded', 'totp'],
      ['sign_in.succeeded', 'password'],
    ]);
  });

  test('a two-factor sign-in refuses wrong codes and also codes that are two time steps too old or too early', async () => {
    const browser = await passwordOnly();
    clock.advance(5 * minute);
    for (const code of ['000000', app.code(-2), app.code(2), '', 'abcdef']) {
      const answer = await enter(browser, code);
      expect([answer.status, answer.html.includes('The code is wrong')], code).toEqual([422, true]);
    }
    expect(browser.cookies.has('idea_board_session')).toBe(false);
    expect(told('sign_in.second_factor_failed')[0]).toMatchObject({ user_id: userId, method: 'totp' });
  });

  test('a two-factor sign-in accepts a code of an authenticator app that is one time step too old or too early', async () => {
    clock.advance(5 * minute);
    expect((await enter(await passwordOnly(), app.code(-1))).status).toBe(303);
    expect((await enter(await passwordOnly(), app.code(1))).status).toBe(303);
  });

  test('a two-factor sign-in refuses a code that was already accepted, and codes of time steps before the accepted code', async () => {
    clock.advance(5 * minute);
    const code = app.code();
    expect((await enter(await passwordOnly(), code)).status).toBe(303);
    const browser = await passwordOnly();
    expect((await enter(browser, code)).status).toBe(422);
    expect((await enter(browser, app.code(-1))).status).toBe(422);
    clock.advance(30_000);
    expect((await enter(browser, app.code())).status).toBe(303);
  });

  test('a sign-in refuses the code that the user entered to turn on two-factor sign-in', async () => {
    clock.advance(-30_000);
    expect((await enter(await passwordOnly(), app.code())).status).toBe(422);
  });

  test('only one of several parallel sign-ins with the same two-factor code starts a session', async () => {
    const browsers = [await passwordOnly(), await passwordOnly(), await passwordOnly(), await passwordOnly()];
    const code = app.code();
    const answers = await Promise.all(browsers.map(browser => browser.post(codePage, { next: '', code })));
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 422, 422, 422]);
    expect(await sessions()).toEqual([true, true]);
  });

  test('a recovery code signs in only once, even if three browsers send it at the same time', async () => {
    const [code = '', other = ''] = app.recoveryCodes;
    const browsers = [await passwordOnly(), await passwordOnly(), await passwordOnly()];
    const spelled = code.toUpperCase().replaceAll('-', ' ');
    const answers = await Promise.all(browsers.map(browser => browser.post(codePage, { next: '', code: spelled })));
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 422, 422]);
    expect((await enter(await passwordOnly(), code)).status).toBe(422);
    expect((await enter(await passwordOnly(), other)).status).toBe(303);
    expect(told('second_factor.recovery_used')).toMatchObject([{ codes_left: 9 }, { codes_left: 8 }]);
    expect(told('sign_in.second_factor_succeeded')).toMatchObject([
      { method: 'recovery_code' },
      { method: 'recovery_code' },
    ]);
    expect(await runJobs(server)).toEqual([]);
    expect(mail.received.map(({ to, mail: { subject } }) => [to, subject])).toEqual(
      Array(2).fill([person.email, 'A recovery code for Idea-Board was used']),
    );
  });

  test('a user cannot sign in with the recovery code of another user', async () => {
    const [code = ''] = app.recoveryCodes;
    userId = await createUser(server, 'Ada');
    person = await givePassword(server, userId);
    await turnOn(await passwordOnly(), person.password, clock);
    expect((await enter(await passwordOnly(), code)).status).toBe(422);
  });

  test('after entering the password, a user has ten minutes to enter the two-factor code, and must enter it in the same browser', async () => {
    const browser = await passwordOnly();
    expect((await new Visitor(server).get(codePage)).location).toBe('/sign-in?next=%2Fadmin&notice=code_expired');
    expect((await new Visitor(server).post(codePage, { next: '', code: app.code() })).location).toContain(
      'code_expired',
    );
    clock.advance(10 * minute);
    const late = await browser.post(codePage, { next: '', code: app.code() });
    expect(late.location).toContain('/sign-in?');
    expect((await browser.get(late.location ?? '')).html).toContain('Sign in again.');
    expect(await isSignedIn(browser)).toBe(false);
  });

  test('after a two-factor sign-in, the server redirects to the admin home page if the form names a page on another host', async () => {
    const browser = await passwordOnly('https://evil.example/x');
    const answer = await browser.post(codePage, { next: '//evil.example', code: app.code() });
    expect(answer.location).toBe('/admin');
  });

  test('if the password changes between the entries of the password and of the two-factor code, the user gets no session and must sign in again', async () => {
    const browser = await passwordOnly();
    person = await givePassword(server, userId);
    const answer = await browser.post(codePage, { next: '', code: app.code() });
    expect(answer.location).toContain('code_expired');
    expect(await sessions()).toEqual([]);
    expect((await enter(await passwordOnly(), app.code())).status).toBe(303);
  });

  test('"Sign out everywhere" also cancels unfinished sign-ins of the user that wait for a two-factor code', async () => {
    const browser = await passwordOnly();
    await visitor.submit('/admin/profile', '/admin/sign-out-everywhere');
    expect((await browser.post(codePage, { next: '', code: app.code() })).location).toContain('code_expired');
  });

  test('a user who is blocked between entering the password and entering the two-factor code gets no session', async () => {
    const world = await createWorld(server);
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, userId]);
    const before = await sessions();
    const browser = from('203.0.113.9');
    await server.sql('delete from user_blocks');
    await passwordOnly('', browser);
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, userId]);
    expect((await browser.post(codePage, { next: '', code: app.code() })).location).toContain('code_expired');
    expect(await sessions()).toEqual(before);
  });

  test('a new password does not turn off two-factor sign-in', async () => {
    person = await givePassword(server, userId);
    const browser = await passwordOnly();
    expect(await isSignedIn(browser)).toBe(false);
    expect((await enter(browser, app.code())).status).toBe(303);
  });

  test('after a user with two-factor sign-in changes their password, the session still counts as a two-factor session', async () => {
    const password = 'another long password';
    const changed = await visitor.submit('/admin/profile', '/admin/profile/password', {
      current_password: person.password,
      password,
      password_again: password,
    });
    expect(changed.location).toContain('password_changed');
    expect(await sessions()).toEqual([true]);
  });

  test('if nine sign-ins run in parallel with a request that turns on two-factor sign-in, only the session of this request remains', async () => {
    userId = await createUser(server, 'Ada');
    person = await givePassword(server, userId);
    const browser = await passwordOnly();
    const { html, secret } = await openOffer(browser, person.password);
    const action = `${secondFactorPage}/enable`;
    const fields = { ...hiddenFields(html, action), code: authenticatorWith(secret, clock).code() };
    const token = await mailedToken({ server, clock, mail }, person.email);
    const signIns = Array.from({ length: 8 }, (_, n) => from(`192.0.2.${n}`).signIn(person.email, person.password));
    const byLink = follow(from('192.0.2.9'), token);
    const [enabled] = await Promise.all([browser.post(action, fields), byLink, ...signIns]);
    expect(enabled?.status).toBe(200);
    expect(await sessions()).toEqual([true]);
  });
});

describe('a mailed sign-in link of a user with two factors', () => {
  /** Asks for a sign-in link, and opens the link in a new browser. */
  async function linkOnly(next = '/admin') {
    const token = await mailedToken({ server, clock, mail }, person.email, { next });
    const browser = from('203.0.113.60');
    return { token, browser, answer: await follow(browser, token) };
  }

  test('a mailed sign-in link of a user with two-factor sign-in starts a session only after the code, and then opens the requested page', async () => {
    const next = '/admin/profile/notifications';
    const { browser, answer } = await linkOnly(next);
    expect([answer.status, answer.location]).toEqual([303, `${codePage}?${new URLSearchParams({ next })}`]);
    expect(browser.cookies.has('idea_board_session')).toBe(false);
    expect(await isSignedIn(browser)).toBe(false);
    expect(await sessions()).toEqual([true]);
    const entered = await browser.submit(answer.location ?? '', codePage, { code: app.code() });
    expect([entered.status, entered.location]).toEqual([303, next]);
    expect(await isSignedIn(browser)).toBe(true);
    expect(await sessions()).toEqual([true, true]);
    expect(readAudit(server.auditLines).map(({ event, user_id, method }) => [event, user_id, method])).toEqual([
      ['sign_in.link_requested', userId, undefined],
      ['sign_in.code_requested', userId, undefined],
      ['sign_in.second_factor_succeeded', userId, 'totp'],
      ['sign_in.succeeded', userId, 'link'],
    ]);
  });

  test('a mailed sign-in link of a user with two-factor sign-in works only once, even if nobody enters the code', async () => {
    const { token } = await linkOnly();
    const again = from('203.0.113.61');
    expect((await follow(again, token)).status).toBe(404);
    expect((await again.get(codePage)).location).toContain('code_expired');
  });

  test('a sign-in by a mailed link fails if, before the two-factor code is entered, the password or e-mail address changes or the user is blocked', async () => {
    const world = await createWorld(server);
    const changes = [
      () => givePassword(server, userId),
      () =>
        administer(server, async admin =>
          updateUser(admin, await admin.em.findOneOrFail(User, userId), { email: `new-${person.email}` }),
        ),
      () => server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, userId]),
    ];
    for (const change of changes) {
      person.email = await emailOf(server, userId);
      const { browser, answer } = await linkOnly();
      expect(answer.location).toContain(codePage);
      await change();
      clock.advance(minute);
      const entered = await browser.post(codePage, { next: '', code: app.code() });
      expect(entered.location).toContain('code_expired');
      expect(await isSignedIn(browser)).toBe(false);
    }
  });
});

describe('the limits of wrong codes', () => {
  const wrong = async (browser: Visitor) => (await browser.post(codePage, { next: '', code: '000000' })).status;

  test('the wrong two-factor codes of one user from all IP networks share a daily limit, and a right password does not reset the limit', async () => {
    const statuses = [];
    for (let n = 0; n < 7; n++) statuses.push(await wrong(await passwordOnly()));
    expect(statuses).toEqual([422, 422, 422, 422, 422, 429, 429]);
    const right = await (await passwordOnly()).post(codePage, { next: '', code: app.code() });
    expect(right.status).toBe(429);
    expect(right.html).toContain('Try again in 15 hours');
    expect(told('rate_limit.exceeded')).toMatchObject([{ bucket: 'second-factor:user', limit: 5 }]);
    clock.advance(15 * 60 * minute);
    expect((await enter(await passwordOnly(), app.code())).status).toBe(303);
  });

  test('if a user sends nine wrong two-factor codes in parallel, the server checks five of them and refuses the other four with 429', async () => {
    const browsers = await Promise.all(Array.from({ length: 9 }, () => passwordOnly()));
    const statuses = await Promise.all(browsers.map(wrong));
    expect(statuses.sort()).toEqual([...Array(5).fill(422), ...Array(4).fill(429)]);
  });

  test('after five wrong two-factor codes from other browsers, a new browser gets 429, but a browser with an earlier two-factor sign-in can still sign in', async () => {
    const own = await passwordOnly();
    await enter(own, app.code());
    for (let n = 0; n < 5; n++) await wrong(await passwordOnly());
    const thief = await passwordOnly();
    expect(thief.cookies.has('idea_board_browser')).toBe(false);
    expect(await wrong(thief)).toBe(429);
    own.cookies.delete('idea_board_session');
    clock.advance(minute);
    await passwordOnly('', own);
    expect((await enter(own, app.code())).status).toBe(303);
  });

  test('browsers with a sign-in before two-factor sign-in was turned on share the limit for wrong codes with new browsers, and the browser that turned it on keeps its own limit', async () => {
    userId = await createUser(server, 'Ada');
    person = await givePassword(server, userId);
    const thieves = [await passwordOnly(), await passwordOnly(), await passwordOnly()];
    const own = await passwordOnly();
    app = await turnOn(own, person.password, clock);
    const statuses = [];
    for (const thief of thieves) {
      await passwordOnly('', thief);
      for (let n = 0; n < 3; n++) statuses.push(await wrong(thief));
    }
    expect(statuses).toEqual([...Array(5).fill(422), ...Array(4).fill(429)]);
    await passwordOnly('', own);
    expect((await enter(own, app.code())).status).toBe(303);
  });

  test('all browsers where the user entered a right two-factor code share a limit of five times the limit for one browser', async () => {
    const browsers = [];
    for (const code of app.recoveryCodes.slice(0, 6)) {
      const browser = await passwordOnly();
      expect((await enter(browser, code)).status).toBe(303);
      browsers.push(browser);
    }
    const statuses = [];
    for (const browser of browsers) {
      await passwordOnly('', browser);
      for (let n = 0; n < 5; n++) statuses.push(await wrong(browser));
    }
    expect(statuses).toEqual([...Array(25).fill(422), ...Array(5).fill(429)]);
    expect(told('rate_limit.exceeded')).toMatchObject([{ bucket: 'second-factor:browsers', limit: 25 }]);
    expect(await wrong(await passwordOnly())).toBe(422);
  });

  test('the limit for wrong two-factor codes from one IP network counts the codes of all users together', async () => {
    const statuses = [];
    for (let n = 0; n < 2; n++) {
      for (let attempt = 0; attempt < 5; attempt++) {
        const browser = await passwordOnly('', from('203.0.113.50'));
        statuses.push(await wrong(browser));
      }
      userId = await createUser(server, 'Ada');
      person = await givePassword(server, userId);
      app = await turnOn(await passwordOnly(), person.password, clock);
    }
    expect(statuses).toEqual([...Array(8).fill(422), 429, 429]);
  });

  test('seven right two-factor codes do not count against the limit of five wrong codes', async () => {
    for (let n = 0; n < 7; n++) {
      clock.advance(minute);
      expect((await enter(await passwordOnly(), app.code())).status).toBe(303);
    }
  });
});

describe('changing two-factor sign-in', () => {
  const disable = (fields: Record<string, string>) =>
    visitor.submit(secondFactorPage, `${secondFactorPage}/disable`, fields);
  const regenerate = (fields: Record<string, string>) =>
    visitor.submit(secondFactorPage, `${secondFactorPage}/recovery-codes`, fields);

  test('a user can turn off two-factor sign-in only with the password and a code, and the server then also removes the recovery codes', async () => {
    const current_password = person.password;
    expect((await disable({ current_password: 'wrong', code: app.code() })).status).toBe(422);
    expect((await disable({ current_password, code: '000000' })).status).toBe(422);
    expect(await sessions()).toEqual([true]);
    const answer = await disable({ current_password, code: app.code() });
    expect(answer.location).toBe(`${secondFactorPage}?notice=disabled`);
    expect(await server.sql('select from recovery_codes where user_id = $1', [userId])).toEqual([]);
    expect(await sessions()).toEqual([false]);
    expect(await isSignedIn(await passwordOnly())).toBe(true);
    expect(told('second_factor.disabled')).toMatchObject([{ user_id: userId, by: 'user' }]);
    expect(await runJobs(server)).toEqual([]);
    expect(mail.received.map(({ mail: { subject } }) => subject)).toEqual(['Two-factor sign-in for Idea-Board is off']);
  });

  test('a user can replace the recovery codes only with a right code, and the replaced recovery codes stop working', async () => {
    const [old = '', other = ''] = app.recoveryCodes;
    const current_password = person.password;
    expect((await regenerate({ current_password, code: '000000' })).status).toBe(422);
    const answer = await regenerate({ current_password, code: old });
    expect(answer.status).toBe(200);
    const [fresh = ''] = /[0-9a-z]{4}(-[0-9a-z]{4}){3}/.exec(answer.html) ?? [];
    expect((await enter(await passwordOnly(), other)).status).toBe(422);
    expect((await enter(await passwordOnly(), fresh)).status).toBe(303);
    expect(await server.sql('select from recovery_codes where user_id = $1', [userId])).toHaveLength(9);
  });

  test('a user gets a mail when two-factor sign-in is turned on', async () => {
    userId = await createUser(server, 'Ada');
    person = await givePassword(server, userId);
    await turnOn(await passwordOnly(), person.password, clock);
    expect(await runJobs(server)).toEqual([]);
    expect(mail.received.map(({ to, mail: { subject } }) => [to, subject])).toEqual([
      [person.email, 'Two-factor sign-in for Idea-Board is on'],
    ]);
  });

  test("after the operator turns off a user's two-factor sign-in, the password alone is enough, and the user's new session is not a two-factor session", async () => {
    await server.database.transaction(transaction => resetSecondFactor(operatorIn(transaction, clock.now()), userId));
    expect(await sessions()).toEqual([false]);
    expect(await isSignedIn(await passwordOnly())).toBe(true);
  });

  test('after a change of APP_KEY, a two-factor sign-in fails with status 500', async () => {
    const rekeyed = await startServerForTest({ on: server, clock, dependencies: { appKey: Buffer.alloc(32, 9) } });
    const browser = new Visitor(rekeyed);
    await browser.signIn(person.email, person.password);
    const answer = await browser.post(codePage, { next: '', code: app.code() });
    expect(answer.status).toBe(500);
    expect(browser.cookies.has('idea_board_session')).toBe(false);
  });
});

describe('an account that requires two-factor sign-in of its owners and admins', () => {
  let world: World;
  let owner: Visitor;

  beforeEach(async () => {
    world = await createWorld(server);
    userId = world.ownerId;
    person = await givePassword(server, userId);
    owner = await passwordOnly();
  });

  const requireIt = () =>
    owner.submit('/admin/account', '/admin/account/second-factor', { requires_second_factor: 'yes' });
  const asMember = async (role: 'admin' | 'moderator' | 'member') => {
    userId = await createMember(server, world.accountId, role);
    person = await givePassword(server, userId);
    return passwordOnly();
  };
  const required = (path: string) => `${secondFactorPage}?${new URLSearchParams({ notice: 'required', next: path })}`;

  test("an owner, but not an admin, can require two-factor sign-in of the account's owners and admins", async () => {
    expect((await requireIt()).location).toContain('notice=saved');
    expect(told('account.updated')).toMatchObject([
      { account_id: world.accountId, changed: ['requires_second_factor'], by_user_id: world.ownerId },
    ]);
    await server.sql('update accounts set requires_second_factor = false');
    const admin = await asMember('admin');
    const { html } = await admin.get('/admin/account');
    expect(html).not.toContain('/admin/account/second-factor');
    const fields = { ...hiddenFields(html, '/admin/sign-out'), requires_second_factor: 'yes' };
    expect((await admin.post('/admin/account/second-factor', fields)).status).toBe(403);
  });

  test('if an account requires two-factor sign-in, owners and admins who signed in without a code are redirected from five admin pages to the two-factor setup', async () => {
    await requireIt();
    for (const browser of [owner, await asMember('admin')]) {
      for (const path of ['/admin', '/admin/members', '/admin/account', '/admin/queue', '/admin/tokens']) {
        const answer = await browser.get(path);
        expect([answer.status, answer.location]).toEqual([303, required(path)]);
      }
    }
    const { html } = await owner.get(required('/admin'));
    expect(html).toContain('requires two-factor sign-in of its owners and admins');
  });

  test("if an account requires two-factor sign-in, the account's owner cannot rename the account after a sign-in with only the password", async () => {
    const { html } = await owner.get('/admin/account');
    await requireIt();
    const fields = { ...hiddenFields(html, '/admin/account'), name: 'Another name', slug: 'another-slug' };
    const answer = await owner.post('/admin/account', fields);
    expect([answer.status, answer.location]).toEqual([303, required('/admin/account')]);
    expect(await server.sql(`select from accounts where slug = 'another-slug'`)).toEqual([]);
  });

  test('moderators and members need no second factor in an account that requires two-factor sign-in only of owners and admins', async () => {
    await requireIt();
    expect((await (await asMember('moderator')).get('/admin/queue')).status).toBe(200);
    expect((await (await asMember('member')).get('/admin')).status).toBe(200);
  });

  test('people without two-factor sign-in can open their profile, leave an account that requires two-factor sign-in, and sign out', async () => {
    await requireIt();
    const admin = await asMember('admin');
    expect((await admin.get('/admin/profile')).status).toBe(200);
    expect((await admin.submit('/admin/members/leave', '/admin/members/leave')).location).toBe('/admin?notice=left');
    expect((await owner.submit('/admin/profile', '/admin/sign-out')).location).toContain('signed_out');
  });

  test('after an owner turns on the two-factor sign-in that the account requires, a link leads back to the page that the owner requested first', async () => {
    await requireIt();
    const page = await owner.get((await owner.get('/admin/members')).location ?? '');
    const offer = `${secondFactorPage}/offer`;
    const offered = await owner.post(offer, { ...hiddenFields(page.html, offer), current_password: person.password });
    const secret = /aria-label="The secret">([A-Z2-7 ]+)</.exec(offered.html)?.[1]?.replaceAll(' ', '') ?? '';
    const enable = `${secondFactorPage}/enable`;
    const code = authenticatorWith(secret, clock).code();
    const { html } = await owner.post(enable, { ...hiddenFields(offered.html, enable), code });
    expect(html).toContain('<a class="button" href="/admin/members">');
    expect((await owner.get('/admin/members')).status).toBe(200);
  });

  test("if only one of a person's two accounts requires two-factor sign-in, the person can open the other account without two-factor sign-in", async () => {
    await requireIt();
    const other = await createWorld(server);
    await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'admin')`, [
      other.accountId,
      world.ownerId,
    ]);
    const slugs = await server.sql<{ id: number; slug: string }>('select id, slug from accounts where id = any ($1)', [
      [world.accountId, other.accountId],
    ]);
    const statusOf = async (id: number) =>
      (await owner.get(`/admin/members?account=${slugs.find(one => one.id === id)?.slug}`)).status;
    expect([await statusOf(world.accountId), await statusOf(other.accountId)]).toEqual([303, 200]);
  });
});
