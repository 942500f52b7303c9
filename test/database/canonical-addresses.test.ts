import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { type Database, openDatabase } from '../../server/database/database.ts';
import { coreStream } from '../../server/database/migration-files.ts';
import { migrate } from '../../server/database/migrator.ts';
import { fillCanonicalAddresses } from '../../server/domain/users/fill-canonical-addresses.ts';
import { createBareDatabase, createTestDatabase } from '../helpers/database.ts';
import { waitForLockWaits } from '../helpers/lock-waits.ts';

interface Opened {
  url: string;
  database: Database;
  rows<Row = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
}

/** Creates a database with the schema of the last server version that did not store canonical e-mail addresses. */
async function openVersionBefore(): Promise<Opened> {
  const directory = await mkdtemp(join(tmpdir(), 'idea-board-migrations-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  for (const name of await readdir(coreStream.directory)) {
    if (name < '0011') await cp(join(coreStream.directory, name), join(directory, name));
  }
  const { url, drop } = await createBareDatabase();
  await migrate(url, [{ name: 'core', directory }]);
  const database = await openDatabase({
    url,
    poolSize: 8,
    connectTimeoutMs: 10_000,
    statementTimeoutMs: 10_000,
    logger: pino({ level: 'silent' }),
  });
  onTestFinished(async () => {
    await database.close();
    await drop();
  });
  return { url, database, rows: async (text, values) => (await database.pool.query(text, values)).rows };
}

const addUsers = ({ rows }: Pick<Opened, 'rows'>, ...emails: string[]) =>
  rows(`insert into users (email, name) select email, 'Somebody' from unnest($1::text[]) email`, [emails]);
const forms = 'select email, canonical_email from users where not is_placeholder order by id';

test('fillCanonicalAddresses() stores the canonical form of each e-mail address, except a form that is too long or already belongs to an older user', async () => {
  const db = await openVersionBefore();
  await addUsers(
    db,
    'Ada@Example.com',
    'bob@BÜCHER.example',
    'ｃleo@example.com', // The next user has the same canonical address, but this user is older.
    'cleo@example.com',
    'İris@Example.com',
    'bob@xn--bcher-kva.example',
    'ada@example.com.',
    `${'ﷺ'.repeat(200)}@example.com`, // This canonical address is too long for an index.
    'Zo\u200be@example.com', // The previous server version accepted invisible characters.
  );
  await db.rows(`insert into users (name, is_placeholder) values ('Deleted user', true)`);
  await migrate(db.url);
  // Simulates ten servers that start at the same time. Each server stores the missing canonical e-mail addresses.
  await Promise.all(Array.from({ length: 10 }, () => fillCanonicalAddresses(db.database)));
  const filled = [
    { email: 'Ada@Example.com', canonical_email: 'ada@example.com' },
    { email: 'bob@BÜCHER.example', canonical_email: 'bob@xn--bcher-kva.example' },
    { email: 'ｃleo@example.com', canonical_email: 'cleo@example.com' },
    { email: 'cleo@example.com', canonical_email: null },
    { email: 'İris@Example.com', canonical_email: 'İris@example.com' },
    { email: 'bob@xn--bcher-kva.example', canonical_email: null },
    { email: 'ada@example.com.', canonical_email: null },
    { email: `${'ﷺ'.repeat(200)}@example.com`, canonical_email: null },
    { email: 'Zo\u200be@example.com', canonical_email: 'zo\u200be@example.com' },
  ];
  expect(await db.rows(forms)).toEqual(filled);
  await fillCanonicalAddresses(db.database);
  expect(await db.rows(forms)).toEqual(filled);
});

test('if fillCanonicalAddresses() is interrupted, finished batches are kept, and the next run stores the remaining canonical e-mail addresses', async () => {
  const db = await openVersionBefore();
  await db.rows(
    `insert into users (email, name) select 'Ada-' || n || '@BÜCHER.example', 'Ada' from generate_series(1, 2500) n`,
  );
  await migrate(db.url);
  const { transaction } = db.database;
  let left = 2;
  const interrupted = {
    transaction: (work: never) => (left-- > 0 ? transaction(work) : Promise.reject(new Error('Killed'))),
  };
  await expect(fillCanonicalAddresses(interrupted as Database)).rejects.toThrow('Killed');
  const count = async () => (await db.rows('select from users where canonical_email is not null')).length;
  expect(await count()).toBe(2000);
  await fillCanonicalAddresses(db.database);
  expect(await count()).toBe(2500);
});

test('fillCanonicalAddresses() stores the canonical addresses of open invitations, but leaves out the newer of two invitations with one canonical address', async () => {
  const db = await openVersionBefore();
  const [account] = await db.rows<{ id: string }>(
    `insert into accounts (slug, name) values ('acme', 'Acme') returning id`,
  );
  await db.rows(
    `insert into invitations (account_id, email, role, delivery, expires_at)
    select $1, email, 'member', 'mailed', now() + interval '1 day'
    from unnest(array['Ada@BÜCHER.example', 'ada@xn--bcher-kva.example', 'Bob@example.com']) email`,
    [account?.id],
  );
  await migrate(db.url);
  await fillCanonicalAddresses(db.database);
  expect(
    (await db.rows<{ form: string }>('select canonical_email as form from invitations order by id')).map(
      ({ form }) => form,
    ),
  ).toEqual(['ada@xn--bcher-kva.example', null, 'bob@example.com']);
});

test('on the new schema, SQL of the previous server version can add and change users, and the database updates or clears their canonical e-mail addresses', async () => {
  const db = await createTestDatabase();
  onTestFinished(() => db.drop());
  const rows = db.sql;
  await addUsers({ rows }, 'Ada@Example.com', 'bob@bücher.example');
  const update = (from: string, to: string) =>
    rows('update users set email = $2 where lower(email) = lower($1)', [from, to]);
  expect(await rows(forms)).toEqual([
    { email: 'Ada@Example.com', canonical_email: 'ada@example.com' },
    { email: 'bob@bücher.example', canonical_email: null },
  ]);
  await expect(addUsers({ rows }, 'ADA@example.com')).rejects.toMatchObject({
    constraint: expect.stringMatching(/^users_(canonical_)?email_key$/),
  });
  await fillCanonicalAddresses(db.database);
  expect((await rows(forms))[1]).toEqual({ email: 'bob@bücher.example', canonical_email: 'bob@xn--bcher-kva.example' });
  // After this update, the user's previous e-mail address must not find the user.
  await update('bob@bücher.example', 'bob@müller.example');
  await update('ada@example.com', 'Ada.Lovelace@example.com');
  expect(await rows(forms)).toEqual([
    { email: 'Ada.Lovelace@example.com', canonical_email: 'ada.lovelace@example.com' },
    { email: 'bob@müller.example', canonical_email: null },
  ]);
  await fillCanonicalAddresses(db.database);
  expect((await rows(forms))[1]).toMatchObject({ canonical_email: 'bob@xn--mller-kva.example' });
});

test('on the new schema, SQL of the previous server version can invite an e-mail address twice, and only one of the two invitations remains', async () => {
  const db = await createTestDatabase();
  onTestFinished(() => db.drop());
  const [account] = await db.sql<{ id: number }>(
    `insert into accounts (slug, name) values ('acme', 'Acme') returning id`,
  );
  const invite = (email: string) =>
    db.sql(
      `insert into invitations as i (account_id, email, role, delivery, expires_at)
      values ($1, $2, 'member', 'mailed', now() + interval '1 day')
      on conflict (lower(email), account_id) do update set email = excluded.email
      returning email, canonical_email`,
      [account?.id, email],
    );
  await invite('ada@example.com');
  expect(await invite('ADA@example.com')).toEqual([{ email: 'ADA@example.com', canonical_email: 'ada@example.com' }]);
  expect(await db.sql('select from invitations')).toHaveLength(1);
});

test('a user who is added while fillCanonicalAddresses() runs keeps their canonical e-mail address, even if an older user has the same address', async () => {
  const db = await createTestDatabase();
  onTestFinished(() => db.drop());
  await addUsers({ rows: db.sql }, 'ada@bücher.example');
  const taking = await db.database.pool.connect();
  await taking.query('begin');
  await taking.query(`insert into users (email, name) values ('ada@xn--bcher-kva.example', 'Faster')`);
  const filling = fillCanonicalAddresses(db.database);
  await waitForLockWaits(db, 1);
  await taking.query('commit');
  taking.release();
  await filling;
  expect(await db.sql('select name from users where canonical_email is not null')).toEqual([{ name: 'Faster' }]);
});
