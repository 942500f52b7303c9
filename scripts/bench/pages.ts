import { createHash, randomBytes } from 'node:crypto';
import type pg from 'pg';
import { quantile, shuffle } from 'simple-statistics';
import { type RunningServer, startServer } from './api.ts';
import { formatTable } from './format-table.ts';
import { seed } from './seed.ts';
import { note, type Stage } from './stage.ts';

/** The maximum transferred size of a page, in bytes. */
const maxBytes = 30_000;
/** The maximum median response time of a board's pages, in milliseconds. On a slower machine, this limit is higher. */
const boardMs = 5;
/**
 * The maximum median response time of the admin area, the operator's panel and the search for similar ideas, in
 * milliseconds. On a slower machine, this limit is higher.
 */
const panelMs = 20;
/**
 * The limits are for a machine on which the floor answers a list in this time: the median in milliseconds. The same page
 * took 2 ms in one hour and 6 ms in another hour of the same virtual machine. So the benchmark measures the floor too,
 * and raises the limits on a slower machine in proportion.
 */
const referenceFloorMs = 0.9;
/**
 * The benchmark measures the floor once in this number of turns. The page after the floor takes longer than usual.
 */
const turnsBetweenLists = 25;
/** The number of lists that the benchmark requests from the floor one after the other. */
const listsAtOnce = 300;
/** The page of a board that searches for similar ideas. It needs the most work. */
const heavyPage = '/b/bench/new?';

/**
 * The number of turns that are not measured. A turn requests every page once. In these turns, Node still optimizes the
 * code of the pages. Node optimizes a function only after many calls, and a turn calls most functions only a few times.
 * PostgreSQL chooses the plan of a prepared statement after five calls on each connection.
 */
const warmUpTurns = 100;

/** A page that the benchmark requests, either without a session or as the signed-in owner of the account. */
interface Page {
  path: string;
  isSignedIn: boolean;
}

interface Measured extends Page {
  status: number;
  bytes: number;
  p50Ms: number;
  p99Ms: number;
}

interface Measurement {
  pages: Measured[];
  /** The median response time of a list of the floor, in milliseconds. */
  floorMs: number;
}

/** Requests one page at a time. Returns whether every page is fast and small enough. */
export async function run(stage: Stage, { ideas, times }: { ideas: number; times: number }): Promise<boolean> {
  note(`seeding ${ideas} ideas`);
  const { url, filled } = await stage.startDatabase(async client => ({
    ...(await seed(client, { ideas, votes: ideas * 10 })),
    session: await fillLargeAccount(client),
  }));
  const floor = await startServer(stage, 'floor/server.ts', url, filled);
  const server = await startServer(stage, 'idea-board.ts', url, filled);
  const cookie = `idea_board_session=${filled.session}`;
  const measured = await measure(server, floor, cookie, pagesOf(filled.words), times);
  process.stdout.write(describe(measured, ideas));
  return !measured.pages.some(page => isTooMuch(page, slownessOf(measured)));
}

/** Returns the factor that raises the limits on a slow machine. It is at least 1. */
function slownessOf(measured: Measurement): number {
  return Math.max(1, measured.floorMs / referenceFloorMs);
}

/** The encodings that browsers accept over HTTPS. */
const ofBrowser = { 'accept-encoding': 'gzip, deflate, br, zstd' };

async function measure(
  { child, baseUrl }: RunningServer,
  floor: RunningServer,
  cookie: string,
  pages: Page[],
  times: number,
): Promise<Measurement> {
  const assets = await weighAssets(baseUrl);
  const ask = async ({ path, isSignedIn }: Page) => {
    const headers = isSignedIn ? { ...ofBrowser, cookie } : ofBrowser;
    const response = await fetch(baseUrl + path, { headers, redirect: 'manual' });
    await response.arrayBuffer();
    return { status: response.status, bytes: bytesOf(response) + assets };
  };
  const authorization = `Bearer ${floor.targets.tokens[0]}`;
  const askFloor = async () => {
    const response = await fetch(`${floor.baseUrl}/api/v1/ideas`, { headers: { authorization } });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`The floor answered with ${response.status}`);
  };
  await child.call('observe');
  await floor.child.call('observe');
  const answers: ({ page: Page } & Awaited<ReturnType<typeof ask>>)[] = [];
  for (let turn = 0; turn < warmUpTurns + times; turn++) {
    if (turn % turnsBetweenLists === 0) {
      for (let list = 0; list < listsAtOnce; list++) await askFloor();
    }
    // The order changes in each turn, because a page takes longer after a heavy page or after the floor.
    for (const page of shuffle(pages)) answers.push({ page, ...(await ask(page)) });
  }
  const serverTimesMs = await child.call<number[]>('serverTimesMs');
  const floorTimesMs = await floor.child.call<number[]>('serverTimesMs');
  const measured = pages.map((page): Measured => {
    const { status = 0, bytes = 0 } = answers.find(answer => answer.page === page) ?? {};
    const timesMs = serverTimesMs.filter((_, index) => answers[index]?.page === page).slice(warmUpTurns);
    return { ...page, status, bytes, p50Ms: quantile(timesMs, 0.5), p99Ms: quantile(timesMs, 0.99) };
  });
  return {
    pages: measured,
    floorMs: quantile(floorTimesMs.slice((warmUpTurns / turnsBetweenLists) * listsAtOnce), 0.5),
  };
}

/** Returns the transferred size of a response, which may be compressed. */
const bytesOf = ({ headers }: Response) => Number(headers.get('content-length'));

/** Returns the total transferred size of the style sheet and the icon, which every page loads. */
async function weighAssets(baseUrl: string): Promise<number> {
  const html = await (await fetch(`${baseUrl}/sign-in`)).text();
  const paths = new Set([...html.matchAll(/href="(\/assets\/[^"]+)"/g)].map(([, path]) => path));
  const sizes = [...paths].map(async path => bytesOf(await fetch(baseUrl + path, { headers: ofBrowser })));
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

function isTooMuch({ path, status, bytes, p50Ms }: Measured, slowness: number): boolean {
  const isLight = path.startsWith('/b/') && !path.startsWith(heavyPage);
  return status !== 200 || bytes > maxBytes || p50Ms > (isLight ? boardMs : panelMs) * slowness;
}

function describe(measured: Measurement, ideas: number): string {
  const slowness = slownessOf(measured);
  const limitOf = (ms: number) => `${(ms * slowness).toFixed(1)} ms`;
  const rows = [
    ['page', 'reader', 'status', 'kB', 'p50 ms', 'p99 ms', ''],
    ...measured.pages.map(one => [
      one.path,
      one.isSignedIn ? 'owner' : 'visitor',
      String(one.status),
      (one.bytes / 1000).toFixed(1),
      one.p50Ms.toFixed(1),
      one.p99Ms.toFixed(1),
      isTooMuch(one, slowness) ? 'too much' : '',
    ]),
  ];
  return `
${ideas} ideas. kB is the transferred size of the page with its style sheet and icon. The time is the server's.
The limits are ${maxBytes / 1000} kB, and a median of ${boardMs} ms for boards and ${panelMs} ms for others, on a machine on which the floor
(a minimal server) answers a list in ${referenceFloorMs} ms. Here it took ${measured.floorMs.toFixed(2)} ms, so the limits are ${limitOf(boardMs)} and ${limitOf(panelMs)}.
The search for similar ideas has the higher limit. The body of idea 2 consists of 833 URLs.

${formatTable(rows)}
`;
}

/** Signs in the owner and adds the users, tokens, webhooks and events of a large account. Returns the session token. */
async function fillLargeAccount(client: pg.Client): Promise<string> {
  const session = randomBytes(32).toString('base64url');
  await client.query(
    // The operator's panel needs a session with a second factor.
    `insert into sessions (token_hash, user_id, expires_at, has_second_factor)
    values ($1, 1, now() + interval '1 day', true)`,
    [createHash('sha256').update(session).digest()],
  );
  await client.query(largeAccount);
  await client.query('vacuum analyze');
  return session;
}

function pagesOf(words: string[]): Page[] {
  const [common = '', second = '', rare = ''] = [words[0], words[1], words.at(-1)].map(one =>
    encodeURIComponent(one ?? ''),
  );
  const forEverybody = pathsOfBoard(common);
  const forMembers = ['/mine', '/mine/votes', '/mine/following', '/new', `/new?title=${common}+${second}`];
  return [
    ...forEverybody.map(path => ({ path, isSignedIn: false })),
    ...[...forEverybody, ...forMembers.map(path => `/b/bench${path}`), ...pathsOfPanels(common, rare)].map(path => ({
      path,
      isSignedIn: true,
    })),
  ];
}

function pathsOfBoard(common: string): string[] {
  return [
    '/b/bench',
    '/b/bench?sort=top',
    `/b/bench?q=${common}`,
    '/b/bench?tag=rare',
    '/b/bench?tag=design',
    '/b/bench?tag=common&sort=top',
    '/b/bench/roadmap',
    '/b/bench/feed.atom',
    '/b/bench/ideas/1',
    '/b/bench/ideas/2',
  ];
}

/** The paths of the admin area and the operator's panel. */
function pathsOfPanels(common: string, rare: string): string[] {
  return [
    '/admin',
    '/admin/queue',
    '/admin/ideas?board=bench',
    '/admin/ideas?board=bench&sort=top',
    `/admin/ideas?board=bench&q=${common}`,
    `/admin/ideas?board=bench&q=${rare}`,
    '/admin/ideas/1',
    '/admin/ideas/1/votes',
    `/admin/ideas/1/merge?q=${common}`,
    '/admin/ideas/1/merge?target=2',
    '/admin/blocks',
    '/admin/boards',
    '/admin/boards/bench',
    '/admin/boards/bench/deadlines',
    '/admin/boards/bench/statuses',
    '/admin/boards/bench/tags',
    '/admin/tokens',
    '/admin/webhooks',
    '/admin/webhooks/1',
    '/admin/webhooks/1/deliveries',
    '/admin/webhooks/1/deliveries?state=dead',
    '/admin/webhooks/1/deliveries/1',
    '/admin/chat',
    '/admin/members',
    '/admin/members/600',
    '/admin/members/invitations',
    '/admin/account',
    '/admin/profile',
    '/admin/profile/notifications',
    '/admin/profile/following',
    '/operator',
    '/operator/accounts',
    '/operator/accounts?q=b',
    '/operator/accounts/1',
    '/operator/users',
    '/operator/users?q=member1',
    '/operator/users/1',
    '/operator/webhooks?state=dead',
  ];
}

const largeAccount = `
update users set is_operator = true where id = 1;
update boards set is_public = true, pre_moderation = true;
update ideas set body = repeat('(http://a.b/', 833) where id = 2;
insert into tags (account_id, board_id, name, color) select 1, 1, unnest(array['rare', 'common']), '#0f766e';
insert into idea_tags (idea_id, tag_id, account_id)
select i.id, t.id, 1 from ideas i join tags t on i.id % case t.name when 'rare' then 10000 when 'common' then 2 end = 1;
insert into users (email, name) select 'member' || n || '@example.com', 'Member ' || n from generate_series(1, 20000) n;
insert into memberships (account_id, user_id, role)
select 1, id, case when id % 100 = 0 then 'moderator' else 'member' end from users where id > 501;
insert into user_blocks (account_id, user_id, reason) select 1, id, 'Spam' from users where id > 501 and id % 20 = 0;
insert into api_tokens (account_id, issuer_id, voter_id, name, secret_hash, revoked_at)
select 1, 1, n, 'old token ' || n, sha256(n::text::bytea), now() from generate_series(100, 5100) n;
insert into api_token_boards (account_id, token_id, board_id, level)
select 1, id, 1, 'read' from api_tokens where revoked_at is not null;
insert into followers (idea_id, user_id, account_id) select id, 1, 1 from ideas where id % 10 = 1;
insert into events (id, account_id, board_id, idea_id, actor_id, type, body, occurred_at)
select gen_random_uuid(), 1, 1, i.id, 2, 'idea.created', event, i.created_at
from ideas i cross join lateral (
  select jsonb_build_object('type', 'idea.created', 'timestamp', i.created_at, 'data', jsonb_build_object(
    'board', jsonb_build_object('id', 1, 'slug', 'bench', 'name', 'Bench'),
    'idea', jsonb_build_object('id', i.id, 'title', i.title), 'actor', jsonb_build_object('id', 2, 'name', 'Person 2')
  )) as event
) made
where i.id <= 50000;
insert into webhook_endpoints (account_id, url, secret)
select 1, 'https://hooks.example.com/' || n, sha256(n::text::bytea) from generate_series(1, 20) n;
insert into webhook_deliveries (account_id, endpoint_id, event_id, state, attempt_count, finished_at, next_attempt_at)
select 1, 1, id, state, 1, case when state <> 'pending' then now() end, case when state = 'pending' then now() end
from events cross join lateral (
  select (array['delivered', 'delivered', 'dead', 'pending'])[1 + get_byte(uuid_send(id), 0) % 4] as state
) drawn;
insert into webhook_attempts (account_id, delivery_id, attempted_at, duration_ms, status, response)
select 1, id, now(), 30, 200, repeat('an answer ', 100) from webhook_deliveries;
insert into notifications (account_id, user_id, event_id, kind) select 1, 1, id, 'idea.status_changed' from events;`;
