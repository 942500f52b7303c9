import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { cliOn } from '../cli/run-cli.ts';
import { createDatabaseForFile, createTestDatabase } from '../helpers/database.ts';
import { createUser, createWorld, insertComment, insertIdea } from '../helpers/fixtures.ts';
import { expectInvariants } from '../helpers/invariants.ts';
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

interface Counts {
  imported: Record<string, number>;
  refused: number;
}

/** Returns the number of imported records of each type that has imported records. */
const written = ({ imported }: Counts) => Object.fromEntries(Object.entries(imported).filter(([, count]) => count > 0));

/** Exports an account. Returns the file and its records. */
async function exportFrom(on: typeof cli, account: string, name: string) {
  const file = join(directory, name);
  await on.json('export', '--account', account, '--out', file);
  const content = await readFile(file, 'utf8');
  return {
    file,
    content,
    records: content
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line)),
  };
}

/** Creates an account with two ideas, a comment, a note, a vote and an undone merge. */
async function createFilledAccount() {
  const world = await createWorld(db);
  const [first, second] = [await insertIdea(db, world, { title: 'First' }), await insertIdea(db, world)];
  const comment = await insertComment(db, world, first);
  await db.sql(
    `with voter as (insert into voters (account_id, user_id) values ($1, $4) returning id), note as (
      insert into idea_notes (account_id, idea_id, author_id, body) values ($1, $2, $4, 'A note')
    ), merge as (
      insert into merges (account_id, source_id, target_id, merged_at, unmerged_at)
      values ($1, $2, $3, now() - interval '1 day', now())
    ), vote as (insert into votes (account_id, idea_id, voter_id, value) select $1, $2, id, 1 from voter)
    update ideas set up_count = 1 where id = $2`,
    [world.accountId, first, second, world.ownerId],
  );
  const [{ slug, email } = { slug: '', email: '' }] = await db.sql<{ slug: string; email: string }>(
    'select a.slug, u.email from accounts a, users u where a.id = $1 and u.id = $2',
    [world.accountId, world.ownerId],
  );
  return { world, slug, email, first, comment };
}

test("an import of an account's own archive changes nothing, and brings no deleted comment back", async () => {
  const { slug, first, comment } = await createFilledAccount();
  const before = await exportFrom(cli, slug, 'own.jsonl');
  expect(written(await cli.json<Counts>('import', before.file, '--account', slug, '--with-roles'))).toEqual({});
  expect((await exportFrom(cli, slug, 'own-again.jsonl')).content).toBe(before.content);

  await db.sql('delete from comments where id = $1', [comment]);
  await db.sql(`update ideas set title = 'Edited', comment_count = 0 where id = $1`, [first]);
  expect(written(await cli.json<Counts>('import', before.file, '--account', slug))).toEqual({});
  const { records } = await exportFrom(cli, slug, 'own-edited.jsonl');
  expect(records.flatMap(({ type, title }) => (type === 'idea' ? [title] : []))).toEqual(['Edited', 'An idea']);
  expect(records.filter(({ type }) => type === 'comment')).toEqual([]);
});

test("an account's archive that another server has imported, extended and exported adds only the new records to the account", async () => {
  const { slug, email } = await createFilledAccount();
  const other = await createTestDatabase();
  afterAll(() => other.drop());
  const there = cliOn(other.url);
  await there.json(
    ...['account', 'create', '--slug', 'there', '--name', 'There'],
    ...['--owner-email', email, '--owner-name', 'The owner'],
  );
  await there.json('import', (await exportFrom(cli, slug, 'to.jsonl')).file, '--with-roles');
  await other.sql(`
    with idea as (
      insert into ideas (account_id, board_id, status_id, author_id, title, body, moderation_state)
      select account_id, board_id, status_id, author_id, 'Third', 'Its body', moderation_state from ideas limit 1
    ), comment as (
      insert into comments (account_id, idea_id, author_id, body)
      select account_id, id, author_id, 'A comment' from ideas where title = 'An idea'
    ), follower as (
      insert into followers (account_id, idea_id, user_id)
      select account_id, id, author_id from ideas where title = 'An idea'
    )
    update ideas set comment_count = 1 where title = 'An idea'`);
  const back = await exportFrom(there, 'there', 'back.jsonl');
  expect(written(await cli.json<Counts>('import', back.file, '--account', slug))).toEqual({
    idea: 1,
    comment: 1,
    follower: 1,
  });
  const after = await exportFrom(cli, slug, 'after.jsonl');
  expect(after.content).toBe(back.content);
  expect(written(await there.json<Counts>('import', after.file))).toEqual({});
  await expectInvariants(db);
});

test("an archive with the number of another account's user does not give its ideas to this user", async () => {
  const { slug } = await createFilledAccount();
  const stranger = await createUser(db, 'A stranger');
  const { file, content, records } = await exportFrom(cli, slug, 'crafted.jsonl');
  const { id } = records.find(({ type }) => type === 'person');
  const crafted = id.replace(/\d+$/, stranger);
  await writeFile(
    file,
    content.replace(`"author":"${id}"`, `"author":"${crafted}"`).replace('"type":"idea","id":"', '$&new:'),
  );
  const { stderr } = await cli.run('import', file, '--account', slug);
  expect(stderr).toContain(`no record before it has the id of its author, "${crafted}"`);
});
