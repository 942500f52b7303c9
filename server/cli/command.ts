import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import type { Config } from '../config.ts';
import type { Administration } from '../domain/administration.ts';
import { administer } from './administer.ts';
import { type OutputOptions, print } from './output.ts';

/** The shell command that starts the CLI, for help texts and messages. */
export const invocation = 'npm run cli --';

/** An input of a command: an argument or an option. An option with the key `ownerName` has the name `--owner-name`. */
interface Input<Value> {
  build(key: string): Argument | Option;
  /** No code sets this property. Only the compiler's type check uses it. */
  readonly '~value'?: () => Value;
}

export type Inputs = Readonly<Record<string, Input<unknown>>>;
export type NoInputs = Readonly<Record<never, Input<unknown>>>;
type ValueOf<One> = One extends Input<infer Value> ? Value : never;

/** The values of the inputs, by their keys. An omitted option without a default value has no key. */
export type Values<Row extends Inputs> = {
  [Key in keyof Row as undefined extends ValueOf<Row[Key]> ? never : Key]: ValueOf<Row[Key]>;
} & {
  [Key in keyof Row as undefined extends ValueOf<Row[Key]> ? Key : never]?: Exclude<ValueOf<Row[Key]>, undefined>;
};

interface OptionRules<Value> {
  parse?: (text: string, previous: Value | undefined) => Value;
  choices?: readonly Value[];
  /** The key of another option. The command refuses this option together with that option. */
  conflicts?: string;
}

export function argument<Value = string>(
  usage: string,
  help = '',
  parse?: (text: string, previous: Value | undefined) => Value,
): Input<NoInfer<Value>> {
  const build = () => new Argument(usage, help);
  return { build: () => (parse ? build().argParser(parse) : build()) };
}

export function optional<Value = string>(
  usage: string,
  help: string,
  rules: OptionRules<Value> = {},
): Input<NoInfer<Value> | undefined> {
  return { build: key => buildOption(key, usage, help, rules) };
}

export function required<Value = string>(
  usage: string,
  help: string,
  rules: OptionRules<Value> = {},
): Input<NoInfer<Value>> {
  return { build: key => buildOption(key, usage, help, rules).makeOptionMandatory() };
}

export function withDefault<Value = string>(
  usage: string,
  help: string,
  value: NoInfer<Value>,
  rules: OptionRules<Value> = {},
): Input<NoInfer<Value>> {
  return { build: key => buildOption(key, usage, help, rules).default(value) };
}

/** An option without a value. With the key `noName`, the option `--no-name` sets the value of `name` to false. */
export function flag(help: string, rules: Pick<OptionRules<boolean>, 'conflicts'> = {}): Input<boolean | undefined> {
  return { build: key => buildOption(key, '', help, rules) };
}

/** An option that can be repeated. Each use adds one of the allowed `values` to the option's list. */
export function repeatable<Value extends string>(
  usage: string,
  help: string,
  values: readonly Value[],
  { conflicts }: { conflicts?: string } = {},
): Input<Value[] | undefined> {
  const parse = (text: string, previous: Value[] = []) => {
    const value = values.find(one => one === text);
    if (value === undefined) throw new InvalidArgumentError(`It must be one of ${values.join(', ')}.`);
    return [...previous, value];
  };
  return { build: key => buildOption(key, usage, help, given({ conflicts })).choices(values).argParser(parse) };
}

/** An option that can be repeated. Each use adds a pair such as `old=new` to the option's map. */
export function pairs(usage: string, help: string): Input<ReadonlyMap<string, string> | undefined> {
  const parse = (text: string, previous: ReadonlyMap<string, string> = new Map()) => {
    const [, name, value] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
    if (name === undefined || value === undefined) throw new InvalidArgumentError(`It must have the form ${usage}.`);
    return new Map([...previous, [name.trim(), value.trim()]]);
  };
  return { build: key => buildOption<ReadonlyMap<string, string>>(key, usage, help, { parse }) };
}

function buildOption<Value>(key: string, usage: string, help: string, rules: OptionRules<Value>): Option {
  const name = key.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`);
  const option = new Option(`--${name} ${usage}`.trimEnd(), help);
  if (rules.choices) option.choices(rules.choices.map(String));
  if (rules.parse) option.argParser(rules.parse);
  return rules.conflicts === undefined ? option : option.conflicts(rules.conflicts);
}

export const limit = withDefault('<number>', 'the maximum number of rows', 500, { parse: parsePositive });

/** Adds a verb, such as `create`, to a noun command, such as `board`, or to the root command. */
export type Verb = (parent: Command, name: string) => void;

export interface VerbRow<Row extends Inputs> {
  description: string;
  examples: string[];
  input: Row;
  /** Returns the error message for an invalid combination of inputs. The command then exits with the code 2. */
  refuse?(values: Values<Row>): string | undefined;
}

/** Defines a verb, such as `create`, that runs `perform`. Every verb has the option --json. */
export function verb<Row extends Inputs>({
  description,
  examples,
  input,
  refuse,
  perform,
}: VerbRow<Row> & { perform(values: Values<Row>, output: OutputOptions): Promise<void> }): Verb {
  return (parent, name) => {
    const heading = examples.length > 1 ? 'Examples' : 'Example';
    const command = parent
      .command(name)
      .description(description)
      .option('--json', 'print one JSON value instead of text')
      .addHelpText('after', `\n${heading}:\n${examples.map(example => `  ${invocation} ${example}`).join('\n')}`);
    const argumentKeys: string[] = [];
    for (const [key, one] of Object.entries(input)) {
      const built = one.build(key);
      if (built instanceof Option) {
        command.addOption(built);
      } else {
        command.addArgument(built);
        argumentKeys.push(key);
      }
    }
    command.action(async () => {
      const { json = false, ...options } = command.opts();
      const given = Object.fromEntries(argumentKeys.map((key, index) => [key, command.processedArgs[index]]));
      const values = { ...options, ...given } as Values<Row>;
      const problem = refuse?.(values);
      if (problem !== undefined) command.error(`error: ${problem}`, { exitCode: 2 });
      await perform(values, { json });
    });
  };
}

/** Defines a verb, such as `create`, that runs an operation in one transaction and prints its result. */
export function operation<Row extends Inputs, Result>({
  run,
  text,
  warning,
  ...row
}: VerbRow<Row> & {
  run(admin: Administration, values: Values<Row>, config: Config): Promise<Result>;
  text(result: NoInfer<Result>, values: Values<Row>): string;
  /** A warning that is printed to standard error after the result, for example after a new secret. */
  warning?: string;
}): Verb {
  return verb({
    ...row,
    async perform(values, output) {
      const result = await administer((admin, config) => run(admin, values, config));
      print(output, result, readable => text(readable, values));
      if (warning !== undefined && !output.json) process.stderr.write(`${warning}\n`);
    },
  });
}

/** Adds a noun command, such as `board`, with its verbs to the root command. */
export function noun(name: string, description: string, verbs: Record<string, Verb>) {
  return (program: Command) => {
    const command = program.command(name).description(description);
    for (const [verbName, add] of Object.entries(verbs)) add(command, verbName);
  };
}

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

export function parseHours(max: number) {
  return (text: string): number => {
    const hours = Number(text);
    if (/^[0-9]+$/.test(text) && hours <= max) return hours;
    throw new InvalidArgumentError(`It must be a whole number from 0 to ${max}.`);
  };
}

const Rfc3339 = z.iso.datetime({ offset: true });

export function parseTime(text: string): Date {
  if (Rfc3339.safeParse(text).success) {
    const time = new Date(text);
    const year = time.getUTCFullYear();
    // Refuses years outside this range: PostgreSQL has no year 0, and writes years of five digits in another format.
    if (year >= 1 && year <= 9999) return time;
  }
  throw new InvalidArgumentError('It must be an RFC 3339 time, such as 2026-03-14T09:00:00Z.');
}

/**
 * An operator enters the word `none` to clear a value. The word becomes null only after parsing, because commander
 * turns a parser's null into an empty text.
 */
type None = 'none';

export function parseTimeOrNone(text: string): Date | None {
  return text === 'none' ? text : parseTime(text);
}

export function nullForNone<T>(value: T | None | undefined): T | null | undefined {
  return value === 'none' ? null : value;
}

/** Removes the options with the value undefined. The caller omitted these options. */
export function given<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
