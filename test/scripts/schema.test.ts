import { readFile } from 'node:fs/promises';
import type pg from 'pg';
import { afterAll, afterEach, expect, inject, test } from 'vitest';
import { describeSchema } from '../../scripts/schema/describe-schema.ts';
import { connect, createBareDatabase } from '../helpers/database.ts';

const file = await readFile(new URL('../../docs/schema.sql', import.meta.url), 'utf8');

const databases: { client: pg.Client; drop(): Promise<void> }[] = [];

async function openDatabase(template?: string): Promise<pg.Client> {
  const { url, drop } = await createBareDatabase(template);
  const client = await connect(url);
  databases.push({ client, drop });
  return client;
}

const migrated = await openDatabase(inject('templateDatabase'));
// Each test changes the schema in a transaction, and this rollback undoes the change.
afterEach(async () => {
  await migrated.query('rollback');
});
afterAll(async () => {
  for (const { client, drop } of databases) {
    await client.end();
    await drop();
  }
});

test('docs/schema.sql equals the generated description of the database schema after all migrations', async () => {
  expect(await describeSchema(migrated)).toBe(file);
});

test('running docs/schema.sql on an empty database creates exactly the schema that this file describes', async () => {
  const empty = await openDatabase();
  await empty.query(file);
  expect(await describeSchema(empty)).toBe(file);
});

test.each([
  'alter table ideas add column note text',
  `alter table ideas alter column body set default 'none'`,
  'alter table ideas alter column body drop not null',
  'alter table heartbeats alter column address type text collate "C"',
  'alter table ideas set (fillfactor = 90)',
  'alter table rate_limits set logged',
  'alter table ideas drop constraint ideas_title_check',
  'drop index ideas_newest_idx',
  'drop trigger memberships_user_stays on memberships',
  'alter function rfc3339(timestamptz) volatile',
  'alter text search configuration idea_search drop mapping for url',
  'create extension citext',
])('the generated description of the database schema changes after the statement: %s', async change => {
  await migrated.query('begin');
  await migrated.query(change);
  expect(await describeSchema(migrated)).not.toBe(file);
});

test.each([
  ['view one', 'create view one as select 1'],
  ['sequence one', 'create sequence one'],
  ['type one', `create type one as enum ('a')`],
  ['type one', 'create domain one as text'],
  ['statistics object one', 'create statistics one on board_id, status_id from ideas'],
  ['policy one on table ideas', 'create policy one on ideas'],
  ['rule one on table ideas', 'create rule one as on delete to ideas do instead nothing'],
  ['table one', 'create table one (id bigint) partition by hash (id)'],
])(
  'the generator of the schema description fails if the database has an object of an unsupported kind: %s created by the statement %s',
  async (name, statement) => {
    await migrated.query('begin');
    await migrated.query(statement);
    await expect(describeSchema(migrated)).rejects.toThrow(`This cannot write: ${name}`);
  },
);
