import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cliOn } from '../cli/run-cli.ts';
import { createDatabaseForFile } from '../helpers/database.ts';
import { makeDirectoryForFile } from './temporary-directory.ts';

const directory = await makeDirectoryForFile();
const db = await createDatabaseForFile();
const cli = cliOn(db.url);

async function createAccount(slug: string): Promise<void> {
  await cli.json(
    ...['account', 'create', '--slug', slug, '--name', slug],
    ...['--owner-email', 'owner@example.com', '--owner-name', 'The owner'],
  );
}

test('a later import of new ideas succeeds after an admin has removed a tag and a status of the first import, and added only the status again', async () => {
  await createAccount('registry');
  const file = join(directory, 'ideas.csv');
  const command = ['import', file, '--from', 'csv', '--account', 'registry', '--board', 'ideas'];
  await writeFile(file, 'id,title,status,tags\n1,First,open,mobile\n');
  await cli.json(...command);
  const onBoard = ['--account', 'registry', '--board', 'ideas'];
  await cli.json('tag', 'remove', 'mobile', ...onBoard);
  await cli.json('status', 'remove', 'declined', ...onBoard);
  await cli.json('status', 'add', '--key', 'declined', '--category', 'declined', '--label', 'No', ...onBoard);

  await writeFile(file, 'id,title,status,tags\n1,First,open,mobile\n2,Second,open,mobile\n3,Third,declined,\n');
  expect(await cli.json(...command)).toMatchObject({
    imported: { status: 1, tag: 1, idea: 2 },
    refused: 0,
  });
  const ideas = `select i.title, s.label, array(
      select t.name from idea_tags it join tags t on t.id = it.tag_id where it.idea_id = i.id
    ) as tags
    from ideas i join statuses s on s.id = i.status_id join accounts a on a.id = i.account_id
    where a.slug = 'registry' order by i.id`;
  const expected = [
    { title: 'First', label: 'Open', tags: [] },
    { title: 'Second', label: 'Open', tags: ['mobile'] },
    { title: 'Third', label: 'No', tags: [] },
  ];
  expect(await db.sql(ideas)).toEqual(expected);
  expect(Object.values((await cli.json<{ imported: object }>(...command)).imported).filter(Boolean)).toEqual([]);
  expect(await db.sql(ideas)).toEqual(expected);
});
