import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compilingMs, repository } from './packed.ts';

const run = promisify(execFile);

/**
 * The test copies these files and all files that they import: the code and the type test that use comment_count, and
 * the generators.
 */
const sources = [
  'server/domain/ideas/present-idea.ts',
  'test/client/surface.test.ts',
  ...['openapi', 'client-contract', 'package-api', 'build-package'].map(script => `scripts/${script}.ts`),
];

let copy: string;

beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), 'idea-board-drift-'));
  const filter = (path: string) => !['node_modules', 'dist'].includes(basename(path));
  const whole = ['contract', 'client', 'package.json', 'tsconfig.package.json', 'biome.json', '.gitignore'];
  for (const path of [...whole, ...(await importedBy(sources))]) {
    await cp(join(repository, path), join(copy, path), { recursive: true, filter });
  }
  await symlink(join(repository, 'node_modules'), join(copy, 'node_modules'));
  const configuration = JSON.parse(await readFile(join(repository, 'tsconfig.json'), 'utf8'));
  // Uses a single type checker. Several type checkers would each check the shared files, which takes longer.
  configuration.compilerOptions.checkers = 1;
  await writeFile(join(copy, 'tsconfig.json'), JSON.stringify(configuration));
});

afterAll(() => rm(copy, { recursive: true }));

/** Returns the given files and all files in the repository that they import, directly or indirectly. */
async function importedBy(files: readonly string[]): Promise<Set<string>> {
  const found = new Set(files);
  // The loop also visits the paths that are added to the set while it runs.
  for (const file of found) {
    const text = await readFile(join(repository, file), 'utf8');
    for (const [, path = ''] of text.matchAll(/(?:from |import\()'(\.[^']+)'/g)) found.add(join(dirname(file), path));
  }
  return found;
}

/** Runs a command in the copy of the repository. Returns its output and whether it succeeded. */
async function inCopy(command: string, ...args: string[]): Promise<{ ok: boolean; output: string }> {
  const options = { cwd: copy, maxBuffer: 64 * 1024 * 1024 };
  return run(command, args, options).then(
    ({ stdout, stderr }) => ({ ok: true, output: stdout + stderr }),
    ({ stdout, stderr }) => ({ ok: false, output: stdout + stderr }),
  );
}

const check = (script: string, ...args: string[]) =>
  inCopy(process.execPath, `scripts/${script}.ts`, '--check', ...args);

async function rename(directory: string, from: string, to: string) {
  for (const file of await readdir(join(copy, directory), { recursive: true })) {
    if (!file.endsWith('.ts')) continue;
    const path = join(copy, directory, file);
    const text = await readFile(path, 'utf8');
    if (text.includes(from)) await writeFile(path, text.replaceAll(from, to));
  }
}

test('after a field is renamed in the contract, `npm run check` reports code that uses the old name and generated files that are outdated', {
  timeout: compilingMs,
}, async () => {
  await rename('contract', 'comment_count', 'number_of_comments');
  const checked = await inCopy('npm', 'run', 'check');
  expect(checked.ok).toBe(false);
  expect(checked.output).toMatch(/^server\/domain\/ideas\/present-idea\.ts.*'comment_count'/m);
  expect(checked.output).toMatch(/^test\/client\/surface\.test\.ts/m);
  // The check must not fail because a file is missing from the copy.
  expect(checked.output).not.toContain('Cannot find module');

  // After the field is also renamed in the server and in the tests, only the generated files are stale.
  for (const directory of ['server', 'test']) await rename(directory, 'comment_count', 'number_of_comments');
  expect(await check('openapi')).toMatchObject({ ok: false, output: expect.stringContaining('npm run openapi') });
  expect(await check('client-contract')).toMatchObject({
    ok: false,
    output: expect.stringContaining('npm run client:contract'),
  });
  await inCopy(process.execPath, 'scripts/client-contract.ts');
  expect(await check('package-api', 'client')).toMatchObject({
    ok: false,
    output: expect.stringContaining('npm run packages:api'),
  });
});
