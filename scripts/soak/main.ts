import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { describeSoak, replaceSection } from './results.ts';
import { runSoak } from './run-soak.ts';

const usage = `Usage: npm run soak -- [options]

Two servers and a worker under steady load, while PostgreSQL is restarted twice, once by kill -9, and each of them once.
Then every write that was acknowledged must be there exactly once, and every event must have been told. The figures
are written to test/RESULTS.md. Takes 2 cores and about 1 GB of memory.

  --minutes M   how long the load lasts (10)
  --help        this text
`;

const resultsFile = new URL('../../test/RESULTS.md', import.meta.url);

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '10' }, help: { type: 'boolean', default: false } },
});
if (values.help) {
  process.stdout.write(usage);
  process.exit(0);
}
const minutes = Number(values.minutes);
if (!(minutes >= 0.5)) throw new Error('--minutes must be a number from 0.5');

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());
const note = (line: string) => process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);

try {
  const report = await runSoak(minutes, note, stopping.signal);
  const section = describeSoak(report);
  process.stdout.write(`${section}\n`);
  const before = await readFile(resultsFile, 'utf8').catch(() => '# Results\n');
  await writeFile(resultsFile, replaceSection(before, section));
  process.exitCode = Object.values(report.faults).flat().length > 0 ? 1 : 0;
} catch (error) {
  if (!stopping.signal.aborted) throw error;
  note('stopped');
  process.exitCode = 130;
}
