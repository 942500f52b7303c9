import { type Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';

/** How a person starts the command line. */
export const invocation = 'npm run cli --';

/** Adds one verb to a noun: `usage` is the verb with its arguments. Every verb can answer in JSON. */
export function addVerb(noun: Command, usage: string, description: string, ...examples: string[]): Command {
  return noun
    .command(usage)
    .description(description)
    .option('--json', 'print one JSON value instead of text')
    .addHelpText('after', `\n${examples.length > 1 ? 'Examples' : 'Example'}:\n${examples.map(example).join('\n')}`);
}

function example(command: string) {
  return `  ${invocation} ${command}`;
}

export const accountOption = () =>
  new Option('--account <slug>', 'the account; may be left out when there is only one');

export const boardOption = () =>
  new Option('--board <slug>', 'the board; may be left out when the account has only one');

export const userOption = () => new Option('--user <email>', 'the user, by address or id').makeOptionMandatory();

export const limitOption = () =>
  new Option('--limit <number>', 'how many to list at most').argParser(parsePositive).default(500);

/** `true` or `false`, for a property that both values are plain words for. */
export function parseBoolean(text: string): boolean {
  if (text === 'true' || text === 'yes') return true;
  if (text === 'false' || text === 'no') return false;
  throw new InvalidArgumentError('It must be true or false.');
}

export function parsePositive(text: string): number {
  const number = Number(text);
  if (/^[0-9]+$/.test(text) && number >= 1 && Number.isSafeInteger(number)) return number;
  throw new InvalidArgumentError('It must be a whole number from 1.');
}

const Rfc3339 = z.iso.datetime({ offset: true });

/** An RFC 3339 time, with its offset from UTC. */
export function parseTime(text: string): Date {
  if (Rfc3339.safeParse(text).success) {
    const time = new Date(text);
    const year = time.getUTCFullYear();
    // PostgreSQL has no year 0, and a year of five digits is written in another form.
    if (year >= 1 && year <= 9999) return time;
  }
  throw new InvalidArgumentError('It must be an RFC 3339 time, such as 2026-03-14T09:00:00Z.');
}

/** The word for no value. Commander would make an empty text of a parser's null, so it stays a word until the end. */
export type None = 'none';

export function parseTimeOrNone(text: string): Date | None {
  return text === 'none' ? text : parseTime(text);
}

export function nullForNone<T>(value: T | None | undefined): T | null | undefined {
  return value === 'none' ? null : value;
}

/** The options that were given, without those that were not. */
export function given<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
