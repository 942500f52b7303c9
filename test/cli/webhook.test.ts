import { test as base, expect } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { createWorld, type World } from '../helpers/fixtures.ts';
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
  world: async ({ db }, use) => use(await createWorld(db, { slug: 'web-app', name: 'Web app' })),
  cli: ({ db }, use) => use(cliOn(db.url, { APP_KEY: testAppKey.toString('base64') })),
});

const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const url = 'https://hooks.example.com/ideas';
const secretForm = /^whsec_[A-Za-z0-9+/]{43}=$/;

test.concurrent('the CLI can create, change, disable, enable and delete a webhook and rotate its secret, and shows each secret only once', async ({
  db,
  world,
  cli,
}) => {
  const created = await cli.json<{ id: number; secret: string }>(
    ...[
      'webhook',
      'create',
      '--url',
      url,
      '--board',
      world.boardSlug,
      '--event',
      'idea.created',
      '--event',
      'idea.merged',
    ],
  );
  const listing = {
    id: expect.any(Number),
    url,
    description: '',
    board: 'web-app',
    event_types: ['idea.created', 'idea.merged'],
    token_id: null,
    token: null,
    state: 'enabled',
    failing_since: null,
    disabled_at: null,
    disabled_reason: null,
    previous_secret_expires_at: null,
    pending_count: 0,
    created_at: time,
  };
  expect(created).toEqual({ ...listing, secret: expect.stringMatching(secretForm) });
  const [row] = await db.sql<{ secret: Buffer }>('select secret from webhook_endpoints');
  expect(testSecretBox.open(row?.secret ?? Buffer.of(), 'webhook secret')).toBe(created.secret);

  const id = String(created.id);
  expect(await cli.json('webhook', 'list')).toEqual([listing]);
  expect(await cli.json('webhook', 'show', id)).toEqual(listing);
  expect((await cli.run('webhook', 'list')).stdout).not.toContain('whsec_');
  expect(
    await cli.json('webhook', 'update', id, '--url', `${url}/v2`, '--all-events', '--description', 'For the team'),
  ).toMatchObject({ url: `${url}/v2`, event_types: [], description: 'For the team', board: 'web-app' });

  const rotated = await cli.run('webhook', 'rotate-secret', id, '--overlap-hours', '48');
  expect(rotated.stderr).toBe('This is the only time that the secret is shown.\n');
  const secret = rotated.stdout.trimEnd().split('\n').at(-1) ?? '';
  expect(secret).toMatch(secretForm);
  expect(secret).not.toBe(created.secret);
  expect(await cli.json('webhook', 'show', id)).toMatchObject({ previous_secret_expires_at: time });

  expect(await cli.refusal('webhook', 'disable', id, '--reason', 'x'.repeat(301))).toBe(
    'The reason must have at most 300 characters; it has 301',
  );
  expect(await cli.json('webhook', 'disable', id, '--reason', 'Moving')).toMatchObject({
    state: 'disabled',
    disabled_reason: 'Moving',
  });
  expect(await cli.refusal('webhook', 'test', id)).toBe(`The webhook ${id} is disabled: enable it first`);
  expect(await cli.json('webhook', 'enable', id)).toMatchObject({ state: 'enabled', disabled_reason: null });
  expect(await cli.json('webhook', 'delete', id)).toMatchObject({ id: created.id });
  expect(await cli.json('webhook', 'list')).toEqual([]);
});

test.concurrent('the command `webhook test` queues a delivery of a test event, and the command `webhook redeliver` queues the same delivery again', async ({
  db,
  world,
  cli,
}) => {
  expect(world.boardSlug).toBe('web-app');
  const { id } = await cli.json<{ id: number }>('webhook', 'create', '--url', url);
  const sent = await cli.json<{ delivery_id: number }>('webhook', 'test', String(id));
  const delivery = {
    id: sent.delivery_id,
    webhook_id: expect.stringMatching(/^evt_[0-9a-f-]{36}$/),
    type: 'webhook.test',
    state: 'pending',
    attempt_count: 0,
    created_at: time,
    next_attempt_at: time,
    finished_at: null,
    attempts: [],
  };
  expect(await cli.json('webhook', 'deliveries', String(id))).toEqual([delivery]);
  await db.sql(
    `update webhook_deliveries set state = 'dead', next_attempt_at = null, attempt_count = 10, finished_at = now()`,
  );
  await db.sql(
    `insert into webhook_attempts (account_id, delivery_id, attempted_at, duration_ms, error) values ($1, $2, now(), 12, 'The host name is unknown')`,
    [world.accountId, sent.delivery_id],
  );
  const { stdout } = await cli.run('webhook', 'deliveries', String(id), '--state', 'dead');
  expect(stdout).toMatch(/webhook\.test {2}dead {3}1 {6}The host name is unknown \(12 ms\)/);
  expect(await cli.json('webhook', 'redeliver', String(id), '--dead-since', '2020-01-01T00:00:00Z')).toEqual({
    redelivered: 1,
  });
  expect(await cli.json('webhook', 'redeliver', String(id), '--delivery', String(sent.delivery_id))).toEqual({
    redelivered: 1,
  });
  expect(await cli.json('webhook', 'deliveries', String(id))).toMatchObject([
    { state: 'pending', attempt_count: 0, attempts: { length: 1 } },
  ]);
  expect(await cli.refusal('webhook', 'redeliver', String(id), '--delivery', '999')).toBe(
    `The webhook ${id} has no delivery 999`,
  );
  expect((await cli.run('webhook', 'redeliver', String(id))).exitCode).toBe(2);
});

test.concurrent("the CLI's webhook commands fail for invalid URLs, unknown webhooks and a missing APP_KEY", async ({
  db,
  world,
  cli,
}) => {
  expect(world.boardSlug).toBe('web-app');
  const create = (given: string) => cli.refusal('webhook', 'create', '--url', given);
  expect(await create('ftp://example.com')).toBe('The URL "ftp://example.com" must begin with https:// or http://');
  expect(await create('https://me:word@example.com')).toContain('must not contain a user name or password');
  expect(await create('example.com')).toContain('is not a URL');
  expect((await cli.run('webhook', 'create', '--url', url, '--event', 'idea.eaten')).exitCode).toBe(2);
  expect(await cli.refusal('webhook', 'show', '4711')).toBe('The account has no webhook 4711');
  // The command must not create its own APP_KEY, because the server could not decrypt the secret with another key.
  const keyless = cliOn(db.url, { DATA_DIR: '/nonexistent' });
  expect(await keyless.refusal('webhook', 'create', '--url', url)).toContain('Set APP_KEY');
});
