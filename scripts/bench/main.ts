import { Command, InvalidArgumentError, Option } from 'commander';
import { defaultConnections } from './scenarios.ts';
import { Stage } from './stage.ts';

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());

const program = new Command('npm run bench --');

program
  .command('api', { isDefault: true })
  .description('compares the server with a floor: a minimal server with the same stack and answers')
  .option('--ideas <n>', 'ideas on the board', wholeNumber, 100_000)
  .option('--votes <n>', 'votes on them', wholeNumber, 1_000_000)
  .option('--seconds <n>', 'length of a round', wholeNumber, 5)
  .option('--rounds <n>', 'rounds of each server in each scenario', wholeNumber, 3)
  .option('--connections <n>', 'connections of the load generator', wholeNumber, defaultConnections)
  .option('--only <names>', 'scenarios, separated by commas', names => names.split(','), [])
  .addOption(quick({ ideas: 10_000, votes: 100_000, seconds: 2, rounds: 2 }))
  .option('--json', 'write the figures as JSON')
  .option('--save', 'save the ratios as the last release in scripts/bench/released.json')
  .option(
    '--against [version]',
    'compare with another version instead of the floor: a commit or a directory (default: the last release)',
  )
  .action(options => measure(options.against ? import('./against.ts') : import('./api.ts'), options));

program
  .command('events')
  .description('compares webhook deliveries with minimal graphile-worker jobs that send the same requests')
  .option('--deliveries <n>', 'deliveries in a round that measures the rate', wholeNumber, 4000)
  .option('--rounds <n>', 'rounds of each contestant', wholeNumber, 3)
  .option('--seconds <n>', 'length of a round that measures the delay', wholeNumber, 5)
  .option('--per-second <n>', 'events per second in such a round', wholeNumber, 50)
  .option('--concurrency <n>', 'concurrent jobs of each worker', wholeNumber, 24)
  .addOption(quick({ deliveries: 1500, rounds: 2, seconds: 2 }))
  .option('--json', 'write the figures as JSON')
  .action(options => measure(import('./events.ts'), options));

program
  .command('growth')
  .description('measures each request on boards of different sizes')
  .option('--ideas <list>', 'ideas on the boards, separated by commas', wholeNumbers, [10_000, 100_000, 1_000_000])
  .option('--times <n>', 'how often to send each request to each board', wholeNumber, 200)
  .option('--svg <file>', 'also write a chart of the medians')
  .option('--json', 'write the figures as JSON')
  .action(options => measure(import('./growth.ts'), options));

program
  .command('hostile')
  .description('compares the CPU time of expensive 16 KiB requests with a plain 404')
  .option('--times <n>', 'number of times each request is sent in a round', wholeNumber, 200)
  .option('--rounds <n>', 'rounds of each request', wholeNumber, 3)
  .option('--only <text>', 'requests whose name contains this', '')
  .action(options => measure(import('./hostile.ts'), options));

program
  .command('memory')
  .description('measures the memory of the server and its worker during many requests')
  .option('--ideas <n>', 'ideas on the board', wholeNumber, 20_000)
  .option('--requests <n>', 'requests', wholeNumber, 1_000_000)
  .option('--samples <n>', 'number of samples', wholeNumber, 20)
  .action(options => measure(import('./memory.ts'), options));

program
  .command('pages')
  .description('measures the time and the size of each page with its assets')
  .option('--ideas <n>', 'ideas on the board', wholeNumber, 100_000)
  .option('--times <n>', 'number of times each page is requested', wholeNumber, 50)
  .action(options => measure(import('./pages.ts'), options));

program
  .command('similar')
  .description('measures the time of a search for similar ideas')
  .option('--ideas <n>', 'ideas on the board', wholeNumber, 1_000_000)
  .option('--times <n>', 'number of searches of each kind', wholeNumber, 200)
  .action(options => measure(import('./similar.ts'), options));

await program.parseAsync();

interface Benchmark<Options> {
  /**
   * Runs the benchmark and prints its figures. Returns false if a figure exceeds the benchmark's limit, or if a request
   * failed.
   */
  run(stage: Stage, options: Options): Promise<boolean>;
}

async function measure<Options>(benchmark: Promise<Benchmark<Options>>, options: Options) {
  try {
    const { run } = await benchmark;
    const isGood = await Stage.use(stopping.signal, stage => run(stage, options));
    process.exit(isGood ? 0 : 1);
  } catch (error) {
    if (!stopping.signal.aborted) throw error;
    process.stderr.write('stopped\n');
    process.exit(130);
  }
}

function quick(values: Record<string, number>): Option {
  const text = Object.entries(values).map(([name, value]) => `${name} ${value}`);
  return new Option('--quick', text.join(', ')).implies(values);
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError('It must be a whole number from 1.');
  return value;
}

function wholeNumbers(text: string): number[] {
  return text.split(',').map(wholeNumber);
}
