import { parseArgs } from 'node:util';

export interface BenchOptions {
  ideas: number;
  votes: number;
  /** Of one round, in seconds. */
  seconds: number;
  rounds: number;
  /** Of each server for each scenario, in seconds. */
  warmUpSeconds: number;
  /** The scenarios to run, by name; all of them when it is empty. */
  only: string[];
  isJson: boolean;
}

const usage = `Usage: npm run bench -- [options]

Compares the server with a floor: the least that a server in this stack must do for the same answers.

  --ideas N     ideas on the board (100000)
  --votes N     votes on them (1000000)
  --seconds S   length of a round (5)
  --rounds R    rounds of each server in each scenario (3)
  --only NAMES  scenarios, with commas between: list,one,vote,search,top,cursor,list-tool,
                one-tool,vote-tool,create
  --quick       10,000 ideas, 100,000 votes, 2 rounds of 2 seconds
  --json        the figures as JSON on standard output
  --help        this text
`;

/** Reads the command line; prints the usage and ends the process where that is what was asked for. */
export function readOptions(args: string[]): BenchOptions {
  const { values } = parseArgs({
    args,
    options: {
      ideas: { type: 'string' },
      votes: { type: 'string' },
      seconds: { type: 'string' },
      rounds: { type: 'string' },
      only: { type: 'string' },
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(usage);
    process.exit(0);
  }
  const { quick } = values;
  return {
    ideas: positive('ideas', values.ideas, quick ? 10_000 : 100_000),
    votes: positive('votes', values.votes, quick ? 100_000 : 1_000_000),
    seconds: positive('seconds', values.seconds, quick ? 2 : 5),
    rounds: positive('rounds', values.rounds, quick ? 2 : 3),
    warmUpSeconds: quick ? 1 : 2,
    only: values.only?.split(',') ?? [],
    isJson: values.json,
  };
}

function positive(name: string, text: string | undefined, fallback: number): number {
  const value = text === undefined ? fallback : Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`--${name} must be a whole number from 1`);
  return value;
}
