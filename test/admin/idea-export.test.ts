import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { beforeEach, expect, test } from 'vitest';
import { cliOn } from '../cli/run-cli.ts';
import { readAudit } from '../helpers/audit.ts';
import { createMember, createTag, createWorld, insertIdea, type World } from '../helpers/fixtures.ts';
import { startServerForFile } from '../helpers/server.ts';
import { makeDirectoryForFile } from '../transfer/temporary-directory.ts';
import { hiddenFields, signedIn, type Visitor } from './visitor.ts';

let world: World;
let moderatorId: number;
let moderator: Visitor;

const server = await startServerForFile();
const directory = await makeDirectoryForFile();
beforeEach(async () => {
  world = await createWorld(server);
  moderatorId = await createMember(server, world.accountId, 'moderator');
  moderator = await signedIn(server, moderatorId);
  server.auditLines.length = 0;
});

const listPath = (query = '') => `/admin/ideas?board=${world.boardSlug}${query}`;
const exportPath = (query = '') => `/admin/ideas/export?board=${world.boardSlug}${query}`;

/** Downloads the file of a list with the button on the page of the list. */
const download = (query = '') => moderator.submit(listPath(query), exportPath(query));

/** Reads a file as a spreadsheet does. */
const rowsOf = (file: string): Record<string, string>[] => parse(file, { columns: true, bom: true });

const exportsInAudit = () => readAudit(server.auditLines).filter(({ event }) => event === 'board.ideas_exported');

test('a moderator downloads the ideas of a list as a CSV file with the values of the API', async () => {
  const tagId = await createTag(server, world.accountId, world.boardId, 'Größe');
  const id = await insertIdea(server, world, { title: 'A "dark", quiet theme', body: 'Line 1\nLine 2' });
  await server.sql('insert into idea_tags (account_id, idea_id, tag_id) values ($1, $2, $3)', [
    world.accountId,
    id,
    tagId,
  ]);
  await server.sql('update ideas set up_count = 1, down_count = 3 where id = $1', [id]);
  await insertIdea(server, world, { title: 'Awaits approval', moderationState: 'pending' });
  const { status, headers, html } = await download();
  expect(status).toBe(200);
  expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
  expect(headers.get('content-disposition')).toMatch(
    new RegExp(`^attachment; filename="ideas-${world.boardSlug}-\\d{4}-\\d\\d-\\d\\d\\.csv"$`),
  );
  expect(headers.get('cache-control')).toBe('no-store');
  expect(html.split('\r\n')[0]).toContain(
    '"id","title","body","status","status_label","tags","score","up_count","down_count"',
  );
  expect(rowsOf(html)).toEqual([
    {
      id: String(id),
      title: 'A "dark", quiet theme',
      body: 'Line 1\nLine 2',
      status: 'open',
      status_label: 'open',
      tags: 'Größe',
      score: '-2',
      up_count: '1',
      down_count: '3',
      comment_count: '0',
      author_name: 'The owner',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      url: `${server.config.BASE_URL}/b/${world.boardSlug}/ideas/${id}`,
    },
  ]);
  expect(exportsInAudit()).toEqual([
    expect.objectContaining({ by: 'user', by_user_id: moderatorId, board_id: world.boardId }),
  ]);
});

test('the file has every idea of the list once, the newest first, and only ideas that match the filter and the search', async () => {
  await server.sql(
    `insert into ideas (account_id, board_id, author_id, status_id, title, body, moderation_state, created_at)
    select $1, $2, $3, (select id from statuses where board_id = $2 and key = case when n % 5 = 0 then 'done' else 'open' end),
      'Idea ' || n || case when n % 2 = 0 then ' even' else '' end, 'Text', 'published', now() - (n / 3) * interval '1 hour'
    from generate_series(1, 250) n`,
    [world.accountId, world.boardId, world.ownerId],
  );
  const titlesOf = async (query = '') => rowsOf((await download(query)).html).map(({ title }) => title);
  const all = await titlesOf('&sort=top');
  const stored = await server.sql<{ title: string }>(
    'select title from ideas where board_id = $1 order by created_at desc, id desc',
    [world.boardId],
  );
  expect(all).toEqual(stored.map(({ title }) => title));
  expect(await titlesOf('&status_key=done')).toHaveLength(50);
  expect(await titlesOf('&status_key=done&q=even')).toHaveLength(25);
  const tagId = await createTag(server, world.accountId, world.boardId, 'Design');
  await server.sql(
    `insert into idea_tags (account_id, idea_id, tag_id) select account_id, id, $2 from ideas where board_id = $1 and title like 'Idea 1%'`,
    [world.boardId, tagId],
  );
  // 10, 15, and every fifth number from 100 to 195.
  expect(await titlesOf('&status_key=done&tag=Design')).toHaveLength(22);
});

test('a spreadsheet does not run a text of the file as a formula, and still reads negative numbers', async () => {
  const texts = ['=HYPERLINK("http://evil.example")', '+1', '-1', '@SUM(1)', '＝1'];
  for (const text of texts) await insertIdea(server, world, { title: text, body: text });
  await server.sql(`update users set name = '=1+1' where id = ${world.ownerId}`);
  await server.sql(`update ideas set down_count = 3 where board_id = ${world.boardId}`);
  const rows = rowsOf((await download()).html);
  expect(rows.map(({ title, body }) => [title, body]).sort()).toEqual(
    texts.map(text => [`'${text}`, `'${text}`]).sort(),
  );
  expect(new Set(rows.map(({ author_name, score }) => `${author_name} ${score}`))).toEqual(new Set(["'=1+1 -3"]));
});

test('a spreadsheet that separates cells at semicolons or tabs does not run a part of a text as a formula', async () => {
  const parts = [';=1+1', '; =2', ';"=1+1&"', ';"\t+1', '\n-1', '\r\n@SUM(1)', '\r＝1'];
  for (const part of parts) await insertIdea(server, world, { title: `Dark${part};`, body: `Dark${part};` });
  const { html } = await download();
  for (const separator of [';', '\t']) {
    expect(cellsOf(html, separator).filter(cell => /^\s*[=+\-@＝＋－＠]/.test(cell))).toEqual([]);
  }
  const titles = rowsOf(html).map(({ title }) => title);
  const escaped = [";'=1+1", ";' =2", `;'"=1+1&"`, `;"\t'+1`, "\n'-1", "\r\n'@SUM(1)", "\r'＝1"];
  expect(titles.sort()).toEqual(escaped.map(part => `Dark${part};`).sort());
});

/**
 * Reads the cells as a spreadsheet with another separator than the file does. A quotation mark counts only at the
 * beginning of a cell. The cell continues after the second quotation mark.
 */
function cellsOf(file: string, separator: string): string[] {
  const cell = new RegExp(`(?:"((?:[^"]|"")*)")?([^${separator}\\r\\n]*)(?:[${separator}\\r\\n]|$)`, 'g');
  return [...file.matchAll(cell)].map(([, quoted = '', rest]) => quoted.replaceAll('""', '"') + rest);
}

test('the file of an empty list has only the names of the columns', async () => {
  const file = await (await moderator.submitForFile(listPath(), exportPath())).arrayBuffer();
  // The file begins with a byte order mark, which text() of a response would remove.
  expect(new TextDecoder('utf-8', { ignoreBOM: true }).decode(file)).toMatch(
    /^\ufeff"id","title",[a-z_",]+,"url"\r\n$/,
  );
});

test('after ten downloads in an hour, the list says that there were too many, and the audit log has ten entries', async () => {
  await insertIdea(server, world, { title: 'Dark theme' });
  for (let count = 0; count < 10; count++) expect((await download()).status).toBe(200);
  const { status, headers, html } = await download();
  expect(status).toBe(429);
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  expect(html).toContain('There were too many downloads');
  expect(html).toContain('Dark theme');
  expect((await moderator.get(exportPath())).html).toContain('Dark theme');
  expect(exportsInAudit()).toHaveLength(10);
});

test('if a person stops being a moderator during a download, the server breaks the connection', async () => {
  await server.sql(
    `insert into ideas (account_id, board_id, author_id, status_id, title, body, moderation_state)
    select $1, $2, $3, (select id from statuses where board_id = $2 and key = 'open'), 'Idea ' || n, repeat('text ', 2000), 'published'
    from generate_series(1, 3000) n`,
    [world.accountId, world.boardId, world.ownerId],
  );
  // The file has 30 MB, more than the connection buffers, so the server waits until the client reads on.
  const { body } = await moderator.submitForFile(listPath(), exportPath());
  const reader = body?.getReader();
  await reader?.read();
  await server.sql(`update memberships set role = 'member' where user_id = ${moderatorId}`);
  const readAll = async () => {
    while (!(await reader?.read())?.done);
  };
  await expect(readAll()).rejects.toThrow();
});

test('an import of the downloaded file into another account creates the same ideas', async () => {
  const tagId = await createTag(server, world.accountId, world.boardId, 'Design');
  for (const [title, status] of [
    ['Dark theme', 'planned'],
    ['Export, as "PDF"', 'done'],
  ] as const) {
    const id = await insertIdea(server, world, { title, body: `About\n${title}` });
    await server.sql(
      'update ideas set up_count = $2, status_id = (select id from statuses where board_id = $3 and key = $4) where id = $1',
      [id, 2, world.boardId, status],
    );
    await server.sql('insert into idea_tags (account_id, idea_id, tag_id) values ($1, $2, $3)', [
      world.accountId,
      id,
      tagId,
    ]);
  }
  const file = join(directory, 'ideas.csv');
  await writeFile(file, (await download()).html);
  const cli = cliOn(server.url);
  await cli.json(
    'account',
    'create',
    '--slug',
    'copy',
    '--name',
    'Copy',
    '--owner-email',
    'copy@example.com',
    '--owner-name',
    'A',
  );
  const report = await cli.json<{ refused: number }>(
    'import',
    '--from',
    'csv',
    file,
    '--account',
    'copy',
    '--board',
    'copied',
  );
  expect(report.refused).toBe(0);
  const ideas = await server.sql(
    `select i.title, i.body, s.key as status, i.score, (select count(*)::int from idea_tags it where it.idea_id = i.id) as tags
    from ideas i join statuses s on s.id = i.status_id join accounts a on a.id = i.account_id where a.slug = 'copy' order by i.title`,
  );
  expect(ideas).toEqual([
    { title: 'Dark theme', body: 'About\nDark theme', status: 'planned', score: 2, tags: 1 },
    { title: 'Export, as "PDF"', body: 'About\nExport, as "PDF"', status: 'done', score: 2, tags: 1 },
  ]);
});

test('only moderators of the account download the ideas of a board', async () => {
  const member = await signedIn(server, await createMember(server, world.accountId, 'member'));
  const other = await createWorld(server);
  const stranger = await signedIn(server, await createMember(server, other.accountId, 'moderator'));
  await insertIdea(server, world, { title: 'Dark theme' });
  const statuses = [member, stranger].map(async person => {
    const { html } = await person.get('/admin/profile');
    return (await person.post(exportPath(), hiddenFields(html, '/admin/sign-out-everywhere'))).status;
  });
  expect(await Promise.all(statuses)).toEqual([403, 404]);
  // Without a form_token, the server refuses the form also of a moderator.
  expect((await moderator.post(exportPath(), {})).status).toBe(403);
  expect(exportsInAudit()).toEqual([]);
});
