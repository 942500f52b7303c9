import { describe, expect, test } from 'vitest';
import { turnOn } from '../admin/authenticator.ts';
import { givePassword, hiddenFields, signedIn, Visitor } from '../admin/visitor.ts';
import { readAudit } from '../helpers/audit.ts';
import { testClock } from '../helpers/clock.ts';
import { connect } from '../helpers/database.ts';
import { createBoard, createMember, createWorld } from '../helpers/fixtures.ts';
import { closeAfterAll } from '../helpers/for-file.ts';
import { waitForLockWaits } from '../helpers/lock-waits.ts';
import { startPublicServer } from '../helpers/public-server.ts';
import { request } from '../helpers/request.ts';
import { callback, callTool, finish, levelFields, Program } from './program.ts';

const server = closeAfterAll(
  await startPublicServer({
    environment: { PLANS_WITHOUT_AGENT_API: 'starter', RATE_LIMIT_OAUTH_CLIENT: '1000' },
  }),
);
const world = await createWorld(server, { name: 'Web app' });
const visitor = await signedIn(server, world.ownerId);
const program = await Program.register(server);

/** A host name of the maximum length. This host name begins like the name of a trusted host. */
const longHost = `editor.example.${'a.'.repeat(113)}evil.example`;

const tokensOf = (accountId: number) =>
  server.sql<{ id: number; kind: string; name: string; revoked_at: string | null }>(
    'select id, kind, name, revoked_at from api_tokens where account_id = $1 order by id',
    [accountId],
  );

describe('consent', () => {
  test('a consent to an OAuth client creates a token with exactly the boards and grants that the person chose', async () => {
    const second = await createBoard(server, world.accountId, { name: 'Mobile' });
    const third = await createBoard(server, world.accountId);
    const own = await Program.register(server, { client_name: '  My <b>editor</b>\u202e ' });
    server.auditLines.length = 0;
    const tokens = await own.connect(visitor, { [world.boardId]: 'write', [second.id]: 'read' });
    const [token] = (await tokensOf(world.accountId)).slice(-1);
    expect(token).toMatchObject({ kind: 'oauth', name: 'My <b>editor</b>', revoked_at: null });
    const grants = await server.sql(
      'select board_id, level from api_token_boards where token_id = $1 order by board_id',
      [token?.id],
    );
    expect(grants).toEqual([
      { board_id: world.boardId, level: 'write' },
      { board_id: second.id, level: 'read' },
    ]);
    expect(readAudit(server.auditLines)).toMatchObject([
      {
        event: 'token.created',
        by: 'user',
        by_user_id: world.ownerId,
        user_id: world.ownerId,
        token_id: token?.id,
        kind: 'oauth',
      },
    ]);
    const isAnswered = async (board: string) => {
      const { body } = await callTool(server, tokens.access_token, 'list_ideas', { board });
      return !body.result.isError;
    };
    expect([await isAnswered(world.boardSlug), await isAnswered(second.slug), await isAnswered(third.slug)]).toEqual([
      true,
      true,
      false,
    ]);

    const list = await visitor.get('/admin/tokens');
    expect(list.html).toContain('My &lt;b&gt;editor&lt;/b&gt;');
    expect(list.html).toContain('<span class="chip chip-outline">OAuth</span>');
    const path = `/admin/tokens/${token?.id}/revoke`;
    expect((await visitor.submit(path, path)).status).toBe(303);
    expect((await callTool(server, tokens.access_token)).status).toBe(401);
    expect((await own.refresh(tokens.refresh_token)).body.error).toBe('invalid_grant');
    expect(readAudit(server.auditLines)).toContainEqual(
      expect.objectContaining({ event: 'token.used_after_revocation', token_id: token?.id }),
    );
  });

  test("the consent page shows the OAuth client's name and redirect host, and its form can lead only to that host or this server", async () => {
    const page = await visitor.get(await program.ask(visitor));
    expect(page.status).toBe(200);
    for (const text of ['A program', '127.0.0.1:33418', 'a program on your own computer', 'Web app'])
      expect(page.html).toContain(text);
    expect(page.headers.get('content-security-policy')).toContain("form-action 'self' http://127.0.0.1:33418;");
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(page.headers.get('x-frame-options')).toBe('DENY');
    const other = await visitor.get('/admin/tokens');
    expect(other.headers.get('content-security-policy')).toContain("form-action 'self';");
  });

  test.each([
    ['https://app.example.com/cb?x=1', 'https://app.example.com', 'app.example.com', ''],
    [`https://${longHost}:65535/cb`, `https://${longHost}:65535`, `<bdi>${longHost}:65535</bdi>`, ''],
    ['http://[::1]:5000/cb', 'http:', '[::1]:5000', 'a program on your own computer'],
    ['cursor://anysphere.example/cb', 'cursor:', 'cursor:', 'a program on your own device opens'],
    ["https://a;script-src'x'.example/cb", 'https:', 'a;script-src', ''],
  ])(
    "the consent page for the redirect URI %s shows this URI's host or scheme, and can send its form only to this server and %s",
    async (uri, source, host, words) => {
      const own = await Program.register(server, { redirect_uris: [uri] });
      const page = await visitor.get(await own.ask(visitor, { redirect_uri: uri }));
      expect(page.headers.get('content-security-policy')).toContain(`form-action 'self' ${source};`);
      expect(page.headers.get('content-security-policy')).not.toContain('script-src');
      expect(page.html).toContain(host);
      expect(page.html).toContain(words);
    },
  );

  test.each(['\u200b\u2060', '\u3164', '\u{e0041}\u202e'])(
    "the consent page shows the host of the redirect URI instead of the client's name if the name has no visible characters: %j",
    async name => {
      const own = await Program.register(server, { client_name: name });
      const page = await visitor.get(await own.ask(visitor));
      expect(page.html).toContain('<h1>Connect <bdi>127.0.0.1:33418</bdi>?</h1>');
    },
  );

  test('if the person refuses the consent, the OAuth client gets the error access_denied', async () => {
    server.auditLines.length = 0;
    const before = await tokensOf(world.accountId);
    const page = await program.ask(visitor);
    const back = await finish(visitor, await visitor.submit(page, page, { decision: 'refuse' }));
    expect(back.href.split('?')[0]).toBe(callback);
    expect(Object.fromEntries(back.searchParams)).toEqual({
      error: 'access_denied',
      error_description: 'the user refused',
      state: 'a state',
      iss: server.config.BASE_URL,
    });
    expect(await tokensOf(world.accountId)).toEqual(before);
    expect(readAudit(server.auditLines)).toMatchObject([
      { event: 'oauth.consent_denied', by: 'user', by_user_id: world.ownerId, client_id: program.clientId },
    ]);
  });

  test('a consent form without a valid board and grant gets an error, and the person can correct and send the form again', async () => {
    const foreign = await createWorld(server);
    const page = await program.ask(visitor);
    for (const [levels, why] of [
      [{}, 'at least one board'],
      [{ [foreign.boardId]: 'read' }, 'at least one board'],
      [{ [world.boardId]: 'everything' }, 'Choose a grant'],
    ] as const) {
      const answer = await visitor.submit(page, page, { ...levelFields(levels as never), decision: 'connect' });
      expect([answer.status, answer.html.includes(why)]).toEqual([422, true]);
      expect(answer.headers.get('content-security-policy')).toContain('http://127.0.0.1:33418');
    }
    // After the server has refused the invalid forms, the person can still consent.
    const fields = { ...levelFields({ [world.boardId]: 'read' }), decision: 'connect' };
    await finish(visitor, await visitor.submit(page, page, fields));
  });

  test('a consent form that is sent several times in parallel creates only one token, and afterwards the consent page answers 404', async () => {
    const page = await program.ask(visitor);
    const before = (await tokensOf(world.accountId)).length;
    const { html } = await visitor.get(page);
    const fields = { ...hiddenFields(html, page), ...levelFields({ [world.boardId]: 'read' }), decision: 'connect' };
    const answers = await Promise.all([1, 2, 3].map(() => visitor.post(page, fields)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([303, expect.any(Number), expect.any(Number)]);
    expect(answers.filter(({ status }) => status === 303)).toHaveLength(1);
    expect(await tokensOf(world.accountId)).toHaveLength(before + 1);
    expect((await visitor.get(page)).status).toBe(404);
  });

  test('the server issues only one authorization code even if a browser follows the redirect after a consent several times in parallel', async () => {
    const page = await program.ask(visitor);
    const fields = { ...levelFields({ [world.boardId]: 'read' }), decision: 'connect' };
    const { location } = await visitor.submit(page, page, fields);
    const { pathname } = new URL(location ?? '');
    // While the test holds this lock, every browser tab reads the authorization request, and no tab can delete it.
    const holder = await connect(server.url);
    await holder.query(`begin; select from oauth_records where model = 'Interaction' for update`);
    const tabs = Array.from({ length: 3 }, () => {
      const tab = new Visitor(server);
      for (const [name, value] of visitor.cookies) tab.cookies.set(name, value);
      return tab.get(pathname);
    });
    await waitForLockWaits(server, 3);
    await holder.query('commit');
    await holder.end();
    const answers = await Promise.all(tabs);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([303, 400, 400]);
    expect(answers.find(({ status }) => status === 400)?.html).toContain('The program cannot be connected');
  });

  test('after a second consent for an OAuth client, the tokens of the first consent stay valid, because two machines may use the same client', async () => {
    const first = await program.connect(visitor, { [world.boardId]: 'read' });
    const second = await program.connect(visitor, { [world.boardId]: 'write' });
    expect([
      (await callTool(server, first.access_token)).status,
      (await callTool(server, second.access_token)).status,
    ]).toEqual([200, 200]);
  });

  test('the server asks for consent at each OAuth authorization request, even after an earlier consent', async () => {
    await program.connect(visitor, { [world.boardId]: 'read' });
    expect((await visitor.get(await program.ask(visitor))).status).toBe(200);
    const silent = await visitor.get(program.authorizationPath({ prompt: 'none' }));
    expect(new URL(silent.location ?? '').searchParams.get('error')).toBe('login_required');
  });
});

describe('the person who consents', () => {
  test('a person who is not signed in sees the sign-in page first and then the consent page', async () => {
    const person = await givePassword(server, await createMember(server, world.accountId, 'admin'));
    const fresh = new Visitor(server);
    const page = await program.ask(fresh);
    const toSignIn = await fresh.get(page);
    expect(toSignIn.location).toBe(`/sign-in?next=${encodeURIComponent(page)}`);
    const signedInNow = await fresh.signIn(person.email, person.password, page);
    expect(signedInNow.location).toBe(page);
    expect((await fresh.get(page)).status).toBe(200);
  });

  test('if an account requires two-factor sign-in of its admins, an admin who signed in without a code can only refuse an OAuth client', async () => {
    const strict = await createWorld(server);
    const admin = await signedIn(server, await createMember(server, strict.accountId, 'admin'));
    const page = await program.ask(admin);
    const fields = {
      ...hiddenFields((await admin.get(page)).html, page),
      ...levelFields({ [strict.boardId]: 'moderate' }),
    };
    await server.sql('update accounts set requires_second_factor = true where id = $1', [strict.accountId]);
    const shown = await admin.get(page);
    expect([shown.status, shown.location?.startsWith('/admin/profile/second-factor?')]).toEqual([303, true]);
    const given = await admin.post(page, { ...fields, decision: 'connect' });
    expect([given.status, given.location?.startsWith('/admin/profile/second-factor?')]).toEqual([303, true]);
    expect(await tokensOf(strict.accountId)).toEqual([]);
    const refused = await finish(admin, await admin.post(page, { ...fields, decision: 'refuse' }));
    expect(refused.searchParams.get('error')).toBe('access_denied');
  });

  test('a person with two-factor sign-in sees the consent page only after entering the password and a code', async () => {
    const person = await givePassword(server, await createMember(server, world.accountId, 'admin'));
    const first = new Visitor(server);
    await first.signIn(person.email, person.password);
    const { recoveryCodes } = await turnOn(first, person.password, testClock());
    const fresh = new Visitor(server);
    const page = await program.ask(fresh);
    const toCode = await fresh.signIn(person.email, person.password, page);
    expect(toCode.location).toBe(`/sign-in/code?next=${encodeURIComponent(page)}`);
    expect((await fresh.get(page)).location).toBe(`/sign-in?next=${encodeURIComponent(page)}`);
    const code = recoveryCodes[0] ?? '';
    expect((await fresh.submit(toCode.location ?? '', '/sign-in/code', { code })).location).toBe(page);
    expect((await fresh.get(page)).status).toBe(200);
  });

  test.each(['moderator', 'member'] as const)(
    'a person with the role %s cannot consent to an OAuth client',
    async role => {
      const other = await signedIn(server, await createMember(server, world.accountId, role));
      const page = await program.ask(other);
      const shown = await other.get(page);
      expect([shown.status, shown.html.includes('Only for owners and admins')]).toEqual([403, true]);
      const { html } = await other.get('/admin');
      const fields = {
        ...hiddenFields(html, '/admin/sign-out'),
        decision: 'connect',
        ...levelFields({ [world.boardId]: 'read' }),
      };
      expect((await other.post(page, fields)).status).toBe(403);
      // The person can still press the button that refuses the consent, because the OAuth client waits for an answer.
      const refused = await other.post(page, { ...fields, decision: 'refuse' });
      expect((await finish(other, refused)).searchParams.get('error')).toBe('access_denied');
    },
  );

  test('a person who loses the admin role while the consent page is open cannot consent', async () => {
    const userId = await createMember(server, world.accountId, 'admin');
    const other = await signedIn(server, userId);
    const page = await program.ask(other);
    const { html } = await other.get(page);
    const fields = { ...hiddenFields(html, page), decision: 'connect', ...levelFields({ [world.boardId]: 'read' }) };
    await server.sql(`update memberships set role = 'moderator' where user_id = $1`, [userId]);
    expect((await other.post(page, fields)).status).toBe(403);
    expect(await server.sql('select from api_tokens where issuer_id = $1', [userId])).toEqual([]);
  });

  test("if the account's plan does not include the Agent API, a person can neither open the consent page nor consent", async () => {
    const poor = await createWorld(server);
    const owner = await signedIn(server, poor.ownerId);
    const page = await program.ask(owner);
    const { html } = await owner.get(page);
    await server.sql(`update accounts set plan = 'starter' where id = $1`, [poor.accountId]);
    expect((await owner.get(page)).status).toBe(403);
    const fields = { ...hiddenFields(html, page), decision: 'connect', ...levelFields({ [poor.boardId]: 'read' }) };
    expect((await owner.post(page, fields)).status).toBe(403);
    expect(await tokensOf(poor.accountId)).toEqual([]);
  });

  test('the consent page offers a person all accounts in which this person is an owner or admin', async () => {
    const other = await createWorld(server);
    const userId = await createMember(server, world.accountId, 'member');
    const add = `insert into memberships (account_id, user_id, role) values ($1, $2, 'admin')`;
    const third = await createWorld(server);
    await server.sql(add, [other.accountId, userId]);
    await server.sql(add, [third.accountId, userId]);
    await server.sql(`update accounts set name = 'Third & last' where id = $1`, [third.accountId]);
    const [slug] = await server.sql<{ slug: string }>('select slug from accounts where id = $1', [third.accountId]);
    const admin = await signedIn(server, userId);
    const page = await program.ask(admin);
    const first = await admin.get(page);
    expect(first.status).toBe(200);
    const inThird = `${page}?account=${slug?.slug}`;
    expect(first.html).toContain(`<a href="${inThird}"><bdi>Third &amp; last</bdi></a>`);
    const answer = await admin.submit(inThird, inThird, {
      ...levelFields({ [third.boardId]: 'read' }),
      decision: 'connect',
    });
    await finish(admin, answer);
    expect(await tokensOf(third.accountId)).toHaveLength(1);
    expect(await tokensOf(other.accountId)).toEqual([]);
  });

  test('a person can consent only in the browser that started the authorization request', async () => {
    const page = await program.ask(visitor);
    const victim = await signedIn(server, await createMember(server, world.accountId, 'owner'));
    expect((await victim.get(page)).status).toBe(404);
    const { html } = await victim.get('/admin');
    const fields = {
      ...hiddenFields(html, '/admin/sign-out'),
      decision: 'connect',
      ...levelFields({ [world.boardId]: 'read' }),
    };
    expect((await victim.post(page, fields)).status).toBe(404);
    // Since the second authorization request, the browser has had no valid cookie for the first authorization request.
    const later = await program.ask(visitor);
    expect([(await visitor.get(later)).status, (await visitor.get(page)).status]).toEqual([200, 404]);
    // A browser with a forged cookie cannot open the consent page of another browser.
    victim.cookies.set('idea_board_oauth_interaction', later.split('/').at(-1) ?? '');
    expect((await victim.get(later)).status).toBe(404);
    const answer = await visitor.submit(later, later, {
      ...levelFields({ [world.boardId]: 'read' }),
      decision: 'connect',
    });
    const resume = new URL(answer.location ?? '').pathname;
    const stolen = await victim.get(resume);
    expect([stolen.status, stolen.location]).toEqual([400, null]);
    expect(stolen.html).toContain('The program cannot be connected');
    await finish(visitor, answer);
  });

  test('another website cannot submit the consent form', async () => {
    const page = await program.ask(visitor);
    const { html } = await visitor.get(page);
    const fields = { ...hiddenFields(html, page), ...levelFields({ [world.boardId]: 'read' }), decision: 'connect' };
    const elsewhere = { headers: { origin: 'https://evil.example' } };
    expect((await visitor.post(page, fields, elsewhere)).status).toBe(403);
    expect((await visitor.post(page, { ...fields, form_token: '' })).status).toBe(403);
    expect((await visitor.get(page)).status).toBe(200);
  });

  test('a request to the REST API with an OAuth access token gets 401', async () => {
    const { access_token: token } = await program.connect(visitor, { [world.boardId]: 'moderate' });
    for (const line of ['GET /api/v1/ideas', 'GET /api/v1/token', 'POST /api/v1/ideas']) {
      expect((await request(server, line, { token })).status).toBe(401);
    }
    expect((await callTool(server, token)).status).toBe(200);
  });
});
