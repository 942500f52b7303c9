import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cliOn } from '../cli/run-cli.ts';
import { createDatabaseForFile } from '../helpers/database.ts';
import { createWorld } from '../helpers/fixtures.ts';
import { makeDirectoryForFile } from './temporary-directory.ts';

const directory = await makeDirectoryForFile();
const db = await createDatabaseForFile();
const cli = cliOn(db.url);

interface Idea {
  title: string;
  board: string;
  [field: string]: unknown;
}

/**
 * Imports a CSV file into a new account. Returns the reasons of the refusals, each with its line, and the ideas of the
 * account. Checks that a repeated import changes nothing.
 */
async function importCsv(...content: (string | Buffer)[]) {
  const { accountId } = await createWorld(db);
  const [{ slug } = { slug: '' }] = await db.sql<{ slug: string }>('select slug from accounts where id = $1', [
    accountId,
  ]);
  const file = join(directory, 'ideas.csv');
  await writeFile(file, Buffer.concat(content.flatMap(line => [Buffer.from(line), Buffer.from('\n')])));
  const run = async () => {
    const { exitCode, stdout } = await cli.run('import', file, '--from', 'csv', '--account', slug, '--json');
    const report = JSON.parse(stdout) as { refusals: { place: string; reason: string }[] };
    expect(exitCode).toBe(report.refusals.length > 0 ? 1 : 0);
    const refusals = report.refusals.map(({ place, reason }) => `${place}: ${reason}`);
    const ideas = await db.sql<Idea>(
      `select i.title, i.body, b.name as board, b.slug, i.up_count as up, i.down_count as down
      from ideas i join boards b on b.id = i.board_id where i.account_id = $1 order by i.id`,
      [accountId],
    );
    return { refusals, ideas };
  };
  const result = await run();
  expect(await run()).toEqual(result);
  return result;
}

test('rows without ids that differ only in the board or in the body become two ideas with their own votes', async () => {
  const { refusals, ideas } = await importCsv(
    'title,body,board,votes',
    'Dark mode,For the phone,Mobile,7',
    'Dark mode,For the phone,Web,9',
    'Dark mode,For the tablet,Web,2',
  );
  expect(refusals).toEqual([]);
  expect(ideas).toMatchObject([
    { board: 'Mobile', body: 'For the phone', up: 7 },
    { board: 'Web', body: 'For the phone', up: 9 },
    { board: 'Web', body: 'For the tablet', up: 2 },
  ]);
});

test('an exact repetition of a row is skipped, and a row with a used id and other values is refused with the line of the first row', async () => {
  const { refusals, ideas } = await importCsv(
    'id,title,votes,author_email',
    '1,Dark mode,3,a@csv.example',
    '1,Dark mode,3,a@csv.example',
    '1,Dark mode,5,a@csv.example',
    '1,Search,3,b@csv.example',
  );
  const reason = 'idea: ideas.csv, line 2 has the same id, "csv:row:1", but other values';
  expect(refusals).toEqual([`ideas.csv, line 4: ${reason}`, `ideas.csv, line 5: ${reason}`]);
  expect(ideas).toMatchObject([{ title: 'Dark mode', up: 3 }]);
});

test('a negative number of votes becomes down votes, and a number with other characters than digits is refused', async () => {
  const { refusals, ideas } = await importCsv(
    'id,title,score',
    '1,Bell,-3',
    '2,Door,',
    '3,Dark mode,"1,234"',
    '4,Search,12 votes',
    '5,Wall,1.000',
    '6,Roof,100001',
  );
  const reason = 'vote: the number of votes must be';
  expect(refusals).toEqual([
    `ideas.csv, line 4: ${reason} a whole number without separators: "1,234"`,
    `ideas.csv, line 5: ${reason} a whole number without separators: "12 votes"`,
    `ideas.csv, line 6: ${reason} a whole number without separators: "1.000"`,
    `ideas.csv, line 7: ${reason} at most 100000: "100001"`,
  ]);
  expect(ideas).toMatchObject([{ up: 0, down: 3 }, { up: 0, down: 0 }, { up: 0 }, { up: 0 }, { up: 0 }, { up: 0 }]);
});

test('a row with more fields than the header is refused, unless the additional fields are empty', async () => {
  const { refusals, ideas } = await importCsv(
    'id,title,body,votes',
    '1,Dark mode,Please add it, we need it at night,7',
    '2,Search,"Please, soon",4,,',
    '3,Print',
  );
  expect(refusals).toEqual([
    'ideas.csv, line 2: The row has more fields than the header. Put a text with a separator in quotation marks.',
  ]);
  expect(ideas).toMatchObject([
    { title: 'Search', body: 'Please, soon', up: 4 },
    { title: 'Print', body: 'Print', up: 0 },
  ]);
});

test('a row that is not in UTF-8 is refused, and the other rows are imported', async () => {
  const { refusals, ideas } = await importCsv('id,title', Buffer.from('1,Größe', 'latin1'), '2,Größe');
  expect(refusals).toEqual([
    'ideas.csv, line 2: The row is not in UTF-8, or contains the character U+FFFD. Save the file in UTF-8.',
  ]);
  expect(ideas).toMatchObject([{ title: 'Größe' }]);
});

test('boards with different names become different boards, even if their names have the same Latin letters or none', async () => {
  const { refusals, ideas } = await importCsv(
    'id,title,board',
    '1,One,Мобильное приложение',
    '2,Two,社内ツール',
    '3,Three,C#',
    '4,Four,C++',
    '5,Five,Web App',
    '6,Six,web-app',
    '7,Seven,社内ツール',
  );
  expect(refusals).toEqual([]);
  expect(ideas.map(({ board }) => board)).toEqual([
    ...['Мобильное приложение', '社内ツール', 'C#', 'C++', 'Web App', 'Web App', '社内ツール'],
  ]);
  expect(new Set(ideas.map(({ slug }) => slug)).size).toBe(5);
  expect(ideas[2]?.slug).toBe('c');
});
