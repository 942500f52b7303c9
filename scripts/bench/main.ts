import { readOptions } from './options.ts';
import { countFailedRounds, printReport } from './report.ts';
import { runBench } from './run-bench.ts';

const others = {
  events: () => import('./events.ts'),
  hostile: () => import('./hostile.ts'),
  pages: () => import('./pages.ts'),
};

const [subject = '', ...rest] = process.argv.slice(2);
if (subject === 'events' || subject === 'hostile' || subject === 'pages') {
  const { run } = await others[subject]();
  await run(rest);
  process.exit();
}
const options = readOptions(process.argv.slice(2));
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());

try {
  const report = await runBench(options, stopping.signal);
  printReport(report, options.isJson);
  process.exitCode = countFailedRounds(report) > 0 ? 1 : 0;
} catch (error) {
  if (!stopping.signal.aborted) throw error;
  process.stderr.write('stopped\n');
  process.exitCode = 130;
}
