import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { buildProgram } from '../../server/cli/program.ts';
import { runCliProcess } from './run-cli.ts';

/** Lists all commands that have no subcommands. `path` contains the words that call the command. */
function verbsOf(command: Command, path: string[] = []): { path: string[]; verb: Command }[] {
  if (command.commands.length === 0) return [{ path, verb: command }];
  return command.commands.flatMap(one => verbsOf(one, [...path, one.name()]));
}

function helpOf(command: Command): string {
  let help = '';
  command.configureOutput({
    writeOut: text => {
      help += text;
    },
  });
  command.outputHelp();
  return help;
}

const verbs = verbsOf(buildProgram());

test('every CLI command has a description, the option --json and valid examples', () => {
  expect(verbs.length).toBeGreaterThan(30);
  for (const { path, verb } of verbs) {
    const name = path.join(' ');
    const help = helpOf(verb);
    expect(verb.description(), name).toMatch(/^[A-Z].+\.$/);
    expect(
      verb.options.map(({ long }) => long),
      name,
    ).toContain('--json');
    for (const option of verb.options) expect(option.description, `${name} ${option.long}`).not.toBe('');

    const examples = help.split('\n').filter(line => line.startsWith(`  npm run cli -- ${name}`));
    expect(examples, name).not.toEqual([]);
    for (const example of examples) expect(parse(example), example).toEqual(path);
  }
});

/** Returns the path of the command that an example calls. Throws if the example lacks a required option. */
function parse(example: string): string[] | undefined {
  const words = example.match(/"[^"]*"|\S+/g)?.map(word => word.replaceAll('"', '')) ?? [];
  let called: string[] | undefined;
  const program = buildProgram();
  for (const { path, verb } of verbsOf(program)) {
    verb.action(() => {
      called = path;
    });
  }
  program.parse(words.slice(4), { from: 'user' });
  return called;
}

test('the CLI option --help prints the help to standard output and exits with 0', async () => {
  const { exitCode, stdout, stderr } = await runCliProcess({}, 'token', 'create', '--help');
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout).toMatch(/^Usage: npm run cli -- token create \[options\]\n/);
});
