import { Agent, request } from 'node:http';
import { parseArgs } from 'node:util';
import { Child, type Usage } from './child.ts';
import { startDatabase } from './database.ts';
import { type HostileRequest, hostileRequests, plainRequest } from './hostile-requests.ts';
import { seed } from './seed.ts';

const usage = `Usage: npm run bench -- hostile [options]

Sends requests of 16 KiB that are made to be dear, one at a time, and compares the CPU that each takes with a plain 404.
Then compares a request that a limit refuses with 429 with the same request when it is served.

  --times N   how often each request is sent in a round (200)
  --rounds R  rounds of each request; the table shows the medians (3)
  --only TEXT requests whose name contains this
  --help      this text
`;

/** The CPU of a request as a multiple of that of a 404. */
const maxRatio = 5;

interface Measured {
  name: string;
  status: number;
  cpuMicroseconds: number;
}

/** The same request twice: for a server that serves it, and for one whose limit it exceeds. */
function readRequests(token: string): [HostileRequest, HostileRequest] {
  const one = { path: '/api/v1/ideas/1', headers: { authorization: `Bearer ${token}` } };
  return [
    { name: 'served', ...one },
    { name: 'refused by a limit', ...one },
  ];
}

/** Runs the benchmark of hostile requests, and prints what it found. */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      times: { type: 'string', default: '200' },
      rounds: { type: 'string', default: '3' },
      only: { type: 'string', default: '' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  const stops: (() => Promise<unknown>)[] = [];
  try {
    const url = await startDatabase(stops);
    const { tokens } = await seed(url, { ideas: 1000, votes: 1000 });
    const server = new Child('idea-board.ts', { DATABASE_URL: url });
    stops.push(() => server.stop());
    const baseUrl = await server.call<string>('url');
    const limited = new Child('idea-board.ts', { DATABASE_URL: url, RATE_LIMIT_READ: '1' });
    stops.push(() => limited.stop());
    const limitedUrl = await limited.call<string>('url');
    const [served, refused] = readRequests(tokens[0] ?? '');
    const all = hostileRequests(tokens[0] ?? '').filter(({ name }) => name.includes(values.only));
    const rounds: Measured[] = [];
    for (let round = 0; round <= Number(values.rounds); round++) {
      process.stderr.write(`round ${round} of ${values.rounds}\n`);
      for (const one of [plainRequest, ...all]) {
        const measured = await measure(server, baseUrl, one, Number(values.times));
        // The first round warms up.
        if (round > 0) rounds.push(measured);
      }
      const pair = [
        await measure(server, baseUrl, served, Number(values.times)),
        await measure(limited, limitedUrl, refused, Number(values.times)),
      ];
      if (round > 0) rounds.push(...pair);
    }
    const plain = medianOf(rounds, plainRequest.name);
    const ratios = all
      .map(one => ({ one, measured: medianOf(rounds, one.name) }))
      .map(({ one, measured }) => ({ ...one, ...measured, ratio: measured.cpuMicroseconds / plain.cpuMicroseconds }))
      .sort((a, b) => b.ratio - a.ratio);
    process.stdout.write(describe(plain, ratios));
    const [answer, refusal] = [medianOf(rounds, served.name), medianOf(rounds, refused.name)];
    const refusalRatio = refusal.cpuMicroseconds / answer.cpuMicroseconds;
    process.stdout.write(
      `\nA refused request (${refusal.status}) takes ${refusalRatio.toFixed(2)} of the CPU of a served one.\n`,
    );
    if (ratios.some(({ ratio }) => ratio > maxRatio) || refusalRatio >= 1) process.exitCode = 1;
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

async function measure(server: Child, baseUrl: string, sent: HostileRequest, times: number): Promise<Measured> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const before = await server.call<Usage>('usage');
  let status = 0;
  for (let n = 0; n < times; n++) status = await send(agent, baseUrl, sent);
  const after = await server.call<Usage>('usage');
  agent.destroy();
  return { name: sent.name, status, cpuMicroseconds: (after.cpuMicroseconds - before.cpuMicroseconds) / times };
}

function send(agent: Agent, baseUrl: string, { method = 'GET', path, headers = {}, body }: HostileRequest) {
  const { hostname, port } = new URL(baseUrl);
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
  return new Promise<number>((resolve, reject) => {
    const sent = request({ agent, hostname, port, method, path, headers: { ...length, ...headers } }, response => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    });
    sent.once('error', reject).end(body);
  });
}

function medianOf(rounds: Measured[], name: string): Measured {
  const own = rounds.filter(one => one.name === name).sort((a, b) => a.cpuMicroseconds - b.cpuMicroseconds);
  const median = own[Math.floor(own.length / 2)];
  if (!median) throw new Error(`${name} was not measured`);
  return median;
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
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)));
  const lines = rows.map(row => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return `
CPU is what the server's own process used for a request. A request may take ${maxRatio} times the CPU of a plain 404.

${lines.join('\n')}
`;
}
