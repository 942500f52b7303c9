import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { readStreams } from '../../server/database/migration-files.ts';

const scripts = fileURLToPath(new URL('../../scripts/', import.meta.url));

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'idea-board-migrations-'));
  onTestFinished(() => rm(directory, { recursive: true }));
});

/** Runs a script of the project with the test's directory of migrations. Returns the exit status and the output. */
function run(script: 'new-migration' | 'migration-checksums', ...given: string[]) {
  return new Promise<{ status: number; said: string }>(resolve => {
    const parameters = [join(scripts, `${script}.ts`), '--directory', directory, ...given];
    execFile(process.execPath, parameters, (error, stdout, stderr) =>
      resolve({ status: error ? Number(error.code) : 0, said: stdout + stderr }),
    );
  });
}

const files = async () => (await readdir(directory)).sort();

test('npm run migration:new creates a migration that has the next number and no statements', async () => {
  expect(await run('new-migration', 'first_things')).toMatchObject({ status: 0 });
  const { said } = await run('new-migration', 'more');
  expect(said.trimEnd()).toMatch(/0002_more\.sql$/);
  expect(await files()).toEqual(['0001_first_things.sql', '0002_more.sql']);
  const statements = (await readStreams([{ name: 'an-extension', directory }])).map(({ sql }) =>
    sql.replace(/^--.*$/gm, '').trim(),
  );
  expect(statements).toEqual(['', '']);
});

test('if npm run migration:new runs several times at the same time, each created migration has a different number', async () => {
  const results = await Promise.all(['a', 'b', 'c'].map(name => run('new-migration', name)));
  const made = results.filter(({ status }) => status === 0).length;
  expect(made).toBeGreaterThan(0);
  expect(await readStreams([{ name: 'an-extension', directory }])).toHaveLength(made);
});

test('npm run migration:new creates nothing if the name is invalid or the existing migrations are inconsistent', async () => {
  for (const name of ['add-color', '../up']) {
    expect(await run('new-migration', name)).toMatchObject({ status: 1, said: expect.stringContaining('lower-case') });
  }
  await writeFile(join(directory, '0002_gap.sql'), '');
  expect(await run('new-migration', 'next')).toMatchObject({
    status: 1,
    said: expect.stringContaining('0002_gap.sql'),
  });
  expect(await files()).toEqual(['0002_gap.sql']);
});

test('npm run migration:land stores the checksum of a new migration, and fails if a stored migration changes in more than its line endings', async () => {
  await writeFile(join(directory, '0001_baseline.sql'), 'select 1;\n');
  expect(await run('migration-checksums', '--check')).toMatchObject({
    status: 1,
    said: expect.stringContaining('is new'),
  });
  expect(await run('migration-checksums')).toEqual({ status: 0, said: '' });
  expect(await readFile(join(directory, 'SHA256SUMS'), 'utf8')).toMatch(/^[0-9a-f]{64} {2}0001_baseline\.sql\n$/);
  await writeFile(join(directory, '0001_baseline.sql'), 'select 1;\r\n');
  expect(await run('migration-checksums', '--check')).toEqual({ status: 0, said: '' });
  await writeFile(join(directory, '0001_baseline.sql'), 'select 2;\n');
  for (const parameters of [[], ['--check']]) {
    expect(await run('migration-checksums', ...parameters)).toMatchObject({
      status: 1,
      said: expect.stringMatching(/0001_baseline\.sql was changed or removed after it landed/),
    });
  }
});
