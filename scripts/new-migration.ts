/**
 * Creates the file of the next migration, with a header but without SQL: `npm run migration:new add_a_column`. The
 * option `--directory DIR` selects the migrations of an extension.
 */
import { mkdir, rmdir, writeFile } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { coreStream, MigrationError, numberAt, readStreams } from '../server/database/migration-files.ts';

const header = `-- Describe the change and its reason.
--
-- During an upgrade, the previous version runs on the new schema. So a migration only adds things. A later version can
-- remove the things that no version uses any more.
-- See docs/upgrading.md, also for indexes on busy tables.

`;

try {
  console.log(relative('', await makeMigration()));
} catch (error) {
  if (!(error instanceof MigrationError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

async function makeMigration(): Promise<string> {
  const { directory, name } = readArguments();
  const stream = { name: directory === coreStream.directory ? 'core' : basename(directory), directory };
  await mkdir(directory, { recursive: true });
  return alone(directory, async () => {
    // readStreams() fails if the existing migration files are inconsistent. In this case, the script creates no new
    // file.
    const files = await readStreams([stream]);
    const path = join(directory, `${numberAt(files.length + 1)}_${name}.sql`);
    await writeFile(path, header, { flag: 'wx' });
    return path;
  });
}

function readArguments(): { directory: string; name: string } {
  const { values, positionals } = parseArgs({ options: { directory: { type: 'string' } }, allowPositionals: true });
  const [name = '', ...others] = positionals;
  if (others.length > 0 || !/^[a-z0-9]+(_[a-z0-9]+)*$/.test(name) || name.length > 60) {
    throw new MigrationError('Name the change in lower-case words: npm run migration:new add_color_to_ideas');
  }
  return { directory: values.directory === undefined ? coreStream.directory : resolve(values.directory), name };
}

/** Runs `work` while no other process creates a migration. Otherwise two processes could choose the same number. */
async function alone<T>(directory: string, work: () => Promise<T>): Promise<T> {
  const claim = join(directory, '.new-migration');
  await mkdir(claim).catch(error => {
    if (error.code !== 'EEXIST') throw error;
    throw new MigrationError(
      `Another process is creating a migration. If that is wrong, remove ${relative('', claim)}`,
    );
  });
  try {
    return await work();
  } finally {
    await rmdir(claim);
  }
}
