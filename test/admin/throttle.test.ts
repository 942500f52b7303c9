import argon2 from 'argon2';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { createPasswordLink } from '../../server/domain/sign-in/password-links.ts';
import { buildPasswords } from '../../server/domain/sign-in/passwords.ts';
import { operatorIn } from '../helpers/administration.ts';
import { readAudit } from '../helpers/audit.ts';
import { testClock } from '../helpers/clock.ts';
import { createUser, createWorld, type World } from '../helpers/fixtures.ts';
import { startServerForTest, type TestServer } from '../helpers/server.ts';
import { secondFactorPage, turnOn } from './authenticator.ts';
import { givePassword, type Person, Visitor } from './visitor.ts';

const clock = testClock('2026-03-02T09:00:00Z');
let server: TestServer;
let world: World;
let owner: Person;

beforeEach(async () => {
  clock.set('2026-03-02T09:00:00Z');
  server = await startServerForTest({
    clock,
    environment: { TRUST_PROXY: 'true', RATE_LIMIT_SIGN_IN_IP: '6', RATE_LIMIT_SIGN_IN_ACCOUNT: '4' },
  });
  world = await createWorld(server);
  owner = await givePassword(server, world.ownerId);
});

const from = (ip: string) => new Visitor(server, { 'x-forwarded-for': ip });
/** Returns a browser with the same cookies and another IP address. */
function inNetwork(visitor: Visitor, ip: string): Visitor {
  const moved = from(ip);
  for (const [name, value] of visitor.cookies) moved.cookies.set(name, value);
  return moved;
}
const trySignIn = (ip: string, email = owner.email, password = 'a wrong password') => from(ip).signIn(email, password);

describe('password attempts', () => {
  test('if twelve IP networks send a password for one e-mail address at the same time, the server checks four passwords and answers eight requests with 429', async () => {
    const verify = vi.spyOn(argon2, 'verify');
    const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => trySignIn(`203.0.113.${n}`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(4).fill(422), ...Array(8).fill(429)]);
    expect(verify).toHaveBeenCalledTimes(4);
    verify.mockRestore();
    const right = await trySignIn('203.0.113.99', owner.email.toUpperCase(), owner.password);
    expect(right.status).toBe(429);
    expect(right.headers.get('retry-after')).toBe('900');
    expect(right.html).toContain('Try again in 15 minutes');
    clock.advance(15 * 60_000);
    expect((await trySignIn('203.0.113.99', owner.email, owner.password)).status).toBe(303);
  });

  test('a browser with an earlier sign-in has its own limit for wrong passwords, so strangers cannot lock the user out of that browser', async () => {
    const own = from('203.0.113.7');
    await own.signIn(` ${owner.email.toUpperCase()}`, owner.password);
    for (let n = 0; n < 5; n++) await trySignIn(`198.51.100.${n}`);
    expect((await from('203.0.113.8').signIn(owner.email, owner.password)).status).toBe(429);
    own.cookies.delete('idea_board_session');
    expect((await own.signIn(owner.email, owner.password)).status).toBe(303);
    // The cookie of a browser with an earlier sign-in is valid for one e-mail address and cannot be forged.
    const known = own.cookies.get('idea_board_browser') ?? '';
    const other = await givePassword(server, await createUser(server));
    for (let n = 0; n < 5; n++) await trySignIn(`198.51.100.${n}`, other.email);
    expect((await own.signIn(other.email, other.password)).status).toBe(429);
    const forged = from('203.0.113.8');
    forged.cookies.set(
      'idea_board_browser',
      known.replace(/^./, first => (first === 'A' ? 'B' : 'A')),
    );
    expect((await forged.signIn(owner.email, owner.password)).status).toBe(429);
    // The wrong passwords of a browser with an earlier sign-in are counted across all networks.
    for (let n = 0; n < 4; n++) {
      own.cookies.set('idea_board_browser', known);
      expect((await inNetwork(own, `192.0.2.${n}`).signIn(owner.email, 'wrong')).status).toBe(422);
    }
    expect((await inNetwork(own, '192.0.2.9').signIn(owner.email, owner.password)).status).toBe(429);
    // After 15 minutes, browsers without an earlier sign-in can sign in again.
    clock.advance(15 * 60_000);
    expect((await from('203.0.113.8').signIn(owner.email, owner.password)).status).toBe(303);
  });

  test('after the password changes, only the browser with the change keeps its own limit for wrong passwords', async () => {
    const [own, other] = [from('203.0.113.7'), from('203.0.113.8')];
    await own.signIn(owner.email, owner.password);
    await other.signIn(owner.email, owner.password);
    const second = 'another long password';
    const fields = { current_password: owner.password, password: second, password_again: second };
    expect((await own.submit('/admin/profile', '/admin/profile/password', fields)).status).toBe(303);
    const bySecondPassword = from('203.0.113.9');
    await bySecondPassword.signIn(owner.email, second);
    const { token } = await server.database.transaction(transaction =>
      createPasswordLink(operatorIn(transaction, clock.now()), world.ownerId),
    );
    const page = `/admin/password?token=${token}`;
    const password = 'a third long password';
    expect((await own.submit(page, '/admin/password', { password, password_again: password })).status).toBe(303);
    owner.password = password;
    for (let n = 0; n < 4; n++) await trySignIn(`198.51.100.${n}`);
    const statusOf = async (visitor: Visitor) => (await visitor.signIn(owner.email, owner.password)).status;
    expect([await statusOf(own), await statusOf(other), await statusOf(bySecondPassword)]).toEqual([303, 429, 429]);
  });

  test('turning two-factor sign-in off keeps the own limit of only the browser with the change', async () => {
    const first = from('203.0.113.6');
    await first.signIn(owner.email, owner.password);
    const { recoveryCodes } = await turnOn(first, owner.password, clock);
    const [own, other] = [from('203.0.113.7'), from('203.0.113.8')];
    for (const [n, browser] of [own, other].entries()) {
      await browser.signIn(owner.email, owner.password);
      const code = recoveryCodes[n] ?? '';
      expect((await browser.submit('/sign-in/code', '/sign-in/code', { code })).status).toBe(303);
    }
    const fields = { current_password: owner.password, code: recoveryCodes[2] ?? '' };
    expect((await own.submit(secondFactorPage, `${secondFactorPage}/disable`, fields)).status).toBe(303);
    for (let n = 0; n < 4; n++) await trySignIn(`198.51.100.${n}`);
    expect((await own.signIn(owner.email, owner.password)).status).toBe(303);
    expect((await other.signIn(owner.email, owner.password)).status).toBe(429);
  });

  test('all password attempts from one IP network share one rate limit, even with different e-mail addresses', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => trySignIn('2001:db8::1', `user${n}@example.com`)),
    );
    expect(answers.filter(({ status }) => status === 422)).toHaveLength(6);
    expect((await trySignIn('2001:db8::2', owner.email, owner.password)).status).toBe(429);
    expect((await trySignIn('2001:db8:1::1', owner.email, owner.password)).status).toBe(303);
    const limits = readAudit(server.auditLines).filter(({ event }) => event === 'rate_limit.exceeded');
    expect(limits).toMatchObject([{ bucket: 'sign-in:ip', limit: 6, window_seconds: 900 }]);
  });

  test('password attempts for an unknown e-mail address have the same limit as for a known address', async () => {
    const tries = async (email: string) => {
      const statuses = [];
      for (let n = 0; n < 6; n++) statuses.push((await trySignIn(`198.51.100.${n}`, email)).status);
      return statuses;
    };
    expect(await tries('nobody@example.com')).toEqual(await tries(owner.email));
  });

  test('successful sign-ins do not count as failed password attempts', async () => {
    for (let n = 0; n < 10; n++) expect((await trySignIn('203.0.113.7', owner.email, owner.password)).status).toBe(303);
  });

  test('the rate limit counters in the database contain the e-mail address of a password attempt only as a hash', async () => {
    await trySignIn('203.0.113.7');
    const keys = (await server.sql<{ key: string }>(`select key from rate_limits where key like 'sign-in:%'`)).map(
      ({ key }) => key,
    );
    expect(keys.sort()).toEqual([
      expect.stringMatching(/^sign-in:address:[\w-]{22}$/),
      'sign-in:ip:203.0.113.7',
      expect.stringMatching(/^sign-in:success:[\w-]{22}$/),
    ]);
    expect(keys.join()).not.toContain('example');
  });

  test('the server writes only one audit entry for three wrong passwords for one e-mail address from one IP network within a minute', async () => {
    const userId = await createUser(server);
    const { email } = await givePassword(server, userId);
    server.auditLines.length = 0;
    for (let n = 0; n < 3; n++) await trySignIn('203.0.113.7', email);
    expect(readAudit(server.auditLines)).toHaveLength(1);
  });
});

describe('successful sign-ins', () => {
  beforeEach(async () => {
    server = await startServerForTest({
      clock,
      environment: { TRUST_PROXY: 'true', RATE_LIMIT_SIGN_IN_ACCOUNT: '4', RATE_LIMIT_SIGN_IN_SUCCESS: '6' },
    });
    owner = await givePassword(server, (await createWorld(server)).ownerId);
  });
  const countSuccesses = () => readAudit(server.auditLines).filter(({ event }) => event === 'sign_in.succeeded').length;

  test('the successful sign-ins of one user from all IP networks share one rate limit, also in a browser with an earlier sign-in', async () => {
    const known = from('203.0.113.200');
    expect((await known.signIn(owner.email, owner.password)).status).toBe(303);
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        n % 2
          ? inNetwork(known, `203.0.113.${n}`).signIn(owner.email.toUpperCase(), owner.password)
          : trySignIn(`203.0.113.${n}`, owner.email, owner.password),
      ),
    );
    expect(answers.filter(({ status }) => status === 303).length).toBeLessThanOrEqual(5);
    expect(answers.every(({ status }) => status === 303 || status === 429)).toBe(true);
    for (let n = 0; n < 6; n++) await inNetwork(known, `192.0.2.${n}`).signIn(owner.email, owner.password);
    expect(countSuccesses()).toBe(6);
    const late = await trySignIn('203.0.113.99', owner.email, owner.password);
    expect([late.status, late.headers.get('retry-after')]).toEqual([429, '900']);
    const limits = readAudit(server.auditLines).filter(({ event }) => event === 'rate_limit.exceeded');
    expect(limits).toContainEqual(expect.objectContaining({ bucket: 'sign-in:success', limit: 6 }));
    clock.advance(15 * 60_000);
    expect((await trySignIn('203.0.113.99', owner.email, owner.password)).status).toBe(303);
  });

  test("failed sign-ins by strangers do not count against the limit of a user's successful sign-ins", async () => {
    const known = from('203.0.113.200');
    expect((await known.signIn(owner.email, owner.password)).status).toBe(303);
    await Promise.all(Array.from({ length: 20 }, (_, n) => trySignIn(`198.51.100.${n}`)));
    for (let n = 0; n < 5; n++) {
      expect((await inNetwork(known, `192.0.2.${n}`).signIn(owner.email, owner.password)).status).toBe(303);
    }
    expect(countSuccesses()).toBe(6);
  });
});

describe('links to set a password', () => {
  test('requests for password links have a rate limit for each e-mail address, even if no user has that address', async () => {
    for (const email of [owner.email, 'nobody@example.com']) {
      const ask = (n: number) => from(`198.51.100.${n}`).post('/admin/password-link', { email });
      const answers = await Promise.all(Array.from({ length: 9 }, (_, n) => ask(n)));
      expect(answers.map(({ status }) => status).sort()).toEqual([...Array(5).fill(200), ...Array(4).fill(429)]);
    }
  });
});

test('a sign-in gets 503 if too many other sign-ins already wait for their password checks', async () => {
  const { verify } = argon2;
  const release = Promise.withResolvers<void>();
  const spy = vi.spyOn(argon2, 'verify').mockImplementation((async (...parameters: Parameters<typeof verify>) => {
    await release.promise;
    return verify(...parameters);
  }) as never);
  const busy = Array.from({ length: 102 }, () => server.dependencies.passwords.verify(undefined, 'whatever'));
  await vi.waitFor(() => expect(spy).toHaveBeenCalledTimes(2));
  const answer = await trySignIn('203.0.113.7');
  release.resolve();
  await Promise.all(busy);
  vi.restoreAllMocks();
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '60']);
  expect(answer.html).toContain('The server has too much work right now');
});

test('the server hashes at most two passwords at the same time, and refuses to hash another password while 100 others wait', async () => {
  const passwords = buildPasswords({ memoryKib: 8, passes: 1 });
  const hash = argon2.hash;
  let [running, most] = [0, 0];
  vi.spyOn(argon2, 'hash').mockImplementation((async (...parameters: Parameters<typeof hash>) => {
    most = Math.max(most, ++running);
    try {
      return await hash(...parameters);
    } finally {
      running--;
    }
  }) as never);
  const outcomes = await Promise.allSettled(Array.from({ length: 150 }, (_, n) => passwords.hash(`password ${n}`)));
  vi.restoreAllMocks();
  expect(most).toBe(2);
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(102);
  expect(await passwords.verify(await passwords.hash('once more'), 'once more')).toMatchObject({ isRight: true });
});
