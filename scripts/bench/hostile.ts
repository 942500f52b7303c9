import { median } from 'simple-statistics';
import { formatTable } from './format-table.ts';
import { type HostileRequest, hostileRequests, plainRequest } from './hostile-requests.ts';
import { seed } from './seed.ts';
import { type Child, note, type Stage } from './stage.ts';

/** The maximum CPU time of a hostile request, as a multiple of the CPU time of a plain 404. */
const maxRatio = 5;

interface Measured {
  name: string;
  status: number;
  cpuMicroseconds: number;
}

/**
 * Returns the same request twice, under two names. The first is for a server that answers the request. The second is
 * for a server that refuses the request because of the rate limit.
 */
function readRequests(token: string): [HostileRequest, HostileRequest] {
  const one = { path: '/api/v1/ideas/1', headers: { authorization: `Bearer ${token}` } };
  return [
    { name: 'served', ...one },
    { name: 'refused by a limit', ...one },
  ];
}

/**
 * Sends one hostile request at a time and compares its CPU time with the CPU time of a plain 404. Also compares a
 * request that exceeds the rate limit with the same request below the limit.
 */
export async function run(
  stage: Stage,
  { times, rounds, only }: { times: number; rounds: number; only: string },
): Promise<boolean> {
  const { url, filled } = await stage.startDatabase(client => seed(client, { ideas: 1000, votes: 1000 }));
  const [token = ''] = filled.tokens;
  const server = stage.startServer('idea-board.ts', { DATABASE_URL: url });
  const limited = stage.startServer('idea-board.ts', { DATABASE_URL: url, RATE_LIMIT_READ: '1' });
  const [baseUrl, limitedUrl] = [await server.call<string>('url'), await limited.call<string>('url')];
  const [served, refused] = readRequests(token);
  const hostile = hostileRequests(token).filter(({ name }) => name.includes(only));
  const measured: Measured[] = [];
  for (let round = 0; round <= rounds; round++) {
    note(`round ${round} of ${rounds}`);
    const figures: Measured[] = [];
    for (const one of [plainRequest, ...hostile, served]) figures.push(await measure(server, baseUrl, one, times));
    figures.push(await measure(limited, limitedUrl, refused, times));
    // The first round is a warm-up, so its figures are discarded.
    if (round > 0) measured.push(...figures);
  }
  const plain = medianOf(measured, plainRequest.name);
  const ratios = hostile
    .map(({ name }) => medianOf(measured, name))
    .map(one => ({ ...one, ratio: one.cpuMicroseconds / plain.cpuMicroseconds }))
    .sort((a, b) => b.ratio - a.ratio);
  const [answer, refusal] = [medianOf(measured, served.name), medianOf(measured, refused.name)];
  const refusalRatio = refusal.cpuMicroseconds / answer.cpuMicroseconds;
  process.stdout.write(`${describe(plain, ratios)}
A refused request (${refusal.status}) takes ${refusalRatio.toFixed(2)} of the CPU time of a served one.
`);
  return ratios.every(({ ratio }) => ratio <= maxRatio) && refusalRatio < 1;
}

async function measure(server: Child, baseUrl: string, sent: HostileRequest, times: number): Promise<Measured> {
  const { result: status, cpuMicroseconds } = await server.measureCpu(async () => {
    let last = 0;
    for (let n = 0; n < times; n++) last = await send(baseUrl, sent);
    return last;
  });
  return { name: sent.name, status, cpuMicroseconds: cpuMicroseconds / times };
}

async function send(baseUrl: string, { method = 'GET', path, headers = {}, body }: HostileRequest) {
  const response = await fetch(baseUrl + path, { method, headers, body: body ?? null, redirect: 'manual' });
  await response.arrayBuffer();
  return response.status;
}

function medianOf(rounds: Measured[], name: string): Measured {
  const own = rounds.filter(one => one.name === name);
  return { name, status: own[0]?.status ?? 0, cpuMicroseconds: median(own.map(one => one.cpuMicroseconds)) };
}

function describe(plain: Measured, all: (Measured & { ratio: number })[]): string {
  const rows = [
    ['request', 'status', 'CPU µs', 'ratio', ''],
    [plain.name, String(plain.status), plain.cpuMicroseconds.toFixed(0), '1.0', ''],
    ...all.map(({ name, status, cpuMicroseconds, ratio }) => [
      name,
      String(status),
      cpuMicroseconds.toFixed(0),
      ratio.toFixed(1),
      ratio > maxRatio ? 'too much' : '',
    ]),
  ];
  return `
CPU is the time of the server process per request. The limit is ${maxRatio} times the CPU time of a plain 404.

${formatTable(rows)}
`;
}
