import { test as base, expect } from 'vitest';
import { chatUrlPurpose } from '../../server/domain/chat/chat-url.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { createMember, createWorld, insertIdea, type World } from '../helpers/fixtures.ts';
import { startReceiver } from '../helpers/receiver.ts';
import { testAppKey } from '../helpers/server.ts';
import { testSecretBox } from '../helpers/webhooks.ts';
import { cliOn } from './run-cli.ts';

/** Each test runs commands on its own migrated database, which contains an account and a board. */
const test = base.extend<{ db: TestDatabase; world: World; cli: ReturnType<typeof cliOn> }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads a fixture's dependencies from the pattern.
  db: async ({}, use) => {
    const db = await createTestDatabase();
    await use(db);
    await db.drop();
  },
  world: async ({ db }, use) => {
    const world = await createWorld(db, { slug: 'web-app', name: 'Web app' });
    await db.sql(`update users set email = 'ada@example.com', name = 'Ada'`);
    await use(world);
  },
  cli: ({ db }, use) =>
    use(cliOn(db.url, { APP_KEY: testAppKey.toString('base64'), WEBHOOK_ALLOWED_CIDRS: '127.0.0.1/32' })),
});

const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const slackUrl = 'https://hooks.slack.com/services/T000/B000/secret';

test.concurrent("the CLI can create, list, disable, enable and delete a chat channel, and never shows the secret part of the channel's URL", async ({
  db,
  world,
  cli,
}) => {
  const created = { kind: 'slack', name: '#feedback', url: 'https://hooks.slack.com/…', event_types: ['idea.created'] };
  const channel = await cli.json<{ id: number }>(
    ...['chat', 'create', '--kind', 'slack', '--url', slackUrl, '--name', '#feedback', '--event', 'idea.created'],
  );
  expect(channel).toEqual({
    id: expect.any(Number),
    board: 'web-app',
    ...created,
    disabled_at: null,
    disabled_reason: null,
    created_at: time,
  });
  const [row] = await db.sql<{ board_id: number; url: Buffer }>('select board_id, url from chat_channels');
  expect(row?.board_id).toBe(world.boardId);
  expect(row?.url.includes('secret')).toBe(false);
  expect(testSecretBox.open(row?.url ?? Buffer.of(), chatUrlPurpose)).toBe(slackUrl);

  const id = String(channel.id);
  expect(await cli.json('chat', 'list')).toMatchObject([created]);
  const { stdout } = await cli.run('chat', 'list', '--board', 'web-app');
  expect(stdout).toMatch(/web-app {2}slack {2}#feedback {2}https:\/\/hooks\.slack\.com\/… {2}idea\.created {2}-/);
  expect(await cli.json('chat', 'disable', id)).toMatchObject({ disabled_reason: 'Disabled by an administrator' });
  expect(await cli.json('chat', 'enable', id)).toMatchObject({ disabled_at: null, disabled_reason: null });
  expect(await cli.json('chat', 'delete', id)).toMatchObject(created);
  expect(await cli.json('chat', 'list')).toEqual([]);
  expect(await cli.refusal('chat', 'enable', id)).toBe(`The account has no chat channel ${id}`);
});

test.concurrent('the command `chat create` refuses a URL of another chat product, and its error does not contain the URL', async ({
  world,
  cli,
}) => {
  expect(world.boardSlug).toBe('web-app');
  const refusal = await cli.refusal('chat', 'create', '--kind', 'discord', '--url', slackUrl);
  expect(refusal).toBe('The URL must be the URL of an incoming webhook, such as https://discord.com/api/webhooks/…');
  const { exitCode, stderr } = await cli.run(
    'chat',
    'create',
    '--kind',
    'slack',
    '--url',
    slackUrl,
    '--event',
    'idea.voted',
  );
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('idea.created')]);
});

test.concurrent('the command `chat list` marks a chat channel if its URL is encrypted with another APP_KEY', async ({
  db,
  world,
  cli,
}) => {
  await db.sql(`insert into chat_channels (account_id, board_id, kind, url) values ($1, $2, 'teams', $3)`, [
    world.accountId,
    world.boardId,
    Buffer.alloc(60, 1),
  ]);
  const [channel] = await cli.json<{ id: number; url: null }[]>('chat', 'list');
  expect(channel?.url).toBeNull();
  expect((await cli.run('chat', 'list')).stdout).toContain('encrypted with another APP_KEY');
  expect(await cli.refusal('chat', 'test', String(channel?.id))).toBe('The secret was encrypted with another APP_KEY');
});

test.concurrent('the command `chat test` posts a message to a chat channel, and reports an error of the chat server', async ({
  db,
  world,
  cli,
}) => {
  const chat = await startReceiver(200);
  const [row] = await db.sql<{ id: number }>(
    `insert into chat_channels (account_id, board_id, kind, url) values ($1, $2, 'mattermost', $3) returning id`,
    [world.accountId, world.boardId, testSecretBox.seal(`${chat.url}/hooks/x`, chatUrlPurpose)],
  );
  const id = String(row?.id);
  expect(await cli.json('chat', 'test', id)).toEqual({ id: row?.id, is_posted: true });
  expect(chat.received.map(({ body }) => JSON.parse(body))).toEqual([
    { text: 'Idea-Board will post here about the board **Web app**' },
  ]);
  chat.respondWith(404);
  expect(await cli.refusal('chat', 'test', id)).toBe('The message was not posted: The chat answered 404');
  await chat.close();
});

test.concurrent('the command `follower add` makes a member a follower of an idea, and the command `follower remove` makes the member unfollow the idea', async ({
  db,
  world,
  cli,
}) => {
  const ideaId = String(await insertIdea(db, world));
  const grace = await createMember(db, world.accountId, 'member', 'Grace');
  await db.sql(`update users set email = 'grace@example.com' where id = $1`, [grace]);
  await db.sql(`insert into users (email, name) values ('eve@example.com', 'Eve')`);
  const user = ['--user', 'grace@example.com'];
  const state = { idea_id: Number(ideaId) };

  expect(await cli.json('follower', 'add', ideaId, ...user)).toEqual({
    ...state,
    is_following: true,
    is_changed: true,
  });
  expect(await cli.json('follower', 'add', ideaId, ...user)).toEqual({
    ...state,
    is_following: true,
    is_changed: false,
  });
  expect(await cli.json('follower', 'list', ideaId)).toEqual([
    { email: 'grace@example.com', name: 'Grace', notification_email: null, created_at: time },
  ]);
  expect((await cli.run('follower', 'remove', ideaId, ...user)).stdout).toBe(
    `grace@example.com does not follow idea ${ideaId} now.\n`,
  );
  expect(await cli.json('follower', 'list', ideaId)).toEqual([]);
  expect(await cli.refusal('follower', 'add', ideaId, '--user', 'eve@example.com')).toBe(
    'Only members of the account can follow its ideas',
  );
  expect(await cli.refusal('follower', 'add', '999999', ...user)).toBe('The account has no published idea 999999');
  expect(await cli.refusal('follower', 'remove', '999999', ...user)).toBe('The account has no idea 999999');
});

test.concurrent('the command `notification list` shows the notifications of a user, and the command `notification read` marks them as read', async ({
  db,
  world,
  cli,
}) => {
  const ideaId = await insertIdea(db, world, { title: 'Dark mode' });
  const { accountId, ownerId } = world;
  await db.sql(`select record_event($1, 'idea.status_changed', $2, null, null, null, '{}', now())`, [
    accountId,
    ideaId,
  ]);
  await db.sql(`select record_event($1, 'comment.created', $2, null, $3, null, '{}', now())`, [
    accountId,
    ideaId,
    ownerId,
  ]);
  await db.sql(
    `insert into notifications (account_id, user_id, event_id, kind)
    select account_id, $1, id, type from events order by type desc`,
    [world.ownerId],
  );
  const user = ['--user', 'ada@example.com'];
  type Listed = { id: number; kind: string }[];

  const listed = await cli.json<Listed>('notification', 'list', ...user);
  expect(listed).toMatchObject([
    { kind: 'comment.created', board: 'web-app', idea_id: ideaId, title: 'Dark mode', actor: 'Ada', read_at: null },
    { kind: 'idea.status_changed', actor: null, endpoint_url: null, mailed_at: null },
  ]);
  const [newest, oldest] = listed.map(({ id }) => String(id));
  expect(await cli.json<Listed>('notification', 'list', ...user, '--before', newest ?? '')).toHaveLength(1);
  expect(await cli.json('notification', 'read', oldest ?? '', ...user)).toEqual({ read: 1 });
  expect(await cli.json<Listed>('notification', 'list', '--unread', ...user)).toMatchObject([
    { kind: 'comment.created' },
  ]);
  expect(await cli.json('notification', 'read', '--all', ...user)).toEqual({ read: 1 });
  expect(await cli.json('notification', 'list', '--unread', ...user)).toEqual([]);
  expect((await cli.run('notification', 'read', ...user)).exitCode).toBe(2);
});

test.concurrent('the command `user reset-second-factor` turns off two-factor sign-in of a user, and fails for a user without two-factor sign-in', async ({
  db,
  world,
  cli,
}) => {
  await db.sql(`insert into second_factors (user_id, secret, last_step) values ($1, 'a secret', 0)`, [world.ownerId]);
  await db.sql('insert into recovery_codes (user_id, code_hash) values ($1, $2)', [world.ownerId, Buffer.alloc(32)]);
  const reset = ['user', 'reset-second-factor', '--user', 'ada@example.com'];
  expect(await cli.json(...reset)).toMatchObject({ email: 'ada@example.com' });
  expect(await db.sql('select from second_factors')).toEqual([]);
  expect(await db.sql('select from recovery_codes')).toEqual([]);
  expect(
    await db.sql(`select payload -> 'change' as change from graphile_worker._private_jobs j
    join graphile_worker._private_tasks t on t.id = j.task_id where t.identifier = 'mail_second_factor_notice'`),
  ).toEqual([{ change: 'disabled' }]);
  expect(await cli.refusal(...reset)).toContain('The user does not use two-factor sign-in');
});

test.concurrent('the command `account update` can require two-factor sign-in of owners and admins, and end this requirement', async ({
  world,
  cli,
}) => {
  expect(world.accountId).toEqual(expect.any(Number));
  const update = (value: string) => cli.json('account', 'update', '--requires-second-factor', value);
  expect(await update('yes')).toMatchObject({ requires_second_factor: true });
  expect(await update('no')).toMatchObject({ requires_second_factor: false });
});

test.concurrent("the command `account update` can require that members use the account's sign-in provider, and can end this requirement", async ({
  world,
  cli,
}) => {
  expect(world.accountId).toEqual(expect.any(Number));
  const update = (value: string) => cli.json('account', 'update', '--requires-provider', value);
  expect(await update('yes')).toMatchObject({ requires_provider: true });
  expect(await update('no')).toMatchObject({ requires_provider: false });
});
