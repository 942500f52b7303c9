import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { migrate } from '../../server/database/migrator.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { createWorld } from '../helpers/fixtures.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFile(new URL(path, root), 'utf8');

/** Returns the code blocks of a documentation page that are in the given language. */
async function blocksOf(page: string, language: string): Promise<string[]> {
  const blocks = (await read(page)).matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'));
  return [...blocks].map(([, block = '']) => block);
}

test('the tutorial docs/extensions.md contains exactly the code of the example extension', async () => {
  const files = 'test/fixtures/extensions/form-inbox/';
  const extension = (await read(`${files}extension.ts`)).replace(
    /'[./]*server\/extensions\/extension\.ts'/,
    "'idea-board/extension'",
  );
  const plain = (text: string) =>
    text
      .split('\n')
      .map(line => line.trim())
      .filter(line => line !== '');
  const shown = (await blocksOf('docs/extensions.md', 'ts')).flatMap(plain);
  const signature = plain(await read(`${files}signature.ts`));
  // The tutorial shows the lines in another order than the source files, so the test sorts the lines.
  const written = [...plain(extension), ...signature].filter(line => line !== '});' && line !== '}');
  expect(shown.filter(line => line !== '});' && line !== '}').sort()).toEqual(written.sort());
  expect(await blocksOf('docs/extensions.md', 'sql')).toEqual([await read(`${files}migrations/0001_submissions.sql`)]);
});

test('the example migrations in the upgrade guide can be applied one after another and copy the existing data', async () => {
  const db = await createTestDatabase();
  onTestFinished(() => db.drop());
  await createWorld(db);
  await db.sql(`update boards set description = 'As it was'`);
  const directory = await mkdtemp(join(tmpdir(), 'idea-board-migrations-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const stream = { name: 'example', directory };
  const blocks = await blocksOf('docs/upgrading.md', 'sql');
  expect(blocks).toHaveLength(5);
  for (const [index, sql] of blocks.entries()) {
    const name = /^-- \d{4}(_\w+\.sql)$/m.exec(sql)?.[1];
    await writeFile(join(directory, `${String(index + 1).padStart(4, '0')}${name}`), sql);
    await migrate(db.url, [stream]);
    // During an upgrade, a server of the previous version still runs. It may run a statement such as this one, which
    // does not name the new column.
    if (index === 0) await db.sql(`update boards set description = 'As an old server wrote it'`);
  }
  expect(await db.sql('select summary from boards')).toEqual([{ summary: 'As an old server wrote it' }]);
});
