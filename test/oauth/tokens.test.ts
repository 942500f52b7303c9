import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { signedIn, Visitor } from '../admin/visitor.ts';
import { readAudit } from '../helpers/audit.ts';
import { testClock } from '../helpers/clock.ts';
import { createMember, createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { closeAfterAll } from '../helpers/for-file.ts';
import { startPublicServer } from '../helpers/public-server.ts';
import { startServerForTest } from '../helpers/server.ts';
import { callTool, finish, levelFields, Program, type Tokens } from './program.ts';

const server = closeAfterAll(await startPublicServer({ environment: { RATE_LIMIT_OAUTH_CLIENT: '1000' } }));
const world = await createWorld(server);
const visitor = await signedIn(server, world.ownerId);
const program = await Program.register(server);

const hash = (text: string) => createHash('sha256').update(text).digest();
const connect = (grant: 'read' | 'write' | 'moderate' = 'write') =>
  program.connect(visitor, { [world.boardId]: grant });
const statusOf = async (tokens: Tokens) => (await callTool(server, tokens.access_token)).status;
const tokenIdOf = async (tokens: Tokens) =>
  (
    await server.sql<{ token_id: number }>('select token_id from oauth_records where id_hash = $1', [
      hash(tokens.access_token),
    ])
  )[0]?.token_id;
const lastAudit = (count: number) => readAudit(server.auditLines.slice(-count));

describe('an access token', () => {
  test('an OAuth access token expires after an hour, and the database contains only the hash of the token', async () => {
    const { searchParams } = await program.consent(visitor, { [world.boardId]: 'read' });
    const code = searchParams.get('code') ?? '';
    const { body, headers } = await program.redeem(code);
    expect(body).toEqual({
      access_token: expect.stringMatching(/^iba_[\w-]{43}$/),
      refresh_token: expect.stringMatching(/^ibr_[\w-]{43}$/),
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'mcp',
    });
    expect(headers.get('cache-control')).toBe('no-store');
    const rows = await server.sql<{ text: string }>('select r::text as text from oauth_records r');
    const all = rows.map(({ text }) => text).join('\n');
    for (const secret of [code, body.access_token, body.refresh_token, program.verifier]) {
      expect(all).not.toContain(secret);
      expect(all).not.toContain(secret.slice(4));
      expect(server.logLines.join('') + server.auditLines.join('')).not.toContain(secret.slice(4));
    }
    const [row] = await server.sql<{ seconds: number; aud: string }>(
      `select extract(epoch from expires_at - created_at)::int as seconds, payload ->> 'aud' as aud
      from oauth_records where model = 'AccessToken' and id_hash = $1`,
      [hash(body.access_token)],
    );
    expect(row).toEqual({ seconds: 3600, aud: program.audience });

    expect(await statusOf(body)).toBe(200);
    await server.sql(`update oauth_records set expires_at = now() - interval '1 second' where id_hash = $1`, [
      hash(body.access_token),
    ]);
    const answer = await callTool(server, body.access_token);
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toContain('error="invalid_token"');
  });

  test('an OAuth access token that was issued for another resource server gets 401', async () => {
    const tokens = await connect();
    await server.sql(
      `update oauth_records set payload = jsonb_set(payload, '{aud}', '"https://elsewhere.example/api/v1/mcp"') where id_hash = $1`,
      [hash(tokens.access_token)],
    );
    expect(await statusOf(tokens)).toBe(401);
  });

  test("a tool call with an OAuth access token can cast a vote, counts against the token's write limit, and updates the token's last use", async () => {
    const ideaId = await insertIdea(server, world);
    const tokens = await connect();
    const tokenId = await tokenIdOf(tokens);
    const answer = await callTool(server, tokens.access_token, 'vote_idea', { id: ideaId, value: 'up' });
    expect(answer.body.result.structuredContent).toMatchObject({ score: 1, my_vote: 'up' });
    expect(answer.headers.get('ratelimit')).toMatch(/^"apitoken:write";r=999999;/);
    const [counter] = await server.sql('select count from rate_limits where key = $1', [`apitoken:write:${tokenId}`]);
    expect(counter).toEqual({ count: 1 });
    // The vote with the new access token replaces the earlier vote, because all access tokens of one OAuth grant count
    // as one voter.
    const { body: next } = await program.refresh(tokens.refresh_token);
    const again = await callTool(server, next.access_token, 'vote_idea', { id: ideaId, value: 'down' });
    expect(again.body.result.structuredContent).toMatchObject({ score: -1, up_count: 0, down_count: 1 });
    const [token] = await server.sql<{ last_used_at: string }>('select last_used_at from api_tokens where id = $1', [
      tokenId,
    ]);
    expect(token?.last_used_at).not.toBeNull();
  });
});

test("parallel tool calls with a valid token count against the token's rate limit, and calls with an invalid token count against no token's limit", async () => {
  const { access_token: access } = await connect('read');
  const [row] = await server.sql<{ token_id: number }>('select token_id from oauth_records where id_hash = $1', [
    hash(access),
  ]);
  const api = await issueToken(server, world, 'read');
  const bearers = [
    access,
    api.token,
    `iba_${'x'.repeat(43)}`,
    `${api.token.slice(0, -1)}_`,
    'nothing',
    access.slice(4),
  ];
  const calls = bearers.flatMap(bearer => Array.from({ length: 6 }, () => bearer));
  // Uses a clock that does not advance, so that the rate limit window of a minute does not end during the test.
  const own = await startServerForTest({
    on: server,
    clock: testClock(),
    environment: { BASE_URL: server.config.BASE_URL },
  });
  const statuses = await Promise.all(calls.map(async bearer => [bearer, (await callTool(own, bearer)).status]));
  expect(statuses).toEqual(calls.map(bearer => [bearer, bearer === access || bearer === api.token ? 200 : 401]));
  const counts = await server.sql<{ count: number }>('select count from rate_limits where key = any ($1)', [
    [`apitoken:read:${row?.token_id}`, `apitoken:read:${api.id}`],
  ]);
  expect(counts).toEqual([{ count: 6 }, { count: 6 }]);
});

describe('the end of an OAuth grant', () => {
  let userId: number;
  let own: World;
  let tokens: Tokens;

  const connectOwn = async () => {
    own = await createWorld(server);
    userId = await createMember(server, own.accountId, 'admin');
    tokens = await program.connect(await signedIn(server, userId), { [own.boardId]: 'moderate' });
    expect(await statusOf(tokens)).toBe(200);
  };
  const refresh = async () => {
    const answer = await program.refresh(tokens.refresh_token);
    return answer.body.error ?? answer.status;
  };

  test.each([
    ['the revocation of the token', 'update api_tokens set revoked_at = now() where issuer_id = $1'],
    [
      'the erasure of the account',
      `update accounts a set deletion_scheduled_at = now(), erasure_began_at = now() from api_tokens t where t.issuer_id = $1 and a.id = t.account_id`,
    ],
    [
      'the erasure of the user',
      'update users set deletion_requested_at = now(), erasure_began_at = now() where id = $1',
    ],
  ])(
    "after %s, the OAuth client's next tool call gets 401, and the client's token refresh fails",
    async (_, statement) => {
      await connectOwn();
      await server.sql(statement, [userId]);
      expect([await statusOf(tokens), await refresh()]).toEqual([401, 'invalid_grant']);
    },
  );
});

describe('an authorization code', () => {
  const codeOf = async () =>
    (await program.consent(visitor, { [world.boardId]: 'read' })).searchParams.get('code') ?? '';

  test.each([
    ['without the PKCE verifier', { code_verifier: undefined }],
    ['with another PKCE verifier', { code_verifier: 'x'.repeat(43) }],
    ['with an empty PKCE verifier', { code_verifier: '' }],
    ['for another redirect URI', { redirect_uri: 'http://127.0.0.1:33418/elsewhere' }],
    ['for another resource server', { resource: 'https://elsewhere.example/api/v1/mcp' }],
  ])('an OAuth authorization code cannot be used %s', async (_, fields: Record<string, string | undefined>) => {
    const code = await codeOf();
    const answer = await program.redeem(code, fields);
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatch(/^invalid_(grant|target)$/);
    expect(answer.body.access_token).toBeUndefined();
    // The authorization code stays valid, so a correct request can still use it.
    expect((await program.redeem(code)).status).toBe(200);
  });

  test('an authorization code that the server issued to one OAuth client cannot be exchanged for tokens by another client', async () => {
    const thief = await Program.register(server);
    const answer = await thief.redeem(await codeOf(), { code_verifier: program.verifier });
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_grant']);
  });

  test('the second use of an OAuth authorization code is refused and ends the OAuth grant', async () => {
    const code = await codeOf();
    const { body: tokens } = await program.redeem(code);
    const tokenId = await tokenIdOf(tokens);
    const again = await program.redeem(code);
    expect([again.status, again.body.error]).toEqual([400, 'invalid_grant']);
    expect(await statusOf(tokens)).toBe(401);
    expect((await program.refresh(tokens.refresh_token)).body.error).toBe('invalid_grant');
    const audit = readAudit(server.auditLines).filter(line => line.token_id === tokenId);
    expect(audit).toMatchObject([
      { event: 'token.created' },
      { event: 'token.revoked', by: 'server' },
      { event: 'oauth.grant_ended', reason: 'code_reused', account_id: world.accountId },
    ]);
  });

  test('at most one of several parallel token requests with one authorization code succeeds', async () => {
    const code = await codeOf();
    const answers = await Promise.all(Array.from({ length: 8 }, () => program.redeem(code)));
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
    expect(new Set(answers.filter(({ status }) => status !== 200).map(({ body }) => body.error))).toEqual(
      new Set(['invalid_grant']),
    );
  });

  test('the server refuses authorization codes, refresh tokens and authorization requests as soon as they expire', async () => {
    const expire = (model: string) =>
      server.sql(
        `update oauth_records set expires_at = date_trunc('milliseconds', now()) where model = $1 and expires_at > now()`,
        [model],
      );
    const tokens = await connect();
    const [code, page] = [await codeOf(), await program.ask(visitor)];
    for (const model of ['AuthorizationCode', 'RefreshToken', 'Interaction']) await expire(model);
    for (const answer of [await program.redeem(code), await program.refresh(tokens.refresh_token)]) {
      expect([answer.status, answer.body.error]).toEqual([400, 'invalid_grant']);
    }
    expect((await visitor.get(page)).status).toBe(404);
    // The use of an expired authorization code or refresh token does not count as reuse, so the OAuth grant stays
    // valid.
    expect(await statusOf(tokens)).toBe(200);
  });

  test('an OAuth grant expires after five minutes if the client does not exchange the authorization code for tokens', async () => {
    await codeOf();
    const [token] = await server.sql<{ minutes: number }>(
      `select extract(epoch from expires_at - created_at)::int / 60 as minutes from api_tokens order by id desc limit 1`,
    );
    expect(token).toEqual({ minutes: 5 });
  });
});

describe('a revocation by the OAuth client', () => {
  test.each(['access_token', 'refresh_token'] as const)(
    'if an OAuth client revokes its %s, the OAuth grant ends',
    async name => {
      const tokens = await connect();
      const tokenId = await tokenIdOf(tokens);
      const answer = await program.revoke(tokens[name]);
      expect([answer.status, answer.text]).toEqual([200, '']);
      expect([await statusOf(tokens), (await program.refresh(tokens.refresh_token)).status]).toEqual([401, 400]);
      const [row] = await server.sql<{ revoked_at: string | null }>('select revoked_at from api_tokens where id = $1', [
        tokenId,
      ]);
      expect(row?.revoked_at).not.toBeNull();
      const ended = readAudit(server.auditLines).filter(
        line => line.token_id === tokenId && line.event !== 'token.created',
      );
      expect(ended.slice(0, 2)).toMatchObject([
        { event: 'token.revoked', by: 'server' },
        { event: 'oauth.grant_ended', reason: 'revoked_by_client' },
      ]);
    },
  );

  test("an OAuth client cannot revoke another client's tokens, and the answer to the attempt does not reveal which tokens exist", async () => {
    const tokens = await connect();
    const other = await Program.register(server);
    for (const token of [tokens.access_token, tokens.refresh_token, `iba_${'x'.repeat(43)}`]) {
      const answer = await other.revoke(token);
      expect([answer.status, answer.text]).toEqual([200, '']);
    }
    expect(await statusOf(tokens)).toBe(200);
    expect(lastAudit(1)[0]?.event).not.toBe('oauth.grant_ended');
  });
});

test("two servers on the same database accept each other's authorization codes and tokens", async () => {
  const other = await startServerForTest({ on: server, environment: { BASE_URL: server.config.BASE_URL } });
  const there = new Program({ ...server, baseUrl: other.baseUrl }, program.clientId);
  const atOther = new Visitor(other);
  const goTo = (to: Visitor, from: Visitor) => {
    for (const [name, value] of from.cookies) to.cookies.set(name, value);
  };
  // The requests go alternately to the two servers, as with a load balancer.
  const page = await program.ask(visitor);
  goTo(atOther, visitor);
  const answer = await atOther.submit(page, page, { ...levelFields({ [world.boardId]: 'read' }), decision: 'connect' });
  goTo(visitor, atOther);
  const { searchParams } = await finish(visitor, answer);
  const { body: tokens } = await there.redeem(searchParams.get('code') ?? '', { code_verifier: program.verifier });
  expect((await callTool(other, tokens.access_token)).status).toBe(200);
  expect((await callTool(server, tokens.access_token)).status).toBe(200);
  const { body: next } = await program.refresh(tokens.refresh_token);
  expect((await there.refresh(next.refresh_token)).status).toBe(200);
  expect((await there.refresh(tokens.refresh_token)).body.error).toBe('invalid_grant');
  expect((await callTool(server, next.access_token)).status).toBe(401);
});
