import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type Bucket, buckets } from '../../contract/limits.ts';
import { testClock } from '../helpers/clock.ts';
import { createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { type Answer, type RequestOptions, request } from '../helpers/request.ts';
import { startServer, type TestServer } from '../helpers/server.ts';

const start = '2026-03-14T09:26:15.000Z';
/**
 * The number of seconds from `start` until a rate limit resets. The read limit resets at the end of the minute, and the
 * write limit at the end of the hour.
 */
const readReset = 45;
const writeReset = 33 * 60 + 45;

const clock = testClock(start);

let server: TestServer;
let world: World;
let ideaId: number;
let token: string;
let tokenId: number;

beforeAll(async () => {
  const { 'apitoken:read': read, 'apitoken:write': write } = buckets;
  server = await startServer({
    clock,
    environment: { RATE_LIMIT_READ: String(read.limit), RATE_LIMIT_WRITE: String(write.limit) },
  });
  world = await createWorld(server);
  ideaId = await insertIdea(server, world);
});
beforeEach(async () => {
  clock.set(start);
  ({ token, id: tokenId } = await issueToken(server, world, 'moderate'));
});
afterAll(() => server.close());

/** Starts another server on the same database. By default, it has the same settings. */
async function startReplica(environment: Record<string, string> = {}): Promise<TestServer> {
  const replica = await startServer({
    clock,
    on: server,
    environment: { RATE_LIMIT_READ: '120', RATE_LIMIT_WRITE: '20', ...environment },
  });
  onTestFinished(() => replica.close());
  return replica;
}

const read = (on: TestServer = server, options: RequestOptions = {}) =>
  request(on, `GET /api/v1/ideas/${ideaId}`, { token, ...options });
const vote = (on: TestServer = server, options: RequestOptions = {}) =>
  request(on, `POST /api/v1/ideas/${ideaId}/vote`, { token, json: { value: 'up' }, ...options });

async function countOf(key: string): Promise<number> {
  const [row] = await server.sql<{ count: number }>('select count from rate_limits where key = $1', [key]);
  return row?.count ?? 0;
}

async function setCount(bucket: Bucket, count: number) {
  const windowMs = buckets[bucket].windowSeconds * 1000;
  const opened = new Date(Math.floor(clock.now().getTime() / windowMs) * windowMs);
  await server.sql(
    `insert into rate_limits (key, window_started_at, expires_at, count) values ($1, $2, $3, $4)
    on conflict (key) do update set count = excluded.count`,
    [`${bucket}:${tokenId}`, opened, new Date(opened.getTime() + windowMs), count],
  );
}

const limitHeaders = ({ headers }: Answer) => ({
  policy: headers.get('ratelimit-policy'),
  state: headers.get('ratelimit'),
  limit: headers.get('x-ratelimit-limit'),
  remaining: headers.get('x-ratelimit-remaining'),
  reset: headers.get('x-ratelimit-reset'),
  retryAfter: headers.get('retry-after'),
});

const expected = (bucket: Bucket, remaining: number, reset: number, retryAfter: number | null = null) => ({
  policy: `"${bucket}";q=${buckets[bucket].limit};w=${buckets[bucket].windowSeconds}`,
  state: `"${bucket}";r=${remaining};t=${reset}`,
  limit: String(buckets[bucket].limit),
  remaining: String(remaining),
  reset: String(reset),
  retryAfter: retryAfter === null ? null : String(retryAfter),
});

describe('the rate limits of a token', () => {
  test('exactly 120 of 500 parallel reads of a token succeed if its read limit is 120', async () => {
    const answers = await Promise.all([...Array(500)].map(() => read()));
    const statuses = Map.groupBy(answers, ({ status }) => status);
    expect([...statuses].map(([status, { length }]) => [status, length]).sort()).toEqual([
      [200, 120],
      [429, 380],
    ]);
    // Each successful answer must report a different number of remaining requests, from 119 to 0.
    const remainders = statuses.get(200)?.map(({ headers }) => Number(headers.get('x-ratelimit-remaining')));
    expect(remainders?.sort((a, b) => a - b)).toEqual([...Array(120).keys()]);
    for (const answer of statuses.get(429) ?? []) {
      expect(answer.key).toBe('rate_limited');
      expect(limitHeaders(answer)).toEqual(expected('apitoken:read', 0, readReset, readReset));
    }
    expect(await countOf(`apitoken:read:${tokenId}`)).toBe(500);
  });

  test("exactly 20 of 60 parallel writes of a token succeed if the token's write limit is 20, and the other requests write nothing", async () => {
    const create = (n: number) =>
      request(server, 'POST /api/v1/ideas', { token, json: { title: `Parallel ${n}`, body: 'One of many.' } });
    const answers = await Promise.all([...Array(60).keys()].map(create));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(20);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(40);
    expect(await server.sql(`select from ideas where title like 'Parallel%'`)).toHaveLength(20);
  });

  test('each token has its own rate limit', async () => {
    await setCount('apitoken:read', 120);
    expect((await read()).status).toBe(429);
    const other = await issueToken(server, world, 'read');
    const answer = await read(server, { token: other.token });
    expect(limitHeaders(answer)).toEqual(expected('apitoken:read', 119, readReset));
  });

  test('the reads and the writes of a token have separate rate limits', async () => {
    await setCount('apitoken:read', 120);
    expect((await read()).status).toBe(429);
    expect(limitHeaders(await vote())).toEqual(expected('apitoken:write', 19, writeReset));
    await setCount('apitoken:write', 20);
    await setCount('apitoken:read', 0);
    expect(limitHeaders(await vote())).toEqual(expected('apitoken:write', 0, writeReset, writeReset));
    expect(limitHeaders(await read())).toEqual(expected('apitoken:read', 119, readReset));
  });

  test('the different read operations of a token share one rate limit, and its different write operations share another', async () => {
    for (const line of ['board', 'ideas', `ideas/${ideaId}`, `ideas/${ideaId}/comments`]) {
      await request(server, `GET /api/v1/${line}`, { token });
    }
    expect(await countOf(`apitoken:read:${tokenId}`)).toBe(4);
    const { status } = await request(server, `POST /api/v1/ideas/${ideaId}/unmerge`, { token });
    expect(status).toBe(200);
    await vote();
    expect(await countOf(`apitoken:write:${tokenId}`)).toBe(2);
  });

  test('the read limit of a token resets exactly at the start of each minute', async () => {
    clock.set('2026-03-14T09:26:00.000Z');
    expect(limitHeaders(await read())).toEqual(expected('apitoken:read', 119, 60));
    clock.set('2026-03-14T09:26:00.001Z');
    expect(limitHeaders(await read())).toEqual(expected('apitoken:read', 118, 60));
    await setCount('apitoken:read', 120);
    clock.set('2026-03-14T09:26:59.999Z');
    const last = await read();
    expect(last.status).toBe(429);
    expect(limitHeaders(last)).toEqual(expected('apitoken:read', 0, 1, 1));
    clock.set('2026-03-14T09:27:00.000Z');
    expect(limitHeaders(await read())).toEqual(expected('apitoken:read', 119, 60));
  });

  test('the write limit of a token resets at the start of each hour', async () => {
    await setCount('apitoken:write', 20);
    clock.set('2026-03-14T09:59:59.999Z');
    expect(limitHeaders(await vote())).toEqual(expected('apitoken:write', 0, 1, 1));
    clock.set('2026-03-14T10:00:00.000Z');
    expect(limitHeaders(await vote())).toEqual(expected('apitoken:write', 19, 3600));
  });

  test("the rate limit of a token does not reset if the server's clock is set back to the previous minute", async () => {
    clock.set('2026-03-14T09:27:00.000Z');
    await read();
    clock.set('2026-03-14T09:26:59.000Z');
    await read();
    expect(await countOf(`apitoken:read:${tokenId}`)).toBe(2);
  });

  test('two servers on one database share the rate limits of a token', async () => {
    const replica = await startReplica();
    const answers = await Promise.all([...Array(200)].map((_, n) => read(n % 2 ? server : replica)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(120);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(80);
  });

  test('the settings RATE_LIMIT_READ and RATE_LIMIT_WRITE define the rate limits of a token, and the value 0 allows no request', async () => {
    const strict = await startReplica({ RATE_LIMIT_READ: '2', RATE_LIMIT_WRITE: '0' });
    expect((await vote(strict)).status).toBe(429);
    expect([(await read(strict)).status, (await read(strict)).status, (await read(strict)).status]).toEqual([
      200, 200, 429,
    ]);
    expect((await read(strict)).headers.get('ratelimit-policy')).toBe('"apitoken:read";q=2;w=60');
  });
});

describe('requests that count against the rate limit', () => {
  const charged = async (bucket: Bucket, work: () => Promise<unknown>) => {
    const before = await countOf(`${bucket}:${tokenId}`);
    await work();
    return (await countOf(`${bucket}:${tokenId}`)) - before;
  };

  test.each([
    ['404 for a missing idea', 'GET /api/v1/ideas/999999999', 404],
    ['422 for an invalid parameter', 'GET /api/v1/ideas?sort=oldest', 422],
    ['403 for a board without a grant', 'GET /api/v1/board?board=other', 403],
    ['404 for an invalid id', 'GET /api/v1/ideas/first', 404],
    ['an answer without a body', 'HEAD /api/v1/board', 200],
  ])("a read request counts against the token's rate limit even if the answer is %s", async (_, line, status) => {
    let answer: Answer | undefined;
    const count = await charged('apitoken:read', async () => {
      answer = await request(server, line, { token });
    });
    expect(count).toBe(1);
    expect(answer?.status).toBe(status);
    expect(limitHeaders(answer as Answer)).toEqual(expected('apitoken:read', 119, readReset));
  });

  test.each([
    ['400 for malformed JSON', { raw: '{', headers: { 'content-type': 'application/json' } }, 400],
    ['415 for a wrong content type', { raw: 'up', headers: { 'content-type': 'text/plain' } }, 415],
    ['413 for a body that is too large', { json: { value: 'x'.repeat(70_000) } }, 413],
    ['422 for an invalid field', { json: { value: 'sideways' } }, 422],
  ] as [string, RequestOptions, number][])(
    "a write request counts against the token's rate limit even if the answer is %s",
    async (_, options, status) => {
      let answer: Answer | undefined;
      const count = await charged('apitoken:write', async () => {
        answer = await request(server, `POST /api/v1/ideas/${ideaId}/vote`, { token, ...options });
      });
      expect(count).toBe(1);
      expect(answer?.status).toBe(status);
      expect(limitHeaders(answer as Answer)).toEqual(expected('apitoken:write', 19, writeReset));
    },
  );

  test("a request that gets 423 counts against the token's rate limit", async () => {
    await server.sql('update boards set is_frozen = true where id = $1', [world.boardId]);
    let answer: Answer | undefined;
    const count = await charged('apitoken:write', async () => {
      answer = await vote();
    });
    expect([count, answer?.status]).toEqual([1, 423]);
    await server.sql('update boards set is_frozen = false where id = $1', [world.boardId]);
  });

  test("a request that exceeds a token's rate limit and gets 429 still counts against this limit", async () => {
    await setCount('apitoken:read', 120);
    expect(await charged('apitoken:read', () => read())).toBe(1);
  });

  test("a request that gets 304 does not count against the token's rate limit, and the rate limit headers of its answer show this", async () => {
    const first = await read();
    const headers = { 'if-none-match': first.headers.get('etag') ?? '' };
    let answer: Answer | undefined;
    expect(
      await charged('apitoken:read', async () => {
        answer = await read(server, { headers });
      }),
    ).toBe(0);
    expect(answer?.status).toBe(304);
    expect(limitHeaders(answer as Answer)).toEqual(expected('apitoken:read', 119, readReset));
  });

  test('after several requests that get 304, a token can still use the last request that its rate limit allows', async () => {
    const headers = { 'if-none-match': (await read()).headers.get('etag') ?? '' };
    await setCount('apitoken:read', 119);
    for (let n = 0; n < 3; n++) expect((await read(server, { headers })).status).toBe(304);
    expect((await read()).status).toBe(200);
    // The token has used up its rate limit. So even this conditional request gets 429. Otherwise, the server would
    // answer it with 304.
    expect((await read(server, { headers })).status).toBe(429);
  });

  test("a repeated request with an Idempotency-Key does not count against the token's rate limit, and the rate limit headers of its answer show this", async () => {
    const headers = { 'idempotency-key': 'once' };
    expect(limitHeaders(await vote(server, { headers }))).toEqual(expected('apitoken:write', 19, writeReset));
    let answer: Answer | undefined;
    expect(
      await charged('apitoken:write', async () => {
        answer = await vote(server, { headers });
      }),
    ).toBe(0);
    expect(answer?.headers.get('idempotency-replayed')).toBe('true');
    expect(limitHeaders(answer as Answer)).toEqual(expected('apitoken:write', 19, writeReset));
    await setCount('apitoken:write', 20);
    expect((await vote(server, { headers })).status).toBe(200);
  });

  test('after the rate limit is exceeded, an answer other than 429 shows no remaining requests and has no Retry-After', async () => {
    const headers = { 'idempotency-key': 'exceeded' };
    await vote(server, { headers });
    await setCount('apitoken:write', 25);
    await setCount('apitoken:read', 125);
    const replay = await vote(server, { headers });
    const self = await request(server, 'GET /api/v1/token', { token });
    expect([replay.status, self.status]).toEqual([200, 200]);
    expect(limitHeaders(replay)).toEqual(expected('apitoken:write', 0, writeReset));
    expect(limitHeaders(self)).toEqual(expected('apitoken:read', 0, readReset));
  });

  test('every response of an operation that accepts the token and its network shows the rate limit of the token, and no other response shows it', async () => {
    const nameIn = ({ headers }: Answer) => headers.get('ratelimit')?.split(';')[0];
    const accepted: [string, number][] = [
      ['GET /api/v1/token', 200],
      ['GET /api/v1/board?board=another', 403],
      ['GET /api/v1/ideas?sort=oldest', 422],
      ['GET /api/v1/ideas/999999999', 404],
      ['GET /api/v1/ideas/none', 404],
    ];
    for (const [line, status] of accepted) {
      const answer = await request(server, line, { token });
      expect([line, answer.status, nameIn(answer)]).toEqual([line, status, '"apitoken:read"']);
    }
    const others: [string, number][] = [
      ['GET /api/v1/nothing', 404],
      ['DELETE /api/v1/board', 405],
    ];
    for (const [line, status] of others) {
      const answer = await request(server, line, { token });
      expect([line, answer.status, nameIn(answer)]).toEqual([line, status, undefined]);
    }
    await server.sql(`update api_tokens set allowed_networks = '{192.0.2.0/24}' where id = $1`, [tokenId]);
    const elsewhere = await read();
    expect([elsewhere.key, nameIn(elsewhere)]).toEqual(['network_not_allowed', undefined]);
  });

  test("a response of GET /api/v1/token shows the token's read and write limits, even exhausted limits, and the request counts against neither limit", async () => {
    const self = () => request(server, 'GET /api/v1/token', { token });
    const state = (bucket: Bucket, remaining: number, reset: number) => ({
      limit: buckets[bucket].limit,
      remaining,
      reset,
    });
    const fresh = await self();
    expect(fresh.body.buckets).toEqual({
      'apitoken:read': state('apitoken:read', 120, readReset),
      'apitoken:write': state('apitoken:write', 20, writeReset),
    });
    expect(limitHeaders(fresh)).toEqual(expected('apitoken:read', 120, readReset));
    await read();
    await vote();
    await vote();
    expect((await self()).body.buckets).toMatchObject({
      'apitoken:read': { remaining: 119 },
      'apitoken:write': { remaining: 18 },
    });
    await setCount('apitoken:read', 500);
    await setCount('apitoken:write', 21);
    const empty = await self();
    expect(empty.status).toBe(200);
    expect(empty.body.buckets).toMatchObject({ 'apitoken:read': { remaining: 0 }, 'apitoken:write': { remaining: 0 } });
    expect(await countOf(`apitoken:read:${tokenId}`)).toBe(500);
    // The requests of the previous minute do not count against the rate limit of the new minute.
    clock.set('2026-03-14T09:27:00.000Z');
    expect((await self()).body.buckets['apitoken:read']).toEqual(state('apitoken:read', 120, 60));
  });
});

describe('the rate limit of an IP address', () => {
  let strict: TestServer;

  beforeEach(async () => {
    await forget();
    strict = await startReplica({ RATE_LIMIT_IP: '3' });
  });

  const forget = () => server.sql(`delete from rate_limits where key like 'ip:%'`);
  const guarded: [string, number][] = [
    ['GET /api/v1/board', 401],
    ['GET /api/v1/token', 401],
    ['POST /api/v1/ideas', 401],
    ['GET /ready', 503],
    ['GET /docs/', 200],
    ['GET /api/v1/openapi.json', 200],
    ['GET /no/such/path', 404],
    ['DELETE /api/v1/board', 405],
    ['HEAD /api/v1/board', 401],
    ['GET /api/v1/ideas/%zz', 404],
    [`GET /api/v1/ideas/${'1'.repeat(200)}`, 401],
  ];

  test.each(guarded)('the rate limit of an IP address applies to the request %s', async (line, status) => {
    for (let n = 0; n < 3; n++) expect((await request(strict, line)).status).toBe(status);
    const refused = await request(strict, line);
    expect(refused.status).toBe(429);
    const isJson = refused.headers.get('content-type')?.startsWith('application/json');
    // Among the tested paths, only /docs/ answers 429 with an HTML page. The other paths answer with JSON.
    expect(isJson).toBe(line !== 'GET /docs/');
    if (isJson && !line.startsWith('HEAD')) expect(refused.key).toBe('rate_limited');
    expect(limitHeaders(refused)).toEqual({
      policy: '"ip";q=3;w=60',
      state: `"ip";r=0;t=${readReset}`,
      limit: '3',
      remaining: '0',
      reset: String(readReset),
      retryAfter: String(readReset),
    });
    expect(await countOf('ip:127.0.0.1')).toBe(4);
  });

  test("a request with a valid token gets 429 if the request exceeds the rate limit of the client's IP address", async () => {
    for (let n = 0; n < 3; n++) expect((await read(strict)).status).toBe(200);
    expect(await countOf(`apitoken:read:${tokenId}`)).toBe(3);
    expect(await read(strict)).toMatchObject({ status: 429, key: 'rate_limited' });
    expect(await vote(strict)).toMatchObject({ status: 429, key: 'rate_limited' });
  });

  test("a request to /health does not count against the rate limit of the client's IP address", async () => {
    for (let n = 0; n < 10; n++) expect((await request(strict, 'GET /health')).status).toBe(200);
    expect(await countOf('ip:127.0.0.1')).toBe(0);
    for (let n = 0; n < 4; n++) await request(strict, 'GET /nothing');
    expect((await request(strict, 'GET /health')).status).toBe(200);
  });

  test('requests to different paths share the rate limit of an IP address, and this limit resets at the start of each minute', async () => {
    for (const line of ['GET /nothing', 'GET /api/v1/board', 'GET /ready']) await request(strict, line);
    expect((await request(strict, 'GET /api/v1/openapi.json')).status).toBe(429);
    clock.set('2026-03-14T09:27:00.000Z');
    expect((await request(strict, 'GET /api/v1/openapi.json')).status).toBe(200);
  });

  test('if one IP address sends 50 parallel requests, exactly the requests beyond the rate limit get 429', async () => {
    const answers = await Promise.all([...Array(50)].map(() => request(strict, 'GET /nothing')));
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(3);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(47);
  });

  const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });

  test('the rate limit of an IP address ignores X-Forwarded-For by default', async () => {
    for (const address of ['203.0.113.1', '203.0.113.2', '203.0.113.3']) {
      expect((await request(strict, 'GET /nothing', from(address))).status).toBe(404);
    }
    expect((await request(strict, 'GET /nothing', from('203.0.113.4'))).status).toBe(429);
    expect(await keysOfAddresses()).toEqual(['ip:127.0.0.1']);
  });

  test('the rate limit of an IP address ignores X-Forwarded-For if the sender is not a trusted proxy', async () => {
    const server = await startReplica({ RATE_LIMIT_IP: '3', TRUST_PROXY: '10.0.0.0/8, 192.0.2.1' });
    await request(server, 'GET /nothing', from('203.0.113.1'));
    expect(await keysOfAddresses()).toEqual(['ip:127.0.0.1']);
  });

  test('if a request comes through trusted proxies, the rate limit applies to the last IP address in X-Forwarded-For that is not a trusted proxy', async () => {
    const proxied = await startReplica({ RATE_LIMIT_IP: '1', TRUST_PROXY: '127.0.0.1,10.0.0.0/8' });
    for (const address of ['203.0.113.1', '203.0.113.2', 'made-up, 203.0.113.3, 10.0.0.7']) {
      expect((await request(proxied, 'GET /nothing', from(address))).status).toBe(404);
    }
    expect((await request(proxied, 'GET /nothing', from('198.51.100.9, 203.0.113.1'))).status).toBe(429);
    expect(await keysOfAddresses()).toEqual(['ip:203.0.113.1', 'ip:203.0.113.2', 'ip:203.0.113.3']);
  });

  test('an IPv6 /64 network shares one rate limit, and an IPv4-mapped IPv6 address shares the limit of the IPv4 address', async () => {
    const proxied = await startReplica({ TRUST_PROXY: 'true' });
    const counted = async (...addresses: string[]) => {
      await forget();
      for (const address of addresses) await request(proxied, 'GET /nothing', from(address));
      return keysOfAddresses();
    };
    expect(await counted('2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:DB8:1:2::')).toHaveLength(1);
    expect(await counted('2001:db8:1:2::1', '2001:db8:1:3::1')).toHaveLength(2);
    expect(await counted('2001:db8::1', '2001:db8:0:0:1::', '2001:0db8:0000:0000::5')).toHaveLength(1);
    expect(await counted('::1', '::2')).toHaveLength(1);
    expect(await counted('fe80::1', 'fe80::2')).toHaveLength(1);
    expect(await counted('::ffff:203.0.113.1', '203.0.113.1')).toEqual(['ip:203.0.113.1']);
  });
});

async function keysOfAddresses(): Promise<string[]> {
  const rows = await server.sql<{ key: string }>(`select key from rate_limits where key like 'ip:%' order by key`);
  return rows.map(({ key }) => key);
}

test('the rate limit counters of tokens and IP addresses have keys in the form <bucket>:<identity> and expire with their rate limit window', async () => {
  await read();
  await vote();
  const rows = await server.sql<{ key: string }>(
    `select key, extract(epoch from expires_at - window_started_at)::int as seconds, count from rate_limits
    where key like $1 or key = 'ip:127.0.0.1' order by key`,
    [`%:${tokenId}`],
  );
  expect(rows).toEqual([
    { key: `apitoken:read:${tokenId}`, seconds: 60, count: 1 },
    { key: `apitoken:write:${tokenId}`, seconds: 3600, count: 1 },
    { key: 'ip:127.0.0.1', seconds: 60, count: expect.any(Number) },
  ]);
  const all = await server.sql<{ key: string }>('select key from rate_limits');
  for (const { key } of all) expect(key).toMatch(/^(ip:[0-9a-f.:/]+|apitoken:(read|write):\d+)$/);
});
