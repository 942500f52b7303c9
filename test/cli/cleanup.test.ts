import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { connect, createDatabaseForFile } from '../helpers/database.ts';
import { createMember, createWorld, insertIdea, type World } from '../helpers/fixtures.ts';
import { snapshot } from '../helpers/snapshot.ts';
import { cliOn } from './run-cli.ts';

let world: World;

const db = await createDatabaseForFile();
const cli = cliOn(db.url);

beforeEach(async () => {
  await db.sql('truncate accounts, users, graphile_worker._private_jobs cascade');
  world = await createWorld(db, { slug: 'web-app' });
  await db.sql(`update accounts set slug = 'acme'`);
  await db.sql(`update users set email = 'ada@example.com', name = 'Ada'`);
});

/** Creates the member Grace. Some tests search the output for her name and e-mail address. */
async function createGrace() {
  const userId = await createMember(db, world.accountId, 'member', 'Grace Hopper');
  await db.sql(`update users set email = 'grace@example.com' where id = $1`, [userId]);
  return userId;
}

const passGraces = async () => {
  await db.sql(`update accounts set deletion_scheduled_at = deletion_scheduled_at - interval '31 days'`);
  await db.sql(`update users set deletion_requested_at = deletion_requested_at - interval '3 days'`);
};

const auditJobs = () =>
  db.sql<{ event: string; fields: unknown }>(
    `select j.payload ->> 'event' as event, j.payload -> 'fields' as fields
    from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
    where t.identifier = 'record_audit_event' order by j.id`,
  );

describe('a deletion', () => {
  test('the operator of the server can schedule and cancel the deletion of an account, and the command `account list` shows the schedule', async () => {
    const scheduled = await cli.json<{ deletion_scheduled_at: string }>('account', 'schedule-deletion');
    expect(scheduled).toMatchObject({
      slug: 'acme',
      deletion_scheduled_at: expect.stringMatching(/Z$/),
      erasure_began_at: null,
    });
    expect(await cli.json('account', 'list')).toMatchObject([
      { deletion_scheduled_at: scheduled.deletion_scheduled_at },
    ]);
    expect(await cli.json('account', 'cancel-deletion')).toMatchObject({ deletion_scheduled_at: null });
    const recorded = (await auditJobs()).map(({ event, fields }) => [event, fields]);
    const fields = { by: 'operator', account_id: world.accountId };
    expect(recorded).toEqual([
      ['account.deletion_scheduled', fields],
      ['account.deletion_cancelled', fields],
    ]);
  });

  test('the operator of the server can request and cancel the deletion of a user, and sees the reasons that prevent the deletion', async () => {
    const userId = await createGrace();
    const grace = ['--user', 'grace@example.com'];
    expect(await cli.json('user', 'request-deletion', ...grace)).toMatchObject({
      deletion_requested_at: expect.stringMatching(/Z$/),
      held_by: [],
    });
    expect((await cli.run('user', 'list')).stdout).toMatch(/grace@example\.com.+acme \(member\) +\d{4}-/);
    expect(await cli.json('user', 'cancel-deletion', ...grace)).toMatchObject({ deletion_requested_at: null });
    expect((await auditJobs()).map(({ event, fields }) => [event, fields])).toEqual([
      ['user.deletion_requested', { by: 'operator', user_id: userId }],
      ['user.deletion_cancelled', { by: 'operator', user_id: userId }],
    ]);
    const { stdout } = await cli.run('user', 'request-deletion', '--user', 'ada@example.com');
    expect(stdout).toContain('Not erased as long as the user is owner of acme.\n');
  });
});

describe('cleanup', () => {
  test('the command `cleanup --dry-run` lists the users and accounts to erase and the skipped users with reasons, and changes nothing', async () => {
    const userId = await createGrace();
    await insertIdea(db, world, { authorId: userId });
    await cli.json('user', 'request-deletion', '--user', 'grace@example.com');
    await cli.json('user', 'request-deletion', '--user', 'ada@example.com');
    expect(await cli.json('cleanup', '--dry-run')).toEqual({ accounts: [], users: [] });
    await passGraces();
    const before = await snapshot(db);
    expect(await cli.json('cleanup', '--dry-run')).toMatchObject({
      accounts: [],
      users: [
        { id: world.ownerId, email: 'ada@example.com', held_by: ['owner of acme'] },
        { id: userId, email: 'grace@example.com', held_by: [], counts: { ideas: 1, memberships: 1 } },
      ],
    });
    const { stdout } = await cli.run('cleanup', '--dry-run');
    expect(stdout).toMatch(/Accounts:\nNone\.\n\nUsers:\nID/);
    expect(stdout).toMatch(/ada@example\.com .+ owner of acme/);
    expect(stdout).toMatch(/grace@example\.com .+ ideas 1, memberships 1\n/);

    // The server could not erase Ada while she owned the account. This command schedules the deletion of the account.
    // When the account is erased, Ada can also be erased.
    await cli.json('account', 'schedule-deletion');
    await passGraces();
    expect(await cli.json('cleanup', '--dry-run')).toMatchObject({
      accounts: [{ slug: 'acme', counts: { boards: 1, ideas: 1, members: 2 } }],
      users: [{ held_by: [] }, { held_by: [] }],
    });
    expect((await snapshot(db)).ideas).toEqual(before.ideas);
    expect(await db.sql('select from users')).toHaveLength(2);
  });

  test('the command `cleanup` prints no names or e-mail addresses of users, and stores an audit entry for each erasure', async () => {
    const userId = await createGrace();
    await insertIdea(db, world, { authorId: userId });
    await db.sql(`update users set deletion_requested_at = now() - interval '3 days'`);
    const { exitCode, stdout, stderr } = await cli.run('cleanup');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toBe(
      [
        `Skipped user ${world.ownerId}, who is owner of acme`,
        `Erased user ${userId}: memberships 1, ideas 1`,
        'Accounts erased: 0. Users erased: 1. Skipped: 1.',
        '',
      ].join('\n'),
    );
    await db.sql(`update accounts set deletion_scheduled_at = now() - interval '31 days'`);
    const report = await cli.json('cleanup');
    expect(report).toEqual({
      is_another_running: false,
      accounts: [{ id: world.accountId, is_resumed: false, rows: { ideas: 1, memberships: 1, boards: 1 } }],
      users: [{ id: world.ownerId, is_resumed: false, rows: {} }],
      skipped: [],
      failed: [],
    });
    expect(`${stdout}${JSON.stringify(report)}`).not.toMatch(/grace|hopper|ada@/i);
    expect(await auditJobs()).toEqual([
      { event: 'user.erased', fields: { by: 'operator', user_id: userId, rows: { memberships: 1, ideas: 1 } } },
      {
        event: 'account.erased',
        fields: { by: 'operator', account_id: world.accountId, rows: { ideas: 1, memberships: 1, boards: 1 } },
      },
      { event: 'user.erased', fields: { by: 'operator', user_id: world.ownerId, rows: {} } },
    ]);
  });

  test('the command `cleanup` uses the grace period in USER_DELETION_GRACE_HOURS', async () => {
    await createGrace();
    await cli.json('user', 'request-deletion', '--user', 'grace@example.com');
    const hasty = cliOn(db.url, { USER_DELETION_GRACE_HOURS: '0' });
    expect(await cli.json('cleanup')).toMatchObject({ users: [] });
    expect(await hasty.json('cleanup')).toMatchObject({ users: [{}] });
  });

  test('a cleanup that starts while another cleanup is running does nothing and exits with 0', async () => {
    await createGrace();
    await db.sql(`update users set deletion_requested_at = now() - interval '3 days'`);
    const other = await connect(db.url);
    await other.query(`select pg_advisory_lock(hashtextextended('idea-board cleanup', 0))`);
    const before = await snapshot(db);
    const { exitCode, stdout } = await cli.run('cleanup');
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'Another clean-up is running. Nothing was done.\n' });
    expect(await cli.json('cleanup')).toMatchObject({ is_another_running: true, users: [] });
    expect(await snapshot(db)).toEqual(before);
    await other.end();
  });

  test('if one erasure fails, the command `cleanup` completes the others and exits with 1, and the next cleanup continues the failed erasure', async () => {
    const [kept, gone] = [await createGrace(), await createMember(db, world.accountId, 'member')];
    const constraint = '"notes_user_id_fkey of ada@example.com"';
    await db.sql(`create table notes (user_id bigint constraint ${constraint} references users)`);
    await db.sql('insert into notes values ($1)', [kept]);
    await db.sql(`update users set deletion_requested_at = now() - interval '3 days' where id <> $1`, [world.ownerId]);
    const { exitCode, stdout } = await cli.run('cleanup');
    expect(exitCode).toBe(1);
    expect(stdout).toContain(`Could not erase user ${kept}; the next run will continue: `);
    expect(stdout).toMatch(/notes_user_id_fkey of a\*\*\*@e\*\*\*\.com#[0-9a-f]{12}"/);
    expect(stdout).toContain(`Erased user ${gone}: `);
    expect(await db.sql('select name, erasure_began_at is null as is_whole from users where id = $1', [kept])).toEqual([
      { name: 'Deleted user', is_whole: false },
    ]);
    await db.sql('drop table notes');
    expect(await cli.json('cleanup')).toMatchObject({ users: [{ id: kept, is_resumed: true }], failed: [] });
  });

  test('the command `cleanup` fails with an error if the database has pending migrations or is unreachable', async () => {
    const [last] = await db.sql<{ name: string }>(
      `delete from schema_migrations where name = (select max(name) from schema_migrations where stream = 'core') returning *`,
    );
    expect(await cli.refusal('cleanup')).toMatch(/^The database has 1 pending migration\(s\)/);
    expect(await cli.refusal('cleanup', '--dry-run')).toMatch(/^The database has 1 pending migration\(s\)/);
    await db.sql('insert into schema_migrations select * from json_populate_record(null::schema_migrations, $1)', [
      last,
    ]);
    const nowhere = cliOn('postgresql://nobody@127.0.0.1:1/nothing');
    expect(await nowhere.refusal('cleanup')).toMatch(/^Cannot reach the database/);
  });
});

test('the command `doctor` warns about deletions that are overdue', async () => {
  const said = async () => (await cli.run('doctor')).stdout;
  expect(await said()).toContain('No deletion is overdue');
  const userId = await createGrace();
  await db.sql(`update users set deletion_requested_at = now() - interval '3 days'`);
  await db.sql('update users set erasure_began_at = now() where id = $1', [userId]);
  expect(await said()).toContain('The grace period of 0 account(s) and 1 user(s) is over; 1 of them are partly erased');
});

test('the command `cleanup --audit-log` repeats logged erasures and cancellations in a restored database, but ignores users who were created after the backup', async () => {
  const [erased, cancelled, newer] = [
    await createMember(db, world.accountId, 'member'),
    await createMember(db, world.accountId, 'member'),
    await createMember(db, world.accountId, 'member'),
  ];
  const directory = await mkdtemp(join(tmpdir(), 'idea-board-log-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const log = join(directory, 'audit.log');
  const entry = (minute: number, event: string, user_id: number) =>
    JSON.stringify({ log: 'audit', time: `2026-03-14T09:0${minute}:00.000Z`, event, user_id });
  const lines = [
    entry(1, 'user.deletion_cancelled', erased),
    'not an entry',
    entry(6, 'user.erased', erased),
    entry(6, 'user.erased', newer),
    entry(7, 'user.deletion_cancelled', cancelled),
    entry(5, 'user.deletion_requested', cancelled),
  ];
  await writeFile(log, lines.join('\n'));
  await db.sql(`update users set created_at = '2026-03-01', deletion_requested_at = '2026-03-02' where id = $1`, [
    cancelled,
  ]);
  await db.sql(`update users set created_at = '2026-03-01' where id = $1`, [erased]);
  await db.sql(`update users set created_at = '2026-03-15' where id = $1`, [newer]);

  const options = ['--audit-log', log, '--since', '2026-03-14T09:02:00Z'];
  expect(await cli.json('cleanup', ...options, '--dry-run')).toMatchObject({
    in_audit_log: [
      { what: 'user', id: cancelled, state: 'cancelled' },
      { what: 'user', id: erased, state: 'erased' },
      { what: 'user', id: newer, state: 'erased' },
    ],
  });
  expect(await cli.json('cleanup', ...options)).toMatchObject({ users: [{ id: erased }], failed: [] });
  expect(
    await db.sql('select id, deletion_requested_at from users where id = any($1) order by id', [
      [erased, cancelled, newer],
    ]),
  ).toEqual([
    { id: cancelled, deletion_requested_at: null },
    { id: newer, deletion_requested_at: null },
  ]);
});
