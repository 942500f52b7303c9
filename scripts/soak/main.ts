import { readFile, writeFile } from 'node:fs/promises';
import { Argument, Command } from 'commander';
import { describeEventsSoak, eventsHeading, runEventsSoak } from './events.ts';
import { describeSoak, replaceSection, soakHeading } from './results.ts';
import { runSoak } from './run-soak.ts';

const resultsFile = new URL('../../test/RESULTS.md', import.meta.url);

const program = new Command('npm run soak --')
  .description(
    'Runs two servers and a worker under steady load. Restarts PostgreSQL twice, once after kill -9, and each process once. Then every acknowledged write must exist exactly once, and every event must have been delivered. Writes the figures to test/RESULTS.md. Needs 2 cores and about 1 GB of memory. With events, followers read the events of 20 writers while servers and PostgreSQL are killed at random.',
  )
  .addArgument(new Argument('[variant]').choices(['events']))
  .option('--minutes <M>', 'the duration of the load', Number, 10)
  .parse();
const { minutes } = program.opts<{ minutes: number }>();
if (!(minutes >= 0.5)) throw new Error('--minutes must be a number from 0.5');

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());
const note = (line: string) => process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);

try {
  const { heading, section, faults } = await run();
  process.stdout.write(`${section}\n`);
  const before = await readFile(resultsFile, 'utf8').catch(() => '# Results\n');
  await writeFile(resultsFile, replaceSection(before, heading, section));
  process.exitCode = faults.length > 0 ? 1 : 0;
} catch (error) {
  if (!stopping.signal.aborted) throw error;
  note('stopped');
  process.exitCode = 130;
}

async function run(): Promise<{ heading: string; section: string; faults: string[] }> {
  if (program.args[0] === 'events') {
    const report = await runEventsSoak(minutes, note, stopping.signal);
    return { heading: eventsHeading, section: describeEventsSoak(report), faults: report.faults };
  }
  const report = await runSoak(minutes, note, stopping.signal);
  return { heading: soakHeading, section: describeSoak(report), faults: Object.values(report.faults).flat() };
}
