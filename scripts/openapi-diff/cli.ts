#!/usr/bin/env -S node --max-semi-space-size=4
/**
 * Compares two OpenAPI documents from a client's point of view. By default, the program exits with 1 if it finds a
 * breaking change. The program exits with 2 if the comparison fails. docs/openapi-diff.md lists the rules.
 */
import { writeFile } from 'node:fs/promises';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import {
  acceptChanges,
  compareDocuments,
  DocumentError,
  formats,
  judgeByUsage,
  levels,
  parseAcceptances,
  parseDocument,
  parseUsage,
  readSource,
  renderRules,
} from './main.ts';

type Output = [format: keyof typeof formats, file: string | undefined];

interface Options {
  format: Output[];
  failOn: 'breaking' | 'risky' | 'none';
  header: string[];
  accept?: string;
  usage?: string;
}

const names = Object.keys(formats) as (keyof typeof formats)[];

const program = new Command('openapi-diff')
  .description(
    'Compares two OpenAPI documents (3.0, 3.1 or 3.2, JSON or YAML) from the side of a client. BASE and HEAD are each a file, a URL, - for standard input, git:REVISION (of contract/openapi.json), git:REVISION:PATH or REVISION:PATH.',
  )
  .argument('<BASE>', 'the old document, which clients use')
  .argument('<HEAD>', 'the document to check')
  .addOption(
    new Option(
      '--format <format[=file]>',
      `the output format (${names.join(', ')}), and a file for the output; repeat it for several outputs`,
    )
      .argParser(addOutput)
      .default([], 'text'),
  )
  .addOption(
    new Option('--fail-on <level>', 'the lowest level that ends with status 1')
      .choices(['breaking', 'risky', 'none'])
      .default('breaking'),
  )
  .option('--accept <file>', 'a list of intended changes (JSON or YAML), which do not count')
  .option(
    '--usage <file or URL>',
    'what clients have used lately (JSON or YAML): breaking and risky changes that affect no client do not count',
  )
  .option(
    '--header <header>',
    'a header of the requests to URLs, such as "Authorization: Bearer …"; repeat it for several headers',
    (header: string, others: string[]) => [...others, header],
    [],
  )
  .option('--rules', 'print the rules as Markdown without a comparison')
  .on('option:rules', () => {
    process.stdout.write(renderRules());
    process.exit(0);
  })
  .addHelpText('after', '\nExit status: 0 no change at or above --fail-on, 1 such a change, 2 the comparison failed.')
  .showSuggestionAfterError(false)
  .exitOverride();

try {
  await program.action(compare).parseAsync();
} catch (error) {
  // Exit status 1 means that there are breaking changes, so a failed comparison needs another status.
  process.exitCode = error instanceof CommanderError && error.exitCode === 0 ? 0 : 2;
  if (error instanceof DocumentError) console.error(`error: ${error.message}`);
  else if (!(error instanceof CommanderError)) console.error('error: the comparison failed:', error);
}

function addOutput(text: string, others: Output[]): Output[] {
  const [name = '', ...rest] = text.split('=');
  const format = names.find(one => one === name);
  if (format === undefined) throw new InvalidArgumentError(`Allowed choices are ${names.join(', ')}.`);
  return [...others, [format, rest.join('=') || undefined]];
}

async function compare(baseName: string, headName: string, options: Options): Promise<void> {
  if (baseName === '-' && headName === '-')
    throw new DocumentError('only one of the two documents can be standard input');
  const { accept, usage, header, failOn } = options;
  const [base, head] = await Promise.all([readSource(baseName, header), readSource(headName, header)]);
  const acceptances = accept === undefined ? [] : parseAcceptances(accept, (await readSource(accept)).text);
  const found = compareDocuments(parseDocument(base.name, base.text), parseDocument(head.name, head.text));
  const { difference: judged, unused } = acceptChanges(found, acceptances);
  for (const { rule, at } of unused) console.error(`warning: ${accept} accepts ${rule} at ${at}, which did not change`);
  const used = usage === undefined ? undefined : await readSource(usage, header);
  const difference = used ? judgeByUsage(judged, parseUsage(used.name, used.text)) : judged;
  const outputs: Output[] = options.format.length > 0 ? options.format : [['text', undefined]];
  for (const [format, file] of outputs) {
    const text = formats[format](difference, head);
    if (file === undefined) process.stdout.write(text);
    else await write(file, text);
  }
  const grave = failOn === 'none' ? [] : levels.slice(0, levels.indexOf(failOn) + 1);
  process.exitCode = grave.some(level => difference.counts[level] > 0) ? 1 : 0;
}

async function write(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (error) {
    throw new DocumentError(`${file} cannot be written: ${(error as Error).message}`);
  }
}
