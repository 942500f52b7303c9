import { readFile, writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import { describeSoak, replaceSection } from './results.ts';
import { runSoak } from './run-soak.ts';

const resultsFile = new URL('../../test/RESULTS.md', import.meta.url);

const { minutes } = new Command('npm run soak --')
  .description(
    'Runs two servers and a worker under steady load. Restarts PostgreSQL twice, once after kill -9, and each process once. Then every acknowledged write must exist exactly once, and every event must have been delivered. Writes the figures to test/RESULTS.md. Needs 2 cores and about 1 GB of memory.',
  )
  .option('--minutes <M>', 'the duration of the load', Number, 10)
  .parse()
  .opts<{ minutes: number }>();
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
