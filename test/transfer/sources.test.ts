import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { products } from '../../server/cli/import.ts';
import { categoryOf, timeOf } from '../../server/transfer/sources/foreign-records.ts';
import { sources } from '../../server/transfer/sources/sources.ts';
import { cliOn } from '../cli/run-cli.ts';
import { createDatabaseForFile } from '../helpers/database.ts';
import { brokenInvariants } from '../helpers/invariants.ts';

const db = await createDatabaseForFile();
const cli = cliOn(db.url);
const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/transfer/${name}`, import.meta.url));

interface Imported {
  title: string;
  [field: string]: unknown;
}

/** Imports files into a new account twice. Returns the ideas of the account in the order of their times. */
async function importInto(account: string, ...parameters: string[]): Promise<Imported[]> {
  await cli.json(
    ...['account', 'create', '--slug', account, '--name', account],
    ...['--owner-email', 'owner@example.com', '--owner-name', 'The owner'],
  );
  const command = ['import', ...parameters, '--account', account];
  const first = await cli.json<{ imported: Record<string, number>; refused: number }>(...command);
  expect(first.refused).toBe(0);
  const again = await cli.json<{ imported: Record<string, number>; refused: number }>(...command);
  expect([again.refused, Object.values(again.imported).filter(count => count > 0)]).toEqual([0, []]);
  return db.sql<Imported>(
    `select i.title, i.body, b.slug as board, s.key as status, i.moderation_state as state, i.up_count as up, i.down_count as down,
      case when not u.is_placeholder then u.name end as author, i.created_at, t.title as merged_into,
      array(select t.name || ' ' || t.color from idea_tags it join tags t on t.id = it.tag_id where it.idea_id = i.id order by t.name) as tags,
      array(
        select coalesce(cu.name, '') || case when c.is_official then ' (official): ' else ': ' end || c.body
        from comments c join users cu on cu.id = c.author_id where c.idea_id = i.id order by c.id
      ) as comments,
      array(
        select nu.name || ': ' || n.body from idea_notes n join users nu on nu.id = n.author_id
        where n.idea_id = i.id order by n.id
      ) as notes,
      array(select fu.name from followers f join users fu on fu.id = f.user_id where f.idea_id = i.id order by 1) as followers
    from ideas i join boards b on b.id = i.board_id join statuses s on s.id = i.status_id join users u on u.id = i.author_id
      left join ideas t on t.id = i.merged_into_id join accounts a on a.id = i.account_id
    where a.slug = $1 order by i.created_at, i.id`,
    [account],
  );
}

const membersOf = async (account: string) =>
  db.sql(
    `select u.email, m.role from memberships m join users u on u.id = m.user_id join accounts a on a.id = m.account_id
    where a.slug = $1 and u.email <> 'owner@example.com' order by u.email`,
    [account],
  );

test('the import command accepts exactly the names of the products that have an importer', () => {
  expect(Object.keys(sources).sort()).toEqual([...products]);
});

test('an import of a Fider backup creates ideas with their official responses, comments, votes, tags, followers and merged duplicates', async () => {
  const [dark, night, missing, ...others] = await importInto(
    'fider',
    fixture('fider'),
    '--from',
    'fider',
    '--board',
    'ideas',
  );
  expect(others).toEqual([]);
  expect(dark).toMatchObject({
    title: 'Dark theme',
    body: 'For the *evenings*.',
    board: 'ideas',
    status: 'planned',
    up: 3,
    author: 'Tomas Berg',
    tags: ['Design #ff8800'],
    comments: ['Nora Lindqvist: Yes please', 'Nora Lindqvist (official): We begin in autumn.'],
    followers: ['Nora Lindqvist', 'Tomas Berg'],
  });
  expect(dark?.created_at).toBe('2024-02-05 10:00:00.5+00');
  expect(night).toMatchObject({
    title: 'Night colors',
    body: 'Night colors',
    status: 'declined',
    merged_into: 'Dark theme',
  });
  expect(missing).toMatchObject({ title: '404', status: 'in_progress', followers: ['Nora Lindqvist', 'Tomas Berg'] });
  // Ordinary users of Fider do not become members, and an administrator of Fider becomes an ordinary member.
  expect(await membersOf('fider')).toEqual([{ email: 'nora@fider.example', role: 'member' }]);
  const blocks = await db.sql(`select u.email from user_blocks b join users u on u.id = b.user_id`);
  expect(blocks).toEqual([{ email: 'spam@fider.example' }]);
});

test('an import of the CSV file of Fider creates ideas with the numbers of their votes', async () => {
  const ideas = await importInto('fider-csv', fixture('fider-posts.csv'), '--from', 'fider', '--board', 'ideas');
  expect(ideas).toMatchObject([
    {
      title: 'Dark theme',
      body: 'For the evenings,\nand "nights"',
      up: 3,
      author: 'Tomas Berg',
      tags: ['Design #64748b', 'UI #64748b'],
      comments: ['Nora Lindqvist (official): We begin in autumn.'],
    },
    { title: 'Night colors', up: 1, author: 'Ines', merged_into: 'Dark theme' },
  ]);
  const signIns = await db.sql(`select from users where name = 'Ines' and email not like '%@identity.invalid'`);
  expect(signIns).toEqual([]);
});

test('an import of responses of the Canny API creates ideas with votes and comments, and notes from internal comments', async () => {
  const ideas = await importInto('canny', fixture('canny'), '--from', 'canny', '--status', 'closed=archived');
  expect(ideas).toMatchObject([
    {
      title: 'Webhooks',
      board: 'feature-requests',
      status: 'in_progress',
      up: 2,
      author: 'Sara Holm',
      tags: ['api #64748b'],
      comments: ['Ada Minner (official): We are on it.'],
      notes: ['Ada Minner: Only for the team'],
    },
    { title: 'Fax', status: 'archived', up: 0, author: null },
  ]);
});

test('an import of a Quackback export creates ideas with votes and comments, and notes from private comments, also from a single CSV file', async () => {
  const ideas = await importInto('quackback', fixture('quackback'), '--from', 'quackback');
  expect(ideas).toMatchObject([
    {
      title: '=SUM in exports',
      body: 'Line one\nline two',
      board: 'product',
      status: 'done',
      up: 2,
      author: 'Kim Dahl',
      tags: ['Speed #3b82f6'],
      comments: ['Kim Dahl: Works', 'Team (official): Out now'],
      notes: ['Team: For the team'],
    },
    { title: 'Empty', body: 'Empty', status: 'open', up: 0, author: null },
  ]);
  const single = await importInto('quackback-board', fixture('quackback-posts.csv'), '--from', 'quackback');
  expect(single).toMatchObject([{ title: 'SSO', board: 'product', status: 'planned', up: 4, author: 'Kim Dahl' }]);
});

test('an import of the tables of Astuto creates ideas with votes and comments, from CSV files and from API responses', async () => {
  const ideas = await importInto('astuto', fixture('astuto'), '--from', 'astuto', '--with-roles');
  expect(ideas).toMatchObject([
    {
      title: 'Kalender',
      body: 'Mit "Wochen"',
      board: 'ideen',
      status: 'in_progress',
      state: 'published',
      up: 1,
      author: 'Uwe',
      comments: ['Die Chefin (official): Bald!'],
      followers: ['Die Chefin', 'Uwe'],
    },
    { title: 'Anonymer Wunsch', state: 'pending', status: 'open', author: null },
  ]);
  expect(await membersOf('astuto')).toEqual([{ email: 'chef@astuto.example', role: 'owner' }]);
  const ofApi = await importInto('astuto-api', fixture('astuto-api'), '--from', 'astuto');
  expect(ofApi).toMatchObject([{ title: 'Kalender', board: 'ideen', status: 'in_progress', up: 1, author: 'Uwe' }]);
});

test('an import of GitHub issues and discussions creates ideas with the numbers of their reactions', async () => {
  const ideas = await importInto('github', fixture('github'), '--from', 'github', '--board', 'app');
  expect(ideas).toMatchObject([
    {
      title: 'A command line',
      board: 'app',
      status: 'done',
      up: 3,
      down: 1,
      author: 'Hubber',
      tags: ['enhancement #a2eeef'],
      comments: ['maintainer: Done in 2.0'],
    },
    { title: 'A plugin system', status: 'open', up: 2, comments: ['Deleted user: A ghost agrees'] },
    { title: 'Themes', status: 'declined', up: 5, author: 'painter', comments: ['Hubber: Nice', 'painter: Thanks'] },
  ]);
});

test("an import of a CSV file creates an idea from each row, and the options --column choose the columns for the idea's fields", async () => {
  const columns = ['title=Subject', 'body=Text', 'status=State', 'author_name=Who', 'author_email=Mail', 'votes=Likes'];
  const ideas = await importInto(
    ...([
      'csv',
      fixture('ideas.csv'),
      '--from',
      'csv',
      '--board',
      'ideas',
      '--status',
      'evaluating=under_review',
    ] as const),
    ...[...columns, 'id=Ref', 'created_at=When', 'tags=Area'].flatMap(column => ['--column', column]),
  );
  expect(ideas).toMatchObject([
    {
      title: 'Offline mode',
      body: 'Trains, planes',
      status: 'under_review',
      up: 2,
      author: 'Lea',
      created_at: '2021-05-06 00:00:00+00',
      tags: ['mobile #64748b'],
    },
    { title: 'Push', status: 'done', created_at: '2021-05-07 06:00:00+00', tags: ['mobile #64748b', 'web #64748b'] },
  ]);
  expect(await cli.refusal('import', fixture('astuto/likes.csv'), '--from', 'csv', '--account', 'csv')).toMatch(
    /^The file has no column for the title/,
  );
});

test("an import into an existing board keeps the name and the statuses of the board, and gives imported ideas the board's closest matching statuses", async () => {
  await cli.json(
    ...['account', 'create', '--slug', 'present', '--name', 'Present'],
    ...['--owner-email', 'owner@example.com', '--owner-name', 'The owner'],
  );
  const board = ['--account', 'present', '--board', 'ideas'];
  await cli.json('board', 'create', '--account', 'present', '--slug', 'ideas', '--name', 'Our ideas');
  await db.sql(
    `update statuses set key = 'building' where key = 'in_progress' and account_id = (select id from accounts where slug = 'present')`,
  );
  await cli.json('import', fixture('fider'), '--from', 'fider', ...board);
  expect(await cli.json('board', 'list', '--account', 'present')).toMatchObject([{ slug: 'ideas', name: 'Our ideas' }]);
  const [{ count } = { count: 0 }] = await db.sql<{ count: number }>(
    `select count(*)::int as count from statuses s join accounts a on a.id = s.account_id where a.slug = 'present'`,
  );
  expect(count).toBe(6);
  const started = await db.sql(
    `select i.title, s.key from ideas i join statuses s on s.id = i.status_id join accounts a on a.id = i.account_id
    where a.slug = 'present' and s.category = 'active'`,
  );
  expect(started).toEqual([{ title: '404', key: 'building' }]);
});

test('imported data obey the invariants of the Idea-Board database, except that one person may write two comments in a row', async () => {
  // Other products allow several comments of one person in a row.
  const { 'two consecutive comments have different authors': _, ...broken } = await brokenInvariants(db);
  expect(broken).toEqual({});
  const [wrong] = await db.sql<{ count: number }>(
    `select count(*)::int as count from ideas i join idea_terms t on t.account_id = i.account_id and t.idea_id = i.id
    where (i.moderation_state = 'published') <> (t.terms <> '')
      or i.comment_count <> (select count(*) from comments c where c.idea_id = i.id)`,
  );
  expect(wrong).toEqual({ count: 0 });
});

test.each([
  ['Under review', 'inbox'],
  ['Not planned', 'declined'],
  ['On the roadmap', 'planned'],
  ['In Development', 'active'],
  ['Shipped 🚀', 'completed'],
  ['Won’t do', 'declined'],
  ['Archived', 'archived'],
  ['', 'inbox'],
])('a status %j of another product has the category %s', (name, category) => {
  expect(categoryOf(name)).toBe(category);
});

test.each([
  ['2022-02-01 10:00:00.5', '2022-02-01T10:00:00.500Z'],
  ['2022-02-01', '2022-02-01T00:00:00.000Z'],
  ['2022-02-01 10:00:00 UTC', '2022-02-01T10:00:00.000Z'],
  ['2022-02-01 10:00:00+02', '2022-02-01T08:00:00.000Z'],
  ['2022-02-01T10:00:00.123456Z', '2022-02-01T10:00:00.123Z'],
])('an import reads the time %s of another product as %s', (given, time) => {
  expect(timeOf(given)).toBe(time);
});
