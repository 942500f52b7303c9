#!/usr/bin/env -S node --max-semi-space-size=4
/**
 * Compares two OpenAPI 3.1 documents from a client's point of view. By default, exits with 1 on a breaking change.
 * Exits with 2 if the comparison fails. docs/openapi-diff.md lists the rules.
 */
import { Command, CommanderError, Option } from 'commander';
import { compareDocuments, DocumentError, formats, levels, parseDocument, readSource, renderRules } from './main.ts';

interface Options {
  format: keyof typeof formats;
  failOn: 'breaking' | 'risky' | 'none';
}

const program = new Command('openapi-diff')
  .description(
    'Compares two OpenAPI 3.1 documents (JSON) from the side of a client. BASE and HEAD are each a file, a URL, - for standard input, git:REVISION (of contract/openapi.json), git:REVISION:PATH or REVISION:PATH.',
  )
  .argument('<BASE>', 'the old document, which clients use')
  .argument('<HEAD>', 'the document to check')
  .addOption(new Option('--format <format>', 'the output format').choices(Object.keys(formats)).default('text'))
  .addOption(
    new Option('--fail-on <level>', 'the lowest level that ends with status 1')
      .choices(['breaking', 'risky', 'none'])
      .default('breaking'),
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
  // Exit status 1 means breaking changes, so an error needs another status.
  process.exitCode = error instanceof CommanderError && error.exitCode === 0 ? 0 : 2;
  if (error instanceof DocumentError) console.error(`error: ${error.message}`);
  else if (!(error instanceof CommanderError)) console.error('error: the comparison failed:', error);
}

async function compare(baseName: string, headName: string, { format, failOn }: Options): Promise<void> {
  if (baseName === '-' && headName === '-')
    throw new DocumentError('only one of the two documents can be standard input');
  const [base, head] = await Promise.all([readSource(baseName), readSource(headName)]);
  const difference = compareDocuments(parseDocument(base.name, base.text), parseDocument(head.name, head.text));
  process.stdout.write(formats[format](difference, head));
  const grave = failOn === 'none' ? [] : levels.slice(0, levels.indexOf(failOn) + 1);
  process.exitCode = grave.some(level => difference.counts[level] > 0) ? 1 : 0;
}
