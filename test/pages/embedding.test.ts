import { beforeEach, describe, expect, test } from 'vitest';
import { deleteEmbeddingSecret } from '../../server/domain/embedding/secrets.ts';
import { hiddenFields, signedIn, Visitor } from '../admin/visitor.ts';
import { readAudit } from '../helpers/audit.ts';
import { testClock } from '../helpers/clock.ts';
import { hostOrigin, letEmbed, signToken, type TokenInput } from '../helpers/embedding.ts';
import { createMember, createUser, createWorld, insertIdea, type World } from '../helpers/fixtures.ts';
import { startServerForFile, startServerForTest } from '../helpers/server.ts';
import { administer } from '../helpers/webhooks.ts';

const start = new Date('2026-11-23T12:00:00Z');
const clock = testClock(start);

let world: World;
let secret: string;
let board: string;
let root: string;

const server = await startServerForFile({ clock });
beforeEach(async () => {
  clock.set(start);
  world = await createWorld(server, { isPublic: true });
  secret = await letEmbed(server, world);
  board = `/b/${world.boardSlug}`;
  root = `${board}/embed`;
  server.auditLines.length = 0;
  server.logLines.length = 0;
});

const cookieName = 'idea_board_embedded';
const seconds = () => Math.floor(clock.now().getTime() / 1000);
const sessions = () => server.sql('select user_id from sessions where account_id = $1', [world.accountId]);
const used = () => server.sql('select from used_embedding_tokens where account_id = $1', [world.accountId]);
const accountSlug = async (of = world) =>
  (await server.sql<{ slug: string }>('select slug from accounts where id = $1', [of.accountId]))[0]?.slug ?? '';

/** Whether the HTML is a board page for a member. Only such a page has a link to submit ideas. */
const isForMember = (html: string) => /href="[^"]*\/new"/.test(html);

/** Sends a token in a form, as a website that embeds the board does. */
const post = (visitor: Visitor, token: string, path = root, origin = hostOrigin) =>
  visitor.post(path, { token }, { headers: { origin, 'sec-fetch-site': 'cross-site' } });

/** Returns a browser with the session of a person on the embedded board. */
async function embeddedPerson(input: TokenInput = {}, path = root) {
  const visitor = new Visitor(server);
  const answer = await post(visitor, await signToken(server, secret, input), path);
  expect([answer.status, answer.location]).toEqual([303, `${root}?sign_in=done`]);
  return visitor;
}

const framing = ({ headers }: { headers: Headers }) => [
  /frame-ancestors ([^;]*)/.exec(headers.get('content-security-policy') ?? '')?.[1],
  headers.get('x-frame-options'),
];
const forbidden = ["'none'", 'DENY'];

describe('the frames of other sites', () => {
  test("only the websites in an account's settings may show the embedded pages of its boards in a frame, and no website may show other pages", async () => {
    await letEmbed(server, world, [hostOrigin, 'http://localhost:8080']);
    const id = await insertIdea(server, world);
    const visitor = new Visitor(server);
    for (const path of ['', '/roadmap', `/ideas/${id}`, '?sort=top&q=none', `/ideas/999999`]) {
      const seen = await visitor.get(root + path);
      expect([path, ...framing(seen)]).toEqual([path, `${hostOrigin} http://localhost:8080`, null]);
    }
    const owner = await signedIn(server, world.ownerId);
    for (const path of [board, `${board}/roadmap`, `${board}/ideas/${id}`, '/', '/admin', '/admin/account/embedding']) {
      expect([path, ...framing(await owner.get(path))]).toEqual([path, ...forbidden]);
    }
    const others = ['/sign-in', '/operator', '/unsubscribe', '/docs/', `${board}/feed.atom`, '/b/none'];
    for (const path of others) expect([path, ...framing(await visitor.get(path))]).toEqual([path, ...forbidden]);
  });

  test('an embedded page gives the same answer for a private board, a missing board and a board that no website may embed', async () => {
    const hidden = await createWorld(server);
    await letEmbed(server, hidden);
    const unlisted = await createWorld(server, { isPublic: true });
    const visitor = new Visitor(server);
    const [missing, ...others] = await Promise.all(
      ['board-missing', hidden.boardSlug, unlisted.boardSlug].map(async slug => {
        const { status, html, headers } = await visitor.get(`/b/${slug}/embed`);
        return [status, html.replaceAll(slug, 'board-missing'), headers.get('content-security-policy')];
      }),
    );
    expect(missing?.[0]).toBe(404);
    expect(others).toEqual([missing, missing]);
    const token = await signToken(server, secret);
    const answers = await Promise.all(
      ['board-missing', hidden.boardSlug, unlisted.boardSlug].map(async slug => {
        const path = `/b/${slug}/embed`;
        const [formed, queried] = [await post(visitor, token, path), await visitor.get(`${path}?token=${token}`)];
        return [formed.status, formed.html.replaceAll(slug, 'x'), queried.location?.replace(slug, 'x')];
      }),
    );
    expect(answers[0]?.[0]).toBe(403);
    expect(answers[2]).toEqual(answers[0]);
    // The test's website may embed the private board, but the URLs of the requests do not name the board's account. So
    // the answers are the same as for a missing board.
    expect(answers[1]).toEqual(answers[0]);
    // The same is true if the URLs name the account of the private board.
    const [account] = await server.sql<{ slug: string }>('select slug from accounts where id = $1', [hidden.accountId]);
    const named = await Promise.all(
      ['board-missing', hidden.boardSlug].map(async slug => {
        const { status, location } = await post(visitor, token, `/b/${slug}/embed?account=${account?.slug}`);
        return [status, location?.replace(slug, 'x')];
      }),
    );
    expect(named[1]).toEqual(named[0]);
  });

  test('links from an embedded board to other pages open in a new tab, and embedded pages have no site header', async () => {
    const id = await insertIdea(server, world, { body: 'See https://example.com/more?a=1&b=2' });
    const linksOf = (html: string) =>
      [...html.matchAll(/<a ([^>]*)>/g)].map(([, attributes = '']) => ({
        href: /href="([^"]*)"/.exec(attributes)?.[1] ?? '',
        isNew: attributes.includes('target="_blank"') && /rel="[^"]*noopener/.test(attributes),
      }));
    const visitor = await embeddedPerson();
    const pages = [new Visitor(server), visitor].flatMap(one => ['', `/ideas/${id}`].map(path => one.get(root + path)));
    for (const { html } of await Promise.all(pages)) {
      const links = linksOf(html);
      expect(links.length).toBeGreaterThan(2);
      const isInside = (href: string) => href.startsWith('#') || new RegExp(`^${root}([?/#]|$)`).test(href);
      expect(links.filter(({ href, isNew }) => isNew === isInside(href))).toEqual([]);
      expect(html).not.toMatch(/site-name|site-footer|sign-out|\/admin/);
    }
    const { html } = await new Visitor(server).get(`${root}/ideas/${id}`);
    expect(linksOf(html).filter(({ isNew }) => isNew)).toEqual([
      { href: `/sign-in?next=${encodeURIComponent(`${board}/ideas/${id}`)}`, isNew: true },
      { href: 'https://example.com/more?a=1&amp;b=2', isNew: true },
      { href: `/sign-in?next=${encodeURIComponent(`${board}/ideas/${id}`)}&amp;notice=vote`, isNew: true },
    ]);
    expect((await visitor.get(root)).html).not.toContain('/sign-in');
  });
});

describe('the sign-in with a token', () => {
  test('a new person who signs in with an embedding token in a frame becomes a member, and can submit ideas, vote and comment there', async () => {
    const ideaId = await insertIdea(server, world);
    const claims = { sub: 'a7', email: 'grace@app.example.com', name: 'Grace' };
    const visitor = await embeddedPerson({ claims });
    const [member] = await server.sql<{ user_id: number; email: string }>(
      `select u.id as user_id, u.name, m.role, i.subject, i.provider_id, u.email from memberships m
      join users u on u.id = m.user_id join identities i on i.user_id = u.id
      where m.account_id = $1 and i.account_id = $1`,
      [world.accountId],
    );
    expect(member).toMatchObject({ name: 'Grace', role: 'member', subject: 'a7', provider_id: null });
    expect(member?.email).not.toBe(claims.email);
    expect(readAudit(server.auditLines).at(-1)).toMatchObject({
      event: 'sign_in.succeeded',
      method: 'embedding',
      user_id: member?.user_id,
    });
    const voted = await visitor.submit(root, `${root}/ideas/${ideaId}/vote`, { value: 'up' });
    expect(voted.location).toBe(`${root}#idea-${ideaId}`);
    const comment = { body: 'Yes please' };
    await visitor.submit(`${root}/ideas/${ideaId}`, `${root}/ideas/${ideaId}/comments`, comment);
    const idea = { title: 'Export as CSV', body: 'For reports' };
    const submitted = await visitor.submit(`${root}/new`, `${root}/new`, idea);
    expect(submitted.location).toMatch(new RegExp(`^${root}/ideas/\\d+\\?notice=submitted$`));
    expect(await server.sql('select up_count, comment_count from ideas where id = $1', [ideaId])).toEqual([
      { up_count: 1, comment_count: 1 },
    ]);
    // Another token of the same person signs in the same user, even if the name in the token differs.
    await embeddedPerson({ claims: { ...claims, name: 'Eve' } });
    expect(await server.sql('select distinct user_id from sessions where account_id = $1', [world.accountId])).toEqual([
      { user_id: member?.user_id },
    ]);
  });

  test('a person can sign in with an embedding token in the URL query, and is redirected to a URL without the token', async () => {
    const visitor = new Visitor(server);
    const token = await signToken(server, secret);
    const headers = { 'sec-fetch-dest': 'iframe', 'sec-fetch-site': 'cross-site' };
    const answer = await visitor.get(`${root}?token=${token}`, { headers });
    expect([answer.status, answer.location, answer.headers.get('cache-control')]).toEqual([
      303,
      `${root}?sign_in=done`,
      'no-store',
    ]);
    expect(isForMember((await visitor.get(`${root}?sign_in=done`)).html)).toBe(true);
    expect(await sessions()).toHaveLength(1);
  });

  test('an embedding token in the URL query has no effect in a HEAD request or outside a frame', async () => {
    const visitor = new Visitor(server);
    const token = await signToken(server, secret);
    await fetch(`${server.baseUrl}${root}?token=${token}`, { method: 'HEAD' });
    const answer = await visitor.get(`${root}?token=${token}`, { headers: { 'sec-fetch-dest': 'document' } });
    expect(answer.location).toBe(`${root}?sign_in=unframed`);
    expect([await used(), await sessions()]).toEqual([[], []]);
    expect((await post(visitor, token)).location).toBe(`${root}?sign_in=done`);
  });

  const long = 'x'.repeat(256);
  test.each<[string, string, TokenInput]>([
    ['with the algorithm HS384', 'signature', { algorithm: 'HS384' }],
    ['with the algorithm HS512', 'signature', { algorithm: 'HS512' }],
    ['that has expired', 'expired', { claims: { exp: start.getTime() / 1000 - 31 } }],
    ['without an expiry', 'lifetime', { claims: { exp: undefined } }],
    ['that expires in more than five minutes', 'lifetime', { claims: { exp: start.getTime() / 1000 + 331 } }],
    ['that was issued in the future', 'not_yet', { claims: { iat: start.getTime() / 1000 + 31 } }],
    ['that is not valid yet', 'not_yet', { claims: { nbf: start.getTime() / 1000 + 31 } }],
    ['with an expiry that is no number', 'lifetime', { claims: { exp: '9999999999' } }],
    ['for the audience of another server', 'audience', { claims: { aud: 'https://other.example.com' } }],
    ['without an audience', 'audience', { claims: { aud: undefined } }],
    ['without a sub', 'claims', { claims: { sub: undefined } }],
    ['with an empty sub', 'claims', { claims: { sub: '' } }],
    ['with a sub that is a number', 'claims', { claims: { sub: 7 } }],
    ['with a sub of 256 characters', 'claims', { claims: { sub: long } }],
    ['with a sub of 256 bytes', 'claims', { claims: { sub: 'é'.repeat(128) } }],
    ['with a line break in its sub', 'claims', { claims: { sub: 'a\nb' } }],
    ['without an e-mail address', 'claims', { claims: { email: undefined } }],
    ['with an invalid e-mail address', 'claims', { claims: { email: 'grace' } }],
    ['with a list as e-mail address', 'claims', { claims: { email: ['grace@example.com'] } }],
    ['without a name', 'claims', { claims: { name: undefined } }],
    ['with a name of 101 characters', 'claims', { claims: { name: 'x'.repeat(101) } }],
    ['with a name of two lines', 'claims', { claims: { name: 'Grace\nHopper' } }],
  ])(
    'an embedded board refuses an embedding token %s, starts no session, and shows the reason',
    async (_, reason, input) => {
      await expectRefused(await signToken(server, secret, input), reason);
      expect(readAudit(server.auditLines)).toMatchObject([
        { event: 'sign_in.token_refused', account_id: world.accountId, reason },
      ]);
    },
  );

  async function expectRefused(token: string, reason: string) {
    const before = await Promise.all([sessions(), used()]);
    const visitor = new Visitor(server);
    const answer = await post(visitor, token);
    expect([answer.status, answer.location]).toEqual([303, `${root}?sign_in=${reason}`]);
    expect(visitor.cookies.has(cookieName)).toBe(false);
    expect(await Promise.all([sessions(), used()])).toEqual(before);
    const { html } = await visitor.get(`${root}?sign_in=${reason}`);
    expect(html).toMatch(/role="alert"[^>]*>The website could not sign you in: /);
  }

  test('an embedded board refuses an embedding token that is unsigned, malformed, or signed with a wrong secret', async () => {
    const [header, payload] = (await signToken(server, secret)).split('.');
    const unsigned = Buffer.from('{"alg":"none"}').toString('base64url');
    const otherSecret = await letEmbed(server, await createWorld(server, { isPublic: true }));
    const wrong = [
      `${unsigned}.${payload}.`,
      `${unsigned}.${payload}`,
      `${header}.${payload}.`,
      await signToken(server, `${secret}x`),
      await signToken(server, otherSecret),
      'token',
      'a.b.c',
      `${header}.${payload}.${'x'.repeat(5_000)}`,
    ];
    for (const token of wrong) await expectRefused(token, 'signature');
  });

  test('an embedded board accepts an embedding token if the clock of the signing server differs by half a minute', async () => {
    for (const claims of [
      { exp: seconds() - 29 },
      { exp: seconds() + 330, iat: seconds() + 30, nbf: seconds() + 30 },
    ]) {
      await embeddedPerson({ claims });
    }
  });

  test("an embedding token works only once, even with another encoding of its signature, and the server stores the token's hash until the token expires", async () => {
    const token = await signToken(server, secret);
    expect((await post(new Visitor(server), token)).location).toBe(`${root}?sign_in=done`);
    await expectRefused(token, 'used');
    // The last of the 43 characters has two unused bits. So four different last characters encode the same signature.
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const last = alphabet.indexOf(token.at(-1) ?? '');
    for (const spare of [1, 2, 3]) await expectRefused(token.slice(0, -1) + alphabet[last ^ spare], 'used');
    clock.advance(149_000);
    await expectRefused(token, 'used');
    clock.advance(2_000);
    await expectRefused(token, 'expired');
    const [row] = await server.sql<{ expires_at: string }>(
      'select expires_at from used_embedding_tokens where account_id = $1',
      [world.accountId],
    );
    expect(new Date(row?.expires_at ?? 0).getTime()).toBeGreaterThan(clock.now().getTime());
  });

  test('if ten parallel requests contain the same embedding token, exactly one request signs the person in', async () => {
    const token = await signToken(server, secret);
    const answers = await Promise.all(Array.from({ length: 10 }, () => post(new Visitor(server), token)));
    const locations = answers.map(({ location }) => location?.split('=')[1]).sort();
    expect(locations).toEqual(['done', ...Array(9).fill('used')]);
    expect(await sessions()).toHaveLength(1);
  });

  test('if several embedding tokens for one new person arrive in parallel, the server creates only one user', async () => {
    const claims = { sub: 'same', email: 'same@app.example.com' };
    const tokens = await Promise.all([1, 2, 3].map(() => signToken(server, secret, { claims })));
    const answers = await Promise.all(tokens.map(token => post(new Visitor(server), token)));
    expect(answers.map(({ location }) => location)).toEqual(Array(3).fill(`${root}?sign_in=done`));
    expect(new Set((await sessions()).map(row => JSON.stringify(row))).size).toBe(1);
  });

  test('an embedding token never appears in the log or the audit log, even if the server refuses the token or fails', async () => {
    const tokens = [await signToken(server, secret), await signToken(server, `${secret}x`)];
    const failing = await startServerForTest({ on: server, clock, environment: { LOG_LEVEL: 'trace' } });
    for (const token of tokens) {
      await post(new Visitor(failing), token);
      await new Visitor(failing).get(`${root}?token=${token}`);
    }
    await failing.sql('alter table used_embedding_tokens rename to used_tokens');
    const broken = await signToken(server, secret);
    const answer = await new Visitor(failing).get(`${root}?token=${broken}`);
    await failing.sql('alter table used_tokens rename to used_embedding_tokens');
    expect([answer.status, answer.html.includes(broken.slice(0, 40))]).toEqual([500, false]);
    const output = [...failing.logLines, ...failing.auditLines].join('');
    expect(output).toContain('used_embedding_tokens');
    for (const token of [...tokens, broken]) {
      for (const part of token.split('.').slice(1)) expect(output).not.toContain(part);
    }
  });

  test('an embedding token with the e-mail address of an existing user signs nobody in until this user confirms the connection', async () => {
    const userId = await createMember(server, world.accountId, 'admin');
    const [before] = await server.sql<{ email: string }>('select * from users where id = $1', [userId]);
    const claims = { sub: 'boss', email: before?.email.toUpperCase() };
    const visitor = new Visitor(server);
    const answer = await post(visitor, await signToken(server, secret, { claims }));
    expect(answer.location).toMatch(new RegExp(`^${root}\\?notice=connect&connection=[\\w-]+$`));
    expect([await sessions(), visitor.cookies.size]).toEqual([[], 0]);
    expect(await server.sql('select * from users where id = $1', [userId])).toEqual([before]);
    expect(await server.sql('select from identities where account_id = $1', [world.accountId])).toEqual([]);

    const { html } = await visitor.get(answer.location ?? '');
    const [, link = ''] = /<a href="([^"]*)" target="_blank" rel="noopener">Connect this user/.exec(html) ?? [];
    const path = link.replaceAll('&amp;', '&');
    expect((await visitor.get(path)).location).toMatch(/^\/sign-in\?/);
    const stranger = await signedIn(server, await createUser(server));
    expect((await stranger.get(path)).status).toBe(403);
    const user = await signedIn(server, userId);
    const confirmed = await user.submit(path, '/admin/profile/connections/connect');
    expect([confirmed.status, confirmed.location]).toEqual([303, board]);

    const embedded = await embeddedPerson({ claims });
    expect(await sessions()).toEqual([{ user_id: userId }]);
    expect(await server.sql('select * from users where id = $1', [userId])).toEqual([before]);
    embedded.cookies.set('idea_board_session', embedded.cookies.get(cookieName) ?? '');
    expect((await embedded.get('/admin')).location).toMatch(/^\/sign-in\?/);
    // On the website of another account, the same person id stands for another person.
    const other = await createWorld(server, { isPublic: true });
    const token = await signToken(server, await letEmbed(server, other), { claims });
    const elsewhere = await post(new Visitor(server), token, `/b/${other.boardSlug}/embed`);
    expect(elsewhere.location).toContain('?notice=connect&');
  });

  test("if an embedding token for a private board has an existing user's address, the embedded board links to a page for confirming the connection", async () => {
    await server.sql('update boards set is_public = false where id = $1', [world.boardId]);
    const userId = await createUser(server);
    const [user] = await server.sql<{ email: string }>('select email from users where id = $1', [userId]);
    const visitor = new Visitor(server);
    const token = await signToken(server, secret, { claims: { email: user?.email } });
    const answer = await post(visitor, token, `${root}?account=${await accountSlug()}`);
    const { status, html } = await visitor.get(answer.location ?? '');
    expect([status, html.includes('/admin/profile/connections/connect?token=')]).toEqual([404, true]);
  });

  test('a user with two-factor sign-in is not signed in on an embedded board, because a frame cannot ask for a code', async () => {
    const claims = { sub: 'careful' };
    await embeddedPerson({ claims });
    await server.sql(
      `insert into second_factors (user_id, secret, last_step) select user_id, '', 0 from identities where account_id = $1`,
      [world.accountId],
    );
    const visitor = new Visitor(server);
    const answer = await post(visitor, await signToken(server, secret, { claims }));
    expect([answer.location, visitor.cookies.size]).toEqual([`${root}?sign_in=second_factor`, 0]);
    expect((await visitor.get(`${root}?sign_in=second_factor`)).html).toContain('two-factor sign-in');
  });
});

describe('the session of an embedded board', () => {
  test("a member can read a private board in a frame, and the URLs of the links in the frame contain the account's slug", async () => {
    const hidden = await createWorld(server);
    world = hidden;
    secret = await letEmbed(server, hidden);
    root = `/b/${hidden.boardSlug}/embed`;
    const path = `${root}?account=${await accountSlug()}`;
    const visitor = await embeddedPerson({}, path);
    const seen = await visitor.get(root);
    expect([seen.status, ...framing(seen)]).toEqual([200, hostOrigin, null]);
    // A public board of another account with the same slug does not hide the private board.
    const other = await createWorld(server, { isPublic: true, slug: hidden.boardSlug, name: 'Another board' });
    await letEmbed(server, other);
    expect((await visitor.get(root)).html).not.toContain('Another board');
    expect((await new Visitor(server).get(root)).html).toContain('Another board');
  });

  test('a session on embedded boards is not valid on other pages, and a session on other pages is not valid on embedded boards', async () => {
    const visitor = await embeddedPerson();
    const token = visitor.cookies.get(cookieName) ?? '';
    expect(isForMember((await visitor.get(root)).html)).toBe(true);
    expect(isForMember((await visitor.get(board)).html)).toBe(false);
    visitor.cookies.set('idea_board_session', token);
    for (const path of ['/admin', '/admin/profile', `${board}/mine`]) {
      expect([path, (await visitor.get(path)).location?.startsWith('/sign-in')]).toEqual([path, true]);
    }
    const owner = await signedIn(server, world.ownerId);
    expect(isForMember((await owner.get(board)).html)).toBe(true);
    expect(isForMember((await owner.get(root)).html)).toBe(false);
    owner.cookies.set(cookieName, owner.cookies.get('idea_board_session') ?? '');
    expect(isForMember((await owner.get(root)).html)).toBe(false);
  });

  test('a session on the embedded boards of one account is not valid on an embedded board of another account', async () => {
    const other = await createWorld(server, { isPublic: true });
    await letEmbed(server, other);
    const id = await insertIdea(server, other);
    const visitor = await embeddedPerson();
    const { html } = await visitor.get(`/b/${other.boardSlug}/embed`);
    expect([html.includes('/sign-in?'), isForMember(html)]).toEqual([true, false]);
    const fields = { ...hiddenFields((await visitor.get(`${root}/new`)).html, `${root}/new`), value: 'up' };
    const vote = await visitor.post(`/b/${other.boardSlug}/embed/ideas/${id}/vote`, fields);
    expect(vote.status).toBe(403);
    expect(await server.sql('select up_count from ideas where id = $1', [id])).toEqual([{ up_count: 0 }]);
  });

  test('on an embedded board, nobody can moderate, not even an owner', async () => {
    await server.sql('update boards set pre_moderation = true where id = $1', [world.boardId]);
    const ideaId = await insertIdea(server, world);
    const visitor = await embeddedPerson();
    await server.sql(`update memberships set role = 'owner' where account_id = $1`, [world.accountId]);
    const idea = { title: 'Of an owner', body: 'In a frame' };
    const answer = await visitor.submit(`${root}/new`, `${root}/new`, idea);
    expect(answer.location).toBe(`${root}?notice=awaits_approval`);
    expect((await visitor.get(`${root}/ideas/${ideaId}`)).html).not.toContain('/admin');
    expect(await server.sql('select moderation_state from ideas where title = $1', [idea.title])).toEqual([
      { moderation_state: 'pending' },
    ]);
  });

  test('a form on an embedded board needs the form_token of the session and must come from a page of the server', async () => {
    const id = await insertIdea(server, world);
    const visitor = await embeddedPerson();
    const path = `${root}/ideas/${id}/vote`;
    const formOf = async (one: Visitor) => ({ ...hiddenFields((await one.get(root)).html, path), value: 'up' });
    const fields = await formOf(visitor);
    const foreign = { headers: { origin: hostOrigin, 'sec-fetch-site': 'cross-site' } };
    expect((await visitor.post(path, fields, foreign)).status).toBe(403);
    expect((await visitor.post(path, { value: 'up' })).status).toBe(403);
    expect((await visitor.post(path, await formOf(await embeddedPerson()))).status).toBe(403);
    expect(await server.sql('select up_count from ideas where id = $1', [id])).toEqual([{ up_count: 0 }]);
    expect((await visitor.post(path, fields)).status).toBe(303);
    expect(await server.sql('select up_count from ideas where id = $1', [id])).toEqual([{ up_count: 1 }]);
  });

  test("a form with an embedding token signs a person in on an embedded board only if a website in the account's settings sends the form", async () => {
    const token = await signToken(server, secret);
    const visitor = new Visitor(server);
    for (const origin of ['https://evil.example.com', `${hostOrigin}:8443`, 'null', server.baseUrl]) {
      const { status, html } = await post(visitor, token, root, origin);
      expect([origin, status, html.includes('does not let this website')]).toEqual([origin, 403, true]);
    }
    expect([await sessions(), await used()]).toEqual([[], []]);
    expect((await post(visitor, token)).location).toBe(`${root}?sign_in=done`);
  });

  test('if a form on an embedded board is sent after the session has ended, the board says that the sign-in has ended', async () => {
    const id = await insertIdea(server, world);
    const visitor = await embeddedPerson();
    const path = `${root}/ideas/${id}/vote`;
    const fields = { ...hiddenFields((await visitor.get(root)).html, path), value: 'up' };
    visitor.cookies.clear();
    const answer = await visitor.post(path, fields);
    expect(answer.location).toBe(`${root}?sign_in=ended`);
    expect((await visitor.get(answer.location ?? '')).html).toContain('Your sign-in has ended');
  });

  test('an empty or refused embedding token, or a deleted embedding secret, ends a session on an embedded board, but a used token does not', async () => {
    const isSignedIn = async (visitor: Visitor) => isForMember((await visitor.get(root)).html);
    const token = await signToken(server, secret);
    const visitor = new Visitor(server);
    await post(visitor, token);
    expect((await post(visitor, token)).location).toBe(`${root}?sign_in=used`);
    expect(await isSignedIn(visitor)).toBe(true);
    expect((await visitor.get(`${root}?sign_in=used`)).html).not.toContain('role="alert"');
    expect((await post(visitor, 'wrong')).location).toBe(`${root}?sign_in=signature`);
    expect([await sessions(), visitor.cookies.size]).toEqual([[], 0]);

    const leaving = await embeddedPerson();
    expect((await leaving.get(`${root}?token=`)).location).toBe(root);
    expect([await sessions(), leaving.cookies.size]).toEqual([[], 0]);

    const remaining = await embeddedPerson();
    const [row] = await server.sql<{ id: number; last_used_at: string | null }>(
      'select id, last_used_at from embedding_secrets where account_id = $1',
      [world.accountId],
    );
    expect(row?.last_used_at).not.toBeNull();
    await administer(server, admin => deleteEmbeddingSecret(admin, world.accountId, row?.id ?? 0));
    expect(await isSignedIn(remaining)).toBe(false);
    expect((await post(remaining, await signToken(server, secret))).location).toBe(`${root}?sign_in=signature`);
  });

  test('if a browser stores no cookies in frames, an embedded board explains that the browser blocks these cookies', async () => {
    const { html } = await new Visitor(server).get(`${root}?sign_in=done`);
    expect(html).toContain('blocks cookies in frames');
  });

  test('over HTTPS, a sign-in on an embedded board sets only one cookie, which has the attributes Partitioned and SameSite=None', async () => {
    const secure = await startServerForTest({
      on: server,
      clock,
      environment: { BASE_URL: 'https://ideas.example.com' },
    });
    const answer = await post(new Visitor(secure), await signToken(secure, secret));
    const [cookie, ...others] = answer.headers.getSetCookie();
    expect(others).toEqual([]);
    expect(cookie).toMatch(/^__Host-idea_board_embedded=/);
    const attributes = cookie
      ?.split('; ')
      .slice(1)
      .filter(one => !one.startsWith('Expires'))
      .sort();
    expect(attributes).toEqual(['HttpOnly', 'Partitioned', 'Path=/', 'SameSite=None', 'Secure']);
  });

  test('above the daily limit of unconfirmed addresses, new people of an account still sign in on embedded boards, but get no mails', async () => {
    const limited = await startServerForTest({
      on: server,
      clock,
      environment: { RATE_LIMIT_UNCONFIRMED_ADDRESSES: '2' },
    });
    const other = await createWorld(server, { isPublic: true });
    const otherSecret = await letEmbed(server, other);
    const signIn = async (by = secret, path = root) => {
      const { location } = await post(new Visitor(limited), await signToken(limited, by), path);
      expect(location).toBe(`${path}?sign_in=done`);
    };
    const addresses = async (of = world) => {
      const rows = await server.sql<{ address: string | null }>(
        `select u.notification_email as address from users u join identities i on i.user_id = u.id
        where i.account_id = $1 order by u.id`,
        [of.accountId],
      );
      return rows.map(({ address }) => address !== null);
    };
    for (let count = 0; count < 4; count++) await signIn();
    expect(await addresses()).toEqual([true, true, false, false]);
    await signIn(otherSecret, `/b/${other.boardSlug}/embed`);
    expect(await addresses(other)).toEqual([true]);
    clock.set(new Date(start.getTime() + 86_400_000));
    await signIn();
    expect(await addresses()).toEqual([true, true, false, false, true]);
    const entries = readAudit(limited.auditLines).filter(({ event }) => event === 'rate_limit.exceeded');
    expect(entries).toMatchObject([{ bucket: 'unconfirmed-address:account', limit: 2, window_seconds: 86_400 }]);
  });

  test('a blocked user cannot sign in on an embedded board, and a user who is blocked after the sign-in loses access', async () => {
    const claims = { sub: 'b' };
    const visitor = await embeddedPerson({ claims });
    await server.sql(
      'insert into user_blocks (account_id, user_id) select $1, user_id from identities where account_id = $1',
      [world.accountId],
    );
    expect(isForMember((await visitor.get(root)).html)).toBe(false);
    expect((await post(visitor, await signToken(server, secret, { claims }))).location).toBe(`${root}?sign_in=blocked`);
  });
});
