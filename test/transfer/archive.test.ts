import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { loadDemo } from '../../server/demo/load-demo.ts';
import { cliOn, main } from '../cli/run-cli.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { expectInvariants } from '../helpers/invariants.ts';
import { startServerForFile } from '../helpers/server.ts';
import { makeDirectoryForFile } from './temporary-directory.ts';

const directory = await makeDirectoryForFile();
const source = await startServerForFile();
await loadDemo(source.dependencies);
const [{ account_id, owner, name } = { account_id: 0, owner: '', name: '' }] = await source.sql<{
  account_id: number;
  owner: string;
  name: string;
}>(
  `select m.account_id, u.email as owner, u.name from memberships m join users u on u.id = m.user_id where m.role = 'owner'`,
);
await addRareRows(source);
const archive = join(directory, 'fieldwren.jsonl');
await cliOn(source.url).json('export', '--out', archive);
const lines = (await readFile(archive, 'utf8')).trimEnd().split('\n');
/** The number of lines without the header and the end. */
const recordCount = lines.length - 2;

/** Adds the kinds of rows that the demo lacks. */
async function addRareRows({ sql }: TestDatabase) {
  await sql(
    `update ideas set body = body || E'\\u2028\\u00e9\\n"quoted"', updated_at = updated_at + interval '1 day 1 millisecond'
    where id = (select min(id) from ideas where account_id = $1 and merged_into_id is null)`,
    [account_id],
  );
  await sql(`update comments set is_official = true, edited_at = created_at + interval '1 minute'
    where id = (select max(id) from comments)`);
  await sql(`update boards set is_frozen = true, description = '', submissions_open_at = '2026-01-02T03:04:05.678Z',
    voting_close_at = '2027-01-01' where id = (select max(id) from boards)`);
  // A rejected idea, a deleted idea, the idea of an erased user, and an idea of a user without an e-mail address.
  await sql(
    `with nobody as (
      insert into users (email, canonical_email, name)
      values ('7d1f9ad4-0000-4000-8000-000000000000@identity.invalid', '7d1f9ad4-0000-4000-8000-000000000000@identity.invalid', 'Nadia')
      returning id
    ), erased as (
      insert into users (name, is_placeholder) values ('Deleted user', true) returning id
    ), made as (
      insert into ideas (account_id, board_id, status_id, author_id, title, body, moderation_state, rejection_reason)
      select s.account_id, s.board_id, s.id, author.id, 'A rare idea', 'Its body', author.state, author.reason
      from (select * from statuses where account_id = $1 order by id limit 1) s, (
        select id, 'published' as state, null as reason from nobody union all
        select id, 'published', null from erased union all
        select id, 'rejected', 'We have this.' from nobody union all
        select id, 'deleted', null from nobody
      ) author
      returning id, author_id, moderation_state
    ), followed as (
      insert into followers (account_id, idea_id, user_id)
      select $1, made.id, nobody.id from made, nobody where moderation_state = 'published'
    )
    insert into user_blocks (account_id, user_id, reason) select $1, id, 'Spam' from nobody`,
    [account_id],
  );
  // Adds two notes about each of two ideas: one of a person whose only text is the note, and one of an erased user.
  await sql(
    `with author as (
      insert into users (email, canonical_email, name)
      values ('vera@import.example', 'vera@import.example', 'Vera') returning id
    )
    insert into idea_notes (account_id, idea_id, author_id, body, edited_at)
    select $1, i.id, u.id, E'Its note\\n"quoted"', case when u.is_placeholder then now() + interval '1 minute' end
    from (select id from ideas where account_id = $1 and moderation_state <> 'deleted' order by id limit 2) i,
      (select id, false as is_placeholder from author union all select id, true from users where is_placeholder) u
    order by i.id, u.id`,
    [account_id],
  );
  // Adds a merge that was undone, and a withdrawn vote on the target of a merge.
  await sql(
    `insert into merges (account_id, source_id, target_id, merged_at, unmerged_at)
    select $1, min(id), max(id), now() - interval '2 days', now() - interval '1 day' from ideas
    where account_id = $1 and merged_into_id is null and moderation_state = 'published' group by board_id`,
    [account_id],
  );
  await sql(
    `with withdrawn as (
      update votes v set value = 0, carried_from_id = null
      where (idea_id, voter_id) = (
        select v.idea_id, v.voter_id from votes v join ideas s on s.merged_into_id = v.idea_id order by 1, 2 limit 1
      ) returning idea_id
    ) select carry_votes($1, idea_id) from withdrawn`,
    [account_id],
  );
  await sql('select carry_votes($1, merged_into_id) from ideas where merged_into_id is not null', [account_id]);
}

/** Creates an installation with an empty account, whose owner is the owner of the archived account. */
async function createTarget(): Promise<TestDatabase & { cli: ReturnType<typeof cliOn> }> {
  const target = await createTestDatabase();
  afterAll(() => target.drop());
  const cli = cliOn(target.url);
  await cli.json(
    'account',
    'create',
    '--slug',
    'moved',
    '--name',
    'Moved',
    '--owner-email',
    owner,
    '--owner-name',
    name,
  );
  return { ...target, cli };
}

const target = await createTarget();

const countRows = async ({ sql }: TestDatabase) =>
  sql(`
    select 'ideas' as what, count(*)::int from ideas where moderation_state <> 'deleted' union all
    select 'votes', count(*)::int from votes union all
    select 'comments', count(*)::int from comments union all
    select 'notes', count(*)::int from idea_notes union all
    select 'merges', count(*)::int from merges union all
    select 'followers', count(*)::int from followers union all
    select 'tags', count(*)::int from idea_tags union all
    select 'up', sum(up_count)::int from ideas union all
    select 'terms', count(*)::int from idea_terms where terms <> '' order by 1`);

test('if an archive is imported into a new installation, an export of the new account creates the same archive, byte for byte', async () => {
  const imported = await target.cli.json<{ refused: number; imported: Record<string, number> }>(
    ...['import', archive, '--with-roles'],
  );
  expect(imported.refused).toBe(0);
  expect(Object.values(imported.imported).reduce((sum, count) => sum + count)).toBe(recordCount);
  const copy = join(directory, 'copy.jsonl.gz');
  await target.cli.json('export', '--out', copy);
  const written = gunzipSync(await readFile(copy));
  expect(written.toString().trimEnd().split('\n')).toEqual(lines);
  expect(written.equals(await readFile(archive))).toBe(true);
  expect(await countRows(target)).toEqual(await countRows(source));
});

test('a repeated import of a compressed archive changes nothing, and imports cause no events, notifications, webhook deliveries or jobs other than audit entries', async () => {
  const before = await countRows(target);
  const again = await target.cli.json<{ imported: Record<string, number>; skipped: Record<string, number> }>(
    ...['import', join(directory, 'copy.jsonl.gz'), '--with-roles'],
  );
  expect(Object.values(again.imported).filter(count => count > 0)).toEqual([]);
  expect(Object.values(again.skipped).reduce((sum, count) => sum + count)).toBe(recordCount);
  expect(await countRows(target)).toEqual(before);
  await expectInvariants(target);
  expect(
    await target.sql(`
      select (select count(*) from events)::int as events, (select count(*) from notifications)::int as notifications,
        (select count(*) from webhook_deliveries)::int as deliveries,
        array(select distinct task_identifier from graphile_worker.jobs) as jobs`),
  ).toEqual([{ events: 0, notifications: 0, deliveries: 0, jobs: ['record_audit_event'] }]);
});

test('the archive of an account has only known record types and no field or text that begins like a secret, and only its owner can read it', async () => {
  const text = lines.join('\n');
  for (const secret of ['$argon2', 'ib_', 'secret', 'password', 'token']) expect(text).not.toContain(`"${secret}`);
  const types = new Set(lines.map(line => JSON.parse(line).type));
  expect([...types]).toEqual([
    'archive',
    'person',
    'board',
    'status',
    'tag',
    'idea',
    'comment',
    'note',
    'voter',
    'vote',
    'merge',
    'follower',
    'end',
  ]);
  expect((await stat(archive)).mode & 0o777).toBe(0o600);
});

// The next three tests use the same installation, one after the other, because each import of the archive takes seconds.
const other = await createTarget();

test('a dry run of an import counts all records of the archive and changes nothing', async () => {
  const { cli, sql } = other;
  const before = await sql(
    'select (select count(*) from users) as users, (select count(*) from graphile_worker.jobs) as jobs',
  );
  const dry = await cli.json<{ imported: Record<string, number> }>('import', archive, '--dry-run');
  expect(Object.values(dry.imported).reduce((sum, count) => sum + count)).toBe(recordCount);
  for (const table of ['boards', 'ideas', 'votes', 'external_ids']) {
    expect(await sql(`select count(*)::int as count from ${table}`)).toEqual([{ count: 0 }]);
  }
  expect(
    await sql('select (select count(*) from users) as users, (select count(*) from graphile_worker.jobs) as jobs'),
  ).toEqual(before);
});

test('an import without --with-roles gives new members the role `member`, no sign-in method and no confirmed address, and keeps the role of the existing owner', async () => {
  const { cli, sql } = other;
  await cli.json('import', archive);
  expect(await sql('select role, count(*)::int > 1 as several from memberships group by role order by role')).toEqual([
    { role: 'member', several: true },
    { role: 'owner', several: false },
  ]);
  expect(await sql('select count(*)::int as count from sign_in_methods')).toEqual([{ count: 0 }]);
  expect(await sql('select count(*)::int as count from users where confirmed_email is not null')).toEqual([
    { count: 0 },
  ]);
});

test('a repeated import of an archive does not bring back ideas and comments that somebody has deleted since the first import', async () => {
  const { cli, sql } = other;
  await sql('delete from comments; update ideas set comment_count = 0');
  await sql(`with doomed as (select min(id) as id from ideas where merged_into_id is null)
    update ideas set moderation_state = 'deleted', title = '(deleted)', body = '(deleted)' where id in (select id from doomed)`);
  await sql(`delete from votes where idea_id in (select id from ideas where moderation_state = 'deleted')`);
  const { refused } = await cli.json<{ refused: number }>('import', archive);
  expect(refused).toBe(0);
  expect(await sql('select count(*)::int as count from comments')).toEqual([{ count: 0 }]);
  expect(
    await sql(
      `select count(*)::int as votes from votes v join ideas i on i.id = v.idea_id where i.moderation_state = 'deleted'`,
    ),
  ).toEqual([{ votes: 0 }]);
});

test('after an import was killed, a second import completes it, and an export of the account equals the imported archive', async () => {
  const killed = await createTarget();
  const blocker = await killed.database.pool.connect();
  // On a slow machine, the import needs more than the time limit for an idle transaction until it reaches the votes.
  await blocker.query('begin; set local idle_in_transaction_session_timeout = 0; lock table votes in exclusive mode');
  const child = spawn(process.execPath, [main, 'import', archive, '--with-roles'], {
    env: { PATH: process.env.PATH ?? '', DATABASE_URL: killed.url },
    stdio: 'ignore',
  });
  const exited = once(child, 'exit');
  // All test files share one PostgreSQL, so the query leaves out the locks of other databases.
  const waiting = `select from pg_locks join pg_database d on d.oid = database
    where not granted and datname = current_database() and relation = 'votes'::regclass`;
  const isBlocked = async () => (await killed.sql(waiting)).length > 0;
  while (!(await isBlocked())) {
    expect(child.exitCode).toBeNull();
    await killed.sql('select pg_sleep(0.02)');
  }
  child.kill('SIGKILL');
  await exited;
  await blocker.query('rollback');
  blocker.release();
  expect(await killed.sql('select count(*)::int as votes from votes')).toEqual([{ votes: 0 }]);
  expect(await killed.sql('select count(*)::int > 0 as has_ideas from ideas')).toEqual([{ has_ideas: true }]);

  await killed.cli.json('import', archive, '--with-roles');
  const copy = join(directory, 'after-kill.jsonl');
  await killed.cli.json('export', '--out', copy);
  expect((await readFile(copy, 'utf8')).trimEnd().split('\n')).toEqual(lines);
  await expectInvariants(killed);
});

test('an import lists each invalid record with its line and the reason, writes nothing for it, and imports the others', async () => {
  const { cli, sql } = await createTarget();
  const time = '2026-01-02T03:04:05.000Z';
  const idea = {
    type: 'idea',
    board: 'b',
    status: 's',
    author: 'p',
    title: 'A title',
    body: 'A body',
    created_at: time,
    updated_at: time,
  };
  const comment = { type: 'comment', idea: 'i1', author: 'p', created_at: time };
  const merge = { type: 'merge', merged_at: time };
  const content = [
    { type: 'archive', format: 'idea-board-archive', version: 1 },
    { type: 'person', id: 'p', name: 'Ada', email: 'ada@import.example' },
    { type: 'person', id: 'q', name: 'Bob', email: 'no address' },
    { type: 'board', id: 'b', slug: 'ideas', name: 'Ideas', created_at: time, updated_at: time },
    { type: 'status', id: 's', board: 'b', key: 'open', category: 'inbox', label: 'Open', position: 1 },
    { ...idea, id: 'i1' },
    { ...idea, id: 'i2', title: 'x'.repeat(201) },
    { ...idea, id: 'i3', author: 'q' },
    { ...idea, id: 'i4', created_at: 'yesterday' },
    { ...idea, id: 'i5', note: 'unknown' },
    { ...comment, id: 'c1', body: 'y'.repeat(501) },
    { ...comment, id: 'c2', idea: 'i9', body: 'Whose?' },
    { type: 'note', id: 'n1', idea: 'i1', author: 'z', body: 'By whom?', created_at: time },
    '{"type":',
    { type: 'webhook', id: 'w' },
    { ...merge, id: 'm1', source: 'i1', target: 'i1' },
    { type: 'vote', idea: 'i1', voter: 'nobody', value: 'up', created_at: time },
    { type: 'voter', id: 'v', person: 'p' },
    { type: 'vote', idea: 'i1', voter: 'v', value: 'up', created_at: time },
    { ...idea, id: 'i1', title: 'Another title' },
  ].map(line => (typeof line === 'string' ? line : JSON.stringify(line)));
  const file = join(directory, 'invalid.jsonl');
  await writeFile(file, content.join('\n'));
  const { exitCode, stdout, stderr } = await cli.run('import', file, '--json');
  const report = JSON.parse(stdout);
  const expected = [
    ['line 3', /^person: email: /],
    ['line 7', /^idea: title: Must have at most 200 characters$/],
    ['line 9', /^idea: created_at: Must be a time/],
    ['line 10', /^idea: Unrecognized key: "note"$/],
    ['line 11', /^comment: body: Must have at most 500 characters$/],
    ['line 14', /^The line is not JSON$/],
    ['line 15', /^The type must be one of person, /],
    ['line 20', /^idea: an earlier record has the same id, "i1"$/],
    ['line 8', /^idea: no record before it has the id of its author, "q"$/],
    ['line 12', /^comment: no record before it has the id of its idea, "i9"$/],
    ['line 13', /^note: no record before it has the id of its author, "z"$/],
    ['line 17', /^vote: no record before it has the id of its voter, "nobody"$/],
    ['line 16', /^merge: the source and the target must be two ideas of one board$/],
  ] as const;
  expect(report.refusals).toEqual(
    expected.map(([place, reason]) => ({ place, reason: expect.stringMatching(reason) })),
  );
  expect([exitCode, report.refused, stderr.trimEnd().split('\n').length]).toEqual([
    1,
    expected.length,
    expected.length,
  ]);
  expect(await sql('select title, up_count, comment_count from ideas')).toEqual([
    { title: 'A title', up_count: 1, comment_count: 0 },
  ]);

  const shortened = await cli.run('import', file, '--shorten', '--json');
  expect(JSON.parse(shortened.stdout).refused).toBe(expected.length - 2);
  expect(await sql(`select title from ideas where title like 'x%'`)).toEqual([{ title: `${'x'.repeat(199)}…` }]);
  expect(await sql('select char_length(body) as length from comments')).toEqual([{ length: 500 }]);
  expect(await sql('select title, comment_count from ideas order by id limit 1')).toEqual([
    { title: 'A title', comment_count: 1 },
  ]);
});

test.each([
  ['without its last records', lines.slice(0, -100), `it has no end`],
  [
    'without a record in the middle',
    lines.toSpliced(-50, 1),
    `it has ${recordCount - 1} records instead of ${recordCount}`,
  ],
  ['with a record after its end', [...lines, lines[1] ?? ''], 'it has no end'],
])(
  'an import of an archive %s says that the archive is incomplete, and exits with 1',
  async (_, content, difference) => {
    const file = join(directory, 'incomplete.jsonl');
    await writeFile(file, content.join('\n'));
    const { exitCode, stdout } = await target.cli.run('import', file, '--dry-run', '--json');
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout).refusals).toContainEqual({
      place: `line ${content.length}`,
      reason: `The archive is incomplete: ${difference}. Copy or export it again, and repeat the import.`,
    });
  },
);

test('an import refuses a missing file, a file that is not an archive, and an archive of a newer version', async () => {
  const { cli } = target;
  const file = join(directory, 'other.jsonl');
  await writeFile(file, '{"posts":[]}\n');
  expect(await cli.refusal('import', file)).toMatch(/^The file is not an archive of Idea-Board\./);
  await writeFile(file, '{"type":"archive","format":"idea-board-archive","version":3}\n');
  expect(await cli.refusal('import', file)).toBe(
    'The archive has version 3. This server reads archives up to version 2.',
  );
  expect(await cli.refusal('import', join(directory, 'missing'))).toMatch(/^There is no file /);
});
