import argon2 from 'argon2';
import { parse } from 'node-html-parser';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { buildPasswords } from '../../server/domain/sign-in/passwords.ts';
import { setPassword } from '../../server/domain/sign-in/set-password.ts';
import { operatorIn } from '../helpers/administration.ts';
import { readAudit } from '../helpers/audit.ts';
import { testClock } from '../helpers/clock.ts';
import { createMember, createUser, createWorld, type World } from '../helpers/fixtures.ts';
import { startServerForFile, startServerForTest } from '../helpers/server.ts';
import { emailOf, givePassword, type Person, signedIn, Visitor } from './visitor.ts';

const start = new Date('2026-03-02T09:00:00Z');
const minute = 60_000;

const clock = testClock(start);
let world: World;
let owner: Person;

const server = await startServerForFile({
  clock,
  environment: { SESSION_IDLE_MINUTES: '60', SESSION_MAX_HOURS: '10', RATE_LIMIT_SIGN_IN_IP: '1000000' },
});
beforeEach(async () => {
  clock.set(start);
  world = await createWorld(server);
  owner = await givePassword(server, world.ownerId);
  server.auditLines.length = 0;
});

const sessions = () =>
  server.sql<{ user_id: number; last_seen_at: string }>(
    'select user_id, last_seen_at from sessions where user_id = $1',
    [world.ownerId],
  );
const events = () => readAudit(server.auditLines).map(({ event }) => event);

describe('signing in', () => {
  test("after a sign-in, the browser is redirected to the requested page, and the page shows the user's e-mail address", async () => {
    const visitor = new Visitor(server);
    const asked = await visitor.get('/admin?x=1');
    expect([asked.status, asked.location]).toEqual([303, '/sign-in?next=%2Fadmin%3Fx%3D1']);
    const answer = await visitor.submit(asked.location ?? '', '/sign-in', {
      ...owner,
      email: ` ${owner.email.toUpperCase()}`,
    });
    expect([answer.status, answer.location]).toEqual([303, '/admin?x=1']);
    const home = await visitor.get(answer.location ?? '');
    expect(home.status).toBe(200);
    expect(home.html).toContain(owner.email);
    expect(home.headers.get('cache-control')).toBe('no-store');
    expect(readAudit(server.auditLines)).toEqual([
      expect.objectContaining({ event: 'sign_in.succeeded', user_id: world.ownerId, ip: expect.any(String) }),
    ]);
    expect(server.auditLines.join('') + server.logLines.join('')).not.toContain(owner.password);
  });

  test('the session cookie is HttpOnly and SameSite=Lax, and the database stores only a hash of the session token', async () => {
    const visitor = new Visitor(server);
    const { headers } = await visitor.signIn(owner.email, owner.password);
    const [cookie] = headers.getSetCookie();
    expect(cookie).toMatch(
      /^idea_board_session=[A-Za-z0-9_-]{43}; Path=\/; Expires=Mon, 02 Mar 2026 19:00:00 GMT; HttpOnly; SameSite=Lax$/,
    );
    const token = visitor.cookies.get('idea_board_session') ?? '';
    expect(await server.sql(`select from sessions where token_hash = sha256($1::bytea)`, [token])).toHaveLength(1);
    expect(JSON.stringify(await server.sql('select * from sessions'))).not.toContain(token);
  });

  test('if BASE_URL begins with https://, the cookies of a sign-in have the __Host- prefix and the Secure attribute', async () => {
    const secure = await startServerForTest({
      on: server,
      clock,
      environment: { BASE_URL: 'https://ideas.example.com' },
    });
    const { headers } = await new Visitor(secure).signIn(owner.email, owner.password);
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^__Host-idea_board_session=[\w-]{43}; Path=\/; Expires=.*; HttpOnly; Secure; SameSite=Lax$/,
      ),
      expect.stringMatching(
        /^__Host-idea_board_browser=[\w-]{22}\.[\w-]{43}; Max-Age=7776000; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
      ),
    ]);
  });

  test('a sign-in starts a new session and ends the previous session of the same browser', async () => {
    const visitor = await signedIn(server, world.ownerId);
    owner = await givePassword(server, world.ownerId);
    await visitor.signIn(owner.email, owner.password);
    const before = new Map(visitor.cookies);
    await visitor.signIn(owner.email, owner.password);
    expect(visitor.cookies).not.toEqual(before);
    expect(await sessions()).toHaveLength(1);
    const old = new Visitor(server);
    for (const [name, value] of before) old.cookies.set(name, value);
    expect((await old.get('/admin')).status).toBe(303);
  });

  test("a sign-in replaces a session token that another person put into the browser's cookies", async () => {
    const visitor = new Visitor(server);
    const planted = 'A'.repeat(43);
    visitor.cookies.set('idea_board_session', planted);
    await visitor.signIn(owner.email, owner.password);
    expect(visitor.cookies.get('idea_board_session')).not.toBe(planted);
  });

  test('the sign-in page redirects an already signed-in user to the requested page', async () => {
    const visitor = await signedIn(server, world.ownerId);
    const answer = await visitor.get('/sign-in?next=/admin/tokens');
    expect([answer.status, answer.location]).toEqual([303, '/admin/tokens']);
  });

  test("after a change of the cost settings for password hashes, a user's next sign-in replaces the stored hash, and later sign-ins keep the new hash", async () => {
    const raised = buildPasswords({ memoryKib: 16, passes: 1 });
    const costly = await startServerForTest({ on: server, clock, dependencies: { passwords: raised } });
    const credential = async () =>
      (
        await server.sql<{ credential: string }>('select credential from sign_in_methods where user_id = $1', [
          world.ownerId,
        ])
      )[0]?.credential;
    expect(await credential()).toContain('$m=8,');
    expect((await new Visitor(costly).signIn(owner.email, owner.password)).status).toBe(303);
    const stored = await credential();
    expect(stored).toContain('$m=16,');
    expect((await new Visitor(costly).signIn(owner.email, owner.password)).status).toBe(303);
    expect(await credential()).toBe(stored);
  });

  test('a sign-in gets 422 if the e-mail address is empty, invalid or contains a character that the database cannot store', async () => {
    for (const email of ['a\0b@example.com', '%', '']) {
      expect((await new Visitor(server).signIn(email, 'whatever it is')).status).toBe(422);
    }
  });
});

describe('a refused sign-in', () => {
  async function blockedUser() {
    const userId = await createMember(server, world.accountId, 'admin');
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, userId]);
    return { ...(await givePassword(server, userId)), userId };
  }

  const cases: [reason: string, arrange: () => Promise<Person & { userId?: number }>][] = [
    ['unknown_user', async () => ({ email: 'nobody@example.com', password: owner.password })],
    ['wrong_password', async () => ({ ...owner, password: 'another password', userId: world.ownerId })],
    ['wrong_password', async () => ({ ...(await blockedUser()), password: 'another password' })],
    [
      'no_password',
      async () => {
        const userId = await createUser(server);
        return { email: await emailOf(server, userId), password: '', userId };
      },
    ],
  ];

  test('every sign-in with a wrong password gets the same response after one password hash comparison and the same statements, even if the user is unknown, is blocked or has no password', async () => {
    // This server has its own audit log. A shared audit log would combine equal entries of several tests into one line.
    const own = await startServerForTest({ on: server, clock });
    const verify = vi.spyOn(argon2, 'verify');
    const query = vi.spyOn(own.dependencies.database, 'query');
    const statements = new Set<string>();
    const pages = new Set<string>();
    // The first sign-in also creates the hash with which the server compares the password of an unknown user.
    await new Visitor(own).signIn(owner.email, owner.password);
    for (const [reason, arrange] of cases) {
      const { userId, ...person } = await arrange();
      own.auditLines.length = 0;
      verify.mockClear();
      query.mockClear();
      const visitor = new Visitor(own);
      const answer = await visitor.signIn(person.email, person.password);
      expect([reason, verify.mock.calls.length]).toEqual([reason, 1]);
      expect([answer.status, visitor.cookies.size]).toEqual([422, 0]);
      statements.add(query.mock.calls.map(([{ name }]) => name).join());
      pages.add(answer.html.replace(person.email, ''));
      const told = { event: 'sign_in.failed', reason, ...(userId === undefined ? {} : { user_id: userId }) };
      expect(readAudit(own.auditLines)).toEqual([expect.objectContaining(told)]);
    }
    expect([pages.size, [...statements]]).toEqual([1, [expect.stringContaining('select_sign_in_candidate')]]);
    verify.mockRestore();
  });

  test('a blocked user who enters the right password reads which accounts block the user and whom to ask, gets no session, and the audit log names the reason', async () => {
    const { userId, ...person } = await blockedUser();
    const other = await createWorld(server);
    await server.sql(
      `update accounts set name = case id when $1 then 'Zeta' else '<b>Acme</b>' end where id in ($1, $2)`,
      [world.accountId, other.accountId],
    );
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [other.accountId, userId]);
    server.auditLines.length = 0;
    const visitor = new Visitor(server);
    const refused = await visitor.signIn(person.email, person.password);
    expect([refused.status, visitor.cookies.size]).toEqual([403, 0]);
    expect(refused.html).not.toContain('<b>Acme');
    expect(parse(refused.html).querySelector('#problem')?.textContent).toBe(
      'You cannot sign in, because you are blocked in <b>Acme</b> and Zeta. To be unblocked, ask an owner, admin or moderator there.',
    );
    expect(await server.sql('select from sessions where user_id = $1', [userId])).toEqual([]);
    expect(readAudit(server.auditLines)).toMatchObject([
      { event: 'sign_in.failed', reason: 'blocked', user_id: userId },
    ]);
    const guessed = await new Visitor(server).signIn(person.email, 'another password');
    expect([guessed.status, /Acme|Zeta|blocked/.test(guessed.html)]).toEqual([422, false]);
  });

  test('a user whose erasure has begun cannot sign in, and nobody can sign in as the placeholder for erased users', async () => {
    const userId = await createUser(server);
    const person = await givePassword(server, userId);
    await server.sql('update users set deletion_requested_at = now(), erasure_began_at = now() where id = $1', [
      userId,
    ]);
    expect((await new Visitor(server).signIn(person.email, person.password)).status).toBe(422);
    const [placeholder] = await server.sql<{ id: number }>(
      `insert into users (name, is_placeholder) values ('Deleted user', true)
      on conflict do nothing returning id`,
    );
    if (placeholder) await givePassword(server, placeholder.id);
    for (const email of ['', 'null'])
      expect((await new Visitor(server).signIn(email, person.password)).status).toBe(422);
  });

  test('if a password is replaced while the server checks a sign-in with the old password, the sign-in fails', async () => {
    const other = await startServerForTest({ on: server, clock });
    const { passwords } = other.dependencies;
    const verify = passwords.verify;
    other.dependencies.passwords.verify = async (credential, password) => {
      const outcome = await verify(credential, password);
      await server.database.transaction(async transaction =>
        setPassword(operatorIn(transaction, clock.now()), world.ownerId, await passwords.hash('a new password')),
      );
      return outcome;
    };
    expect((await new Visitor(other).signIn(owner.email, owner.password)).status).toBe(422);
    expect(await sessions()).toEqual([]);
  });

  test('a user can sign in even if their deletion is requested and they are blocked in one of their two accounts', async () => {
    const other = await createWorld(server);
    const userId = await createMember(server, world.accountId, 'admin');
    await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'admin')`, [
      other.accountId,
      userId,
    ]);
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, userId]);
    await server.sql('update users set deletion_requested_at = $2::timestamptz where id = $1', [userId, clock.now()]);
    const visitor = await signedIn(server, userId);
    const { html } = await visitor.get('/admin');
    expect(html).toContain('4 Mar 2026, 09:00 UTC');
    server.auditLines.length = 0;
    const kept = await visitor.submit('/admin', '/admin/cancel-deletion');
    expect(kept.location).toBe('/admin?notice=kept');
    expect(await server.sql('select deletion_requested_at from users where id = $1', [userId])).toEqual([
      { deletion_requested_at: null },
    ]);
    expect(readAudit(server.auditLines)).toMatchObject([
      { event: 'user.deletion_cancelled', by: 'user', by_user_id: userId },
    ]);
  });
});

describe('a session', () => {
  test('a session ends SESSION_IDLE_MINUTES minutes after the last request of the session', async () => {
    const visitor = await signedIn(server, world.ownerId);
    for (let used = 0; used < 5; used++) {
      clock.advance(59 * minute);
      expect((await visitor.get('/admin')).status).toBe(200);
    }
    clock.advance(60 * minute);
    expect((await visitor.get('/admin')).status).toBe(303);
  });

  test('a session expires after SESSION_MAX_HOURS, even if the user keeps sending requests', async () => {
    const visitor = await signedIn(server, world.ownerId);
    for (let hours = 0.5; hours < 10; hours += 0.5) {
      clock.advance(30 * minute);
      expect((await visitor.get('/admin')).status, `after ${hours} hours`).toBe(200);
    }
    clock.advance(30 * minute);
    expect((await visitor.get('/admin')).status).toBe(303);
  });

  test("the time of a session's last request is stored at most once a minute", async () => {
    const visitor = await signedIn(server, world.ownerId);
    const seen = async () => Date.parse((await sessions())[0]?.last_seen_at ?? '') - start.getTime();
    clock.advance(minute - 1);
    await visitor.get('/admin');
    expect(await seen()).toBe(0);
    clock.advance(1);
    await visitor.get('/admin');
    expect(await seen()).toBe(minute);
  });

  test('the server refuses a session while its user is blocked in their only account, and after the erasure of the user has begun', async () => {
    const userId = await createMember(server, world.accountId, 'admin');
    const visitor = await signedIn(server, userId);
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, userId]);
    expect((await visitor.get('/admin')).status).toBe(303);
    await server.sql('delete from user_blocks where user_id = $1', [userId]);
    expect((await visitor.get('/admin')).status).toBe(200);
    await server.sql('update users set deletion_requested_at = now(), erasure_began_at = now() where id = $1', [
      userId,
    ]);
    expect((await visitor.get('/admin')).status).toBe(303);
  });

  test("after a sign-out, copies of the session cookie are invalid, and the user's other sessions stay valid", async () => {
    const visitor = await signedIn(server, world.ownerId);
    owner = await givePassword(server, world.ownerId);
    await visitor.signIn(owner.email, owner.password);
    const other = new Visitor(server);
    await other.signIn(owner.email, owner.password);
    const kept = new Visitor(server);
    for (const [name, value] of visitor.cookies) kept.cookies.set(name, value);
    server.auditLines.length = 0;
    const answer = await visitor.submit('/admin', '/admin/sign-out');
    expect(answer.location).toBe('/sign-in?notice=signed_out');
    expect([...visitor.cookies.keys()]).toEqual(['idea_board_browser']);
    expect((await kept.get('/admin')).status).toBe(303);
    expect((await other.get('/admin')).status).toBe(200);
    expect(events()).toEqual(['sign_out']);
  });

  test('"Sign out everywhere" ends the three sessions of the user, but not the session of another user', async () => {
    const stranger = await signedIn(server, (await createWorld(server)).ownerId);
    const browsers = [new Visitor(server), new Visitor(server), new Visitor(server)];
    for (const one of browsers) await one.signIn(owner.email, owner.password);
    const [first] = browsers as [Visitor];
    server.auditLines.length = 0;
    await first.submit('/admin', '/admin/sign-out-everywhere');
    for (const one of browsers) expect((await one.get('/admin')).status).toBe(303);
    expect((await stranger.get('/admin')).status).toBe(200);
    expect(readAudit(server.auditLines)).toMatchObject([
      { event: 'session.ended_everywhere', user_id: world.ownerId, sessions: 3 },
    ]);
  });
});

describe('the page after a sign-in', () => {
  test.each([
    'https://evil.example/admin/tokens',
    '//evil.example/admin/tokens',
    '/\\evil.example',
    '\\\\evil.example/admin',
    '/\t/evil.example/admin',
    'javascript:alert(1)',
    'http://admin.invalid@evil.example/admin',
    '/admin/../docs',
    '/administrator',
    '/api/v1/ideas',
    '/sign-in?next=/admin',
    '',
  ])(
    'a sign-in redirects to the admin home page if the requested target %j is not a page of the admin area',
    async next => {
      const { location } = await new Visitor(server).signIn(owner.email, owner.password, next);
      expect(location).toBe('/admin');
    },
  );

  test('a sign-in redirects to the requested page of the admin area and keeps the query string', async () => {
    const { location } = await new Visitor(server).signIn(owner.email, owner.password, '/admin/tokens?page=2');
    expect(location).toBe('/admin/tokens?page=2');
  });
});
