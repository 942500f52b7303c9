import { test as base, expect } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { createWorld, insertIdea, type World } from '../helpers/fixtures.ts';
import { snapshot } from '../helpers/snapshot.ts';
import { cliOn } from './run-cli.ts';

/** Each test has its own migrated database and runs commands on this database. */
const test = base.extend<{ db: TestDatabase; cli: ReturnType<typeof cliOn> }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads a fixture's dependencies from the pattern.
  db: async ({}, use) => {
    const db = await createTestDatabase();
    await use(db);
    await db.drop();
  },
  cli: ({ db }, use) => use(cliOn(db.url, { PLANS_WITHOUT_AGENT_API: 'free' })),
});

/** Creates one account with an owner and a board. */
async function createInstallation(db: TestDatabase): Promise<World> {
  const world = await createWorld(db, { slug: 'web-app', name: 'Web app' });
  await db.sql(`update accounts set slug = 'acme', name = 'Acme'`);
  await db.sql(`update users set email = 'ada@example.com', name = 'Ada'`);
  return world;
}

const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

test.concurrent('three CLI commands create an account, a board and an API token in an empty database', async ({
  db,
  cli,
}) => {
  const owner = ['--owner-email', 'ada@example.com', '--owner-name', 'Ada'];
  expect(await cli.refusal('board', 'list')).toBe('There is no account yet: make one with account create');
  expect(await cli.json('account', 'create', '--name', 'Acme', '--slug', 'acme', ...owner)).toEqual({
    id: expect.any(Number),
    slug: 'acme',
    name: 'Acme',
    join_rule: 'invited',
    join_domains: [],
    plan: 'community',
    requires_second_factor: false,
    requires_provider: false,
    owners: ['ada@example.com'],
    board_count: 0,
    member_count: 1,
    deletion_scheduled_at: null,
    erasure_began_at: null,
    created_at: time,
  });
  const { stdout: accounts } = await cli.run('account', 'list');
  expect(accounts).toBe(
    [
      'SLUG  NAME  PLAN       OWNERS           BOARDS  MEMBERS  DELETION SCHEDULED',
      'acme  Acme  community  ada@example.com  0       1        -',
      '',
    ].join('\n'),
  );

  const board = await cli.json('board', 'create', '--slug', 'web-app', '--name', 'Web app', '--pre-moderation');
  expect(board).toMatchObject({ slug: 'web-app', pre_moderation: true, statuses: { length: 6 }, tags: [] });

  const { exitCode, stdout, stderr } = await cli.run('token', 'create', '--name', 'Bot', '--expires-in-days', '30');
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: 'This is the only time that the token is shown.\n' });
  expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/^ib_\d+_[\w-]{43}$/);
  expect(
    await db.sql(`select t.name, u.email, tb.level, t.expires_at - t.created_at = interval '30 days' as is_for_30_days
      from api_tokens t join users u on u.id = t.issuer_id join api_token_boards tb on tb.token_id = t.id`),
  ).toEqual([{ name: 'Bot', email: 'ada@example.com', level: 'read', is_for_30_days: true }]);
});

test.concurrent('a refused CLI command prints one line, exits with 1 and writes nothing to the database', async ({
  db,
  cli,
}) => {
  await createInstallation(db);
  await db.sql(`update accounts set plan = 'free'`);
  const before = await snapshot(db);
  const refusals = await Promise.all([
    cli.refusal('account', 'create', '--name', 'A', '--slug', 'acme', '--owner-email', 'b@example.com'),
    cli.refusal('account', 'update', '--slug', 'Not a slug', '--name', 'Lost'),
    cli.refusal('member', 'set-role', '--user', 'ada@example.com', '--role', 'member'),
    cli.refusal('board', 'create', '--slug', 'web-app', '--name', 'Again'),
    cli.refusal('status', 'remove', 'open'),
    cli.refusal('token', 'create', '--name', 'Bot'),
  ]);
  expect(refusals).toEqual([
    'Another account has the slug acme',
    'The slug "Not a slug" must be 1 to 63 lower-case letters, digits and hyphens, with no hyphen at either end',
    'The last owner of an account cannot be demoted: make another user an owner first',
    'Another board of the account has the slug web-app',
    "open is the board's last status of the category inbox, where new ideas start: it cannot be removed",
    'The plan free of the account does not allow the Agent API',
  ]);
  expect(await snapshot(db)).toEqual(before);
});

test.concurrent('a CLI command with invalid arguments exits with 2 before it connects to the database', async () => {
  const away = cliOn('postgresql://127.0.0.1:1/nowhere');
  const commands = [
    ['nonsense'],
    ['board', 'update', '--freeze', '--unfreeze'],
    ['board', 'update', '--voting-open-at', '2026-02-31T00:00:00Z'],
    ['board', 'update', '--voting-open-at', '0000-01-01T00:00:00Z'],
    ['board', 'update', '--voting-open-at', '9999-12-31T23:59:59-23:59'],
    ['token', 'create', '--name', 'Bot', '--board', 'web-app=admin'],
  ];
  const results = await Promise.all(commands.map(command => away.run(...command)));
  expect(results.map(({ exitCode, stdout }) => ({ exitCode, stdout }))).toEqual(
    commands.map(() => ({ exitCode: 2, stdout: '' })),
  );
  expect(results[1]?.stderr).toBe("error: option '--unfreeze' cannot be used with option '--freeze'\n");
});

test.concurrent('the CLI can create, change, block and unblock a user, and add, promote and remove a member', async ({
  db,
  cli,
}) => {
  await createInstallation(db);
  const user = ['--user', 'grace@example.com'];
  await cli.json('user', 'create', '--email', 'grace@example.com', '--name', 'Grace');
  await db.sql(`update users set notification_email = email`);
  expect(await cli.json('user', 'update', ...user, '--notification-email', 'none')).toMatchObject({
    name: 'Grace',
    notification_email: null,
  });
  await cli.json('member', 'add', ...user, '--role', 'member');
  expect(await cli.json('member', 'set-role', ...user, '--role', 'admin')).toMatchObject({ role: 'admin' });
  expect(await cli.json('user', 'block', ...user, '--reason', 'Spam')).toMatchObject({
    accounts: [{ slug: 'acme', role: 'admin', is_blocked: true, block_reason: 'Spam' }],
  });
  const [members, users] = await Promise.all([
    cli.json('member', 'list'),
    cli.json('user', 'list', '--account', 'acme', '--limit', '1'),
  ]);
  expect(members).toMatchObject([
    { email: 'ada@example.com', role: 'owner', is_blocked: false, created_at: time },
    { email: 'grace@example.com', role: 'admin', is_blocked: true, created_at: time },
  ]);
  expect(users).toMatchObject([{ email: 'ada@example.com' }]);
  await Promise.all([cli.json('user', 'unblock', ...user), cli.json('member', 'remove', ...user)]);
  expect(await db.sql('select role from memberships')).toEqual([{ role: 'owner' }]);
  expect(await db.sql('select * from user_blocks')).toEqual([]);
});

test.concurrent('the command `member remove` revokes the API tokens that the member issued, unless the command has the option --keep-tokens', async ({
  db,
  cli,
}) => {
  await createInstallation(db);
  for (const [option, state] of [
    [[], 'revoked'],
    [['--keep-tokens'], 'active'],
  ] as const) {
    const user = ['--user', 'grace@example.com'];
    if (option.length === 0) await cli.json('user', 'create', '--email', 'grace@example.com', '--name', 'Grace');
    await cli.json('member', 'add', ...user, '--role', 'admin');
    await cli.json('token', 'create', '--name', `Bot ${state}`, '--issuer', 'grace@example.com');
    await cli.json('member', 'remove', ...user, ...option);
  }
  const tokens = await cli.json<{ name: string; state: string }[]>('token', 'list');
  expect(tokens.filter(({ name }) => name.startsWith('Bot')).map(({ name, state }) => [name, state])).toEqual([
    ['Bot revoked', 'revoked'],
    ['Bot active', 'active'],
  ]);
});

test.concurrent('the commands `token rotate`, `token end-old-secret` and `token restrict` change a token, and the CLI prints the new secret once', async ({
  db,
  cli,
}) => {
  await createInstallation(db);
  const made = await cli.json<{ id: number; token: string }>('token', 'create', '--name', 'Bot', '--write-limit', '5');
  const id = String(made.id);
  const rotated = await cli.run('token', 'rotate', id, '--overlap-hours', '1', '--expires-in-days', '30');
  expect(rotated.stderr).toBe('This is the only time that the token is shown.\n');
  const plaintext = rotated.stdout.trimEnd().split('\n').at(-1) ?? '';
  expect(plaintext).toMatch(new RegExp(`^ib_${id}_[\\w-]{43}$`));
  expect(plaintext).not.toBe(made.token);
  expect(await cli.refusal('token', 'rotate', id)).toMatch('still works: end it first');
  const replaced = await cli.json<{ token: string }>('token', 'rotate', id, '--replace-newest');
  expect(replaced).toMatchObject({ write_limit: 5, old_secret_expires_at: expect.any(String) });
  expect(await cli.json('token', 'end-old-secret', id)).toMatchObject({ old_secret_expires_at: null });
  const networks = ['--network', '203.0.113.7', '--network', '2001:db8::/32'];
  expect(await cli.json('token', 'restrict', id, '--read-limit', '9', ...networks)).toMatchObject({
    read_limit: 9,
    write_limit: null,
    allowed_networks: ['203.0.113.7/32', '2001:db8::/32'],
  });
  expect(await cli.refusal('token', 'restrict', id, '--network', 'nowhere')).toMatch('"nowhere" is not a network');
  const [row] = await db.sql(
    `select secret_hash = sha256($2::bytea) as is_newest, previous_secret_hash, expires_at > now() + interval '29 days' as is_prolonged
      from api_tokens where id = $1`,
    [id, Buffer.from(replaced.token.split('_').slice(2).join('_'))],
  );
  expect(row).toEqual({ is_newest: true, previous_secret_hash: null, is_prolonged: true });
});

test.concurrent('the command `member invite` prints an invitation link, or mails it if SMTP_URL is set, and the command `invitation revoke` deletes the invitation', async ({
  db,
  cli,
}) => {
  await createInstallation(db);
  const invite = ['member', 'invite', '--email', 'grace@example.com', '--role', 'moderator'];
  const made = await cli.json<{ id: number; url: string }>(...invite);
  expect(made).toEqual({
    id: expect.any(Number),
    email: 'grace@example.com',
    role: 'moderator',
    expires_at: time,
    url: expect.stringMatching(/^http:\/\/localhost:3000\/admin\/invitations\/[\w-]{43}$/),
  });
  const links = () =>
    db.sql('select delivery, inviter_id, token_hash = sha256($1::bytea) as works from invitations', [
      made.url.split('/').at(-1),
    ]);
  expect(await links()).toEqual([{ delivery: 'by_hand', inviter_id: null, works: true }]);

  const mailing = cliOn(db.url, { SMTP_URL: 'smtp://127.0.0.1:1' });
  expect((await mailing.run(...invite)).stdout).toBe('The invitation of grace@example.com will be mailed.\n');
  expect(await links()).toEqual([{ delivery: 'waiting', inviter_id: null, works: null }]);

  const [invitation] = await cli.json<{ id: number; email: string }[]>('invitation', 'list');
  expect(invitation).toMatchObject({ id: made.id, email: 'grace@example.com', role: 'moderator', inviter: null });
  expect((await cli.run('invitation', 'revoke', String(made.id))).stdout).toBe(
    'Revoked the invitation of grace@example.com.\n',
  );
  expect(await links()).toEqual([]);
  expect(await cli.refusal('invitation', 'revoke', String(made.id))).toBe('The account has no such invitation');
  expect(await cli.refusal('member', 'invite', '--email', 'ada@example.com', '--role', 'admin')).toBe(
    'ada@example.com is a member of the account already',
  );
});

test.concurrent('the command `board update` can freeze and unfreeze a board, and set and clear the time when voting opens', async ({
  db,
  cli,
}) => {
  await createInstallation(db);
  expect(await cli.json('board', 'update', '--language', 'german')).toMatchObject({ language: 'german' });
  expect(await cli.refusal('board', 'update', '--language', 'klingon')).toMatch(
    /^The language must be one of: simple, /,
  );
  const closed = ['--freeze', '--pre-moderation', '--voting-open-at', '2026-03-01T01:00:00+01:00'];
  expect(await cli.json('board', 'update', ...closed)).toMatchObject({
    is_frozen: true,
    pre_moderation: true,
    voting_open_at: '2026-03-01T00:00:00.000Z',
  });
  const thawed = await cli.json('board', 'update', '--unfreeze', '--no-pre-moderation', '--voting-open-at', 'none');
  expect(thawed).toMatchObject({ is_frozen: false, pre_moderation: false, voting_open_at: null, name: 'Web app' });
  const [shown, listed] = await Promise.all([cli.json('board', 'show'), cli.json('board', 'list')]);
  expect(shown).toEqual(thawed);
  expect(listed).toMatchObject([{ slug: 'web-app', pending_count: 0 }]);
});

test.concurrent('the command `board update` makes a board public or private, and the command `board show` prints whether the board is public', async ({
  db,
  cli,
}) => {
  await createInstallation(db);
  const { stdout: before } = await cli.run('board', 'list');
  expect(before.split('\n')[0]).toContain('PUBLIC');
  expect(await cli.json('board', 'update', '--public', 'true')).toMatchObject({ is_public: true, name: 'Web app' });
  const { stdout: shown } = await cli.run('board', 'show');
  expect(shown).toMatch(/^public +yes$/m);
  expect(await cli.json('board', 'update', '--name', 'Web')).toMatchObject({ is_public: true });
  expect(await cli.json('board', 'update', '--public', 'false')).toMatchObject({ is_public: false });
  const created = await cli.json('board', 'create', '--slug', 'mobile', '--name', 'Mobile', '--public');
  expect(created).toMatchObject({ slug: 'mobile', is_public: true });

  const owner = ['--owner-email', 'ada@example.com'];
  await cli.json('account', 'create', '--name', 'Other', '--slug', 'other', ...owner);
  expect(
    await cli.refusal('board', 'create', '--account', 'other', '--slug', 'mobile', '--name', 'Mobile', '--public'),
  ).toBe('Another public board has the slug mobile, and with it the page /b/mobile');
});

test.concurrent('the CLI commands that add, update and remove a status print all statuses of the board', async ({
  db,
  cli,
}) => {
  await createInstallation(db);
  const add = ['status', 'add', '--key', 'in_review', '--category', 'active', '--label', 'In review'];
  const added = await cli.json<unknown[]>(...add, '--position', '3', '--hidden', 'true');
  expect(added[2]).toMatchObject({ key: 'in_review', is_hidden: true, allow_votes: true, position: 3 });
  const updated = await cli.json<unknown[]>('status', 'update', 'in_review', '--allow-votes', 'no', '--key', 'review');
  expect(updated[2]).toMatchObject({ key: 'review', is_hidden: true, allow_votes: false, position: 3 });
  expect(await cli.json('status', 'remove', 'review')).toHaveLength(6);
});

test.concurrent('the CLI commands that update and remove a tag print the remaining tags of the board', async ({
  db,
  cli,
}) => {
  await createInstallation(db);
  await cli.json('tag', 'add', '--name', 'Billing', '--color', '#0F766E');
  expect(await cli.json('tag', 'update', 'BILLING', '--name', 'Payments')).toEqual([
    { id: expect.any(Number), name: 'Payments', color: '#0f766e', idea_count: 0 },
  ]);
  expect(await cli.json('tag', 'remove', 'payments')).toEqual([]);
});

test.concurrent('the CLI shows an API token when the token is created, but not in the list of tokens', async ({
  db,
  cli,
}) => {
  await createInstallation(db);
  const boards = ['--board', 'web-app=moderate'];
  const made = await cli.json<{ id: number; token: string }>('token', 'create', '--name', 'Bot', ...boards);
  expect(made).toMatchObject({ token: expect.stringMatching(`^ib_${made.id}_`), state: 'active', expires_at: null });
  expect(await cli.json('token', 'revoke', String(made.id))).toMatchObject({ state: 'revoked', revoked_at: time });
  const { stdout } = await cli.run('token', 'list', '--json');
  expect(JSON.parse(stdout)).toMatchObject([
    { state: 'revoked', boards: [{ slug: 'web-app', level: 'moderate' }], issuer: 'ada@example.com', kind: 'api' },
  ]);
  expect(stdout).not.toContain(made.token.slice(-43));
});

test.concurrent('the CLI can approve and reject pending ideas, and lists their titles without control characters', async ({
  db,
  cli,
}) => {
  const world = await createInstallation(db);
  const good = await insertIdea(db, world, { title: 'Dark mode', moderationState: 'pending' });
  const bad = await insertIdea(db, world, { title: '\u001b[2J\u009b31m\u0007 spam', moderationState: 'pending' });
  const { stdout } = await cli.run('idea', 'pending');
  expect(stdout).toContain(`${good}   web-app  Dark mode`);
  expect(stdout).toContain(' spam');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the output must not contain these characters.
  expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);

  const [approved] = await Promise.all([
    cli.json('idea', 'approve', String(good)),
    cli.json('idea', 'reject', String(bad), '--reason', 'Spam'),
  ]);
  expect(approved).toEqual({ id: good, moderation_state: 'published', is_changed: true });
  expect(await cli.refusal('idea', 'approve', String(bad))).toMatch('was rejected');
  expect(await db.sql('select moderation_state, rejection_reason from ideas order by id')).toEqual([
    { moderation_state: 'published', rejection_reason: null },
    { moderation_state: 'rejected', rejection_reason: 'Spam' },
  ]);
});

test.concurrent('a CLI command is refused without --account, --board or --issuer if there are several accounts, boards or owners to choose from', async ({
  db,
  cli,
}) => {
  const world = await createInstallation(db);
  await db.sql(`insert into boards (account_id, slug, name) values ($1, 'mobile', 'Mobile')`, [world.accountId]);
  await db.sql(`insert into users (email, name) values ('grace@example.com', 'Grace')`);
  const boards = await cli.refusal('token', 'create', '--name', 'Bot');
  await db.sql(
    `insert into memberships (account_id, user_id, role)
    select $1, id, 'owner' from users where email = 'grace@example.com'`,
    [world.accountId],
  );
  const owners = await cli.refusal('token', 'create', '--name', 'Bot', '--board', 'mobile=read');
  await db.sql(`insert into accounts (slug, name) values ('second', 'Second')`);
  const accounts = await cli.refusal('board', 'list');
  expect([boards, owners, accounts]).toEqual([
    'The account has several boards: name one with --board',
    'The account has several owners: name one with --issuer',
    'There are several accounts: name one with --account',
  ]);
  expect(await cli.json('board', 'list', '--account', 'second')).toEqual([]);
});
