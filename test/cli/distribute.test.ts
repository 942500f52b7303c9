import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { placementOf, tableKinds } from '../../server/database/table-kinds.ts';
import { createDatabaseForFile } from '../helpers/database.ts';
import { cliOn } from './run-cli.ts';

interface Plan {
  applied: boolean;
  steps: { statement: string; note: string | null }[];
  lost_foreign_keys: string[];
}

const db = await createDatabaseForFile();
const cli = cliOn(db.url);

const foreignKeys = () =>
  db.sql<{ name: string }>(
    `select conname as name from pg_constraint where contype = 'f' and connamespace = 'public'::regnamespace order by 1`,
  );

test('the command `distribute --dry-run` lists the reference tables of Citus first, and then the distributed tables, which Citus colocates by account', async () => {
  const { applied, steps } = await cli.json<Plan>('distribute', '--dry-run');
  expect(applied).toBe(false);
  const calls = steps.map(({ statement }) => statement).filter(text => text.startsWith('select create_'));
  const placed = (kind: string) =>
    Object.keys(tableKinds)
      .filter(table => placementOf(table as keyof typeof tableKinds) === kind)
      .sort();
  expect(calls.map(call => /'(\w+)'/.exec(call)?.[1])).toEqual([...placed('reference'), ...placed('distributed')]);
  const [first, ...others] = calls.filter(call => call.includes('create_distributed_table'));
  const anchor = /'(\w+)'/.exec(first ?? '')?.[1];
  expect(first).toContain(`'account_id', colocate_with => 'none'`);
  for (const call of others) expect(call).toContain(`'account_id', colocate_with => '${anchor}'`);
  // Citus would refuse these unique indexes of distributed tables. Only the previous version of the server uses them.
  const indexes = steps.filter(({ note }) => note?.startsWith('a unique index'));
  expect(indexes.map(({ statement }) => statement)).toEqual([
    'alter table notifications drop constraint notifications_event_id_user_id_key',
  ]);
});

test('the statements with which the command `distribute` changes foreign keys run on PostgreSQL, and keep every foreign key that Citus supports', async () => {
  const before = (await foreignKeys()).map(({ name }) => name);
  const { steps, lost_foreign_keys: lost } = await cli.json<Plan>('distribute', '--dry-run');
  expect(lost).toEqual([
    'api_tokens_voter_id_fkey (api_tokens to voters)',
    'webhook_endpoints_token_id_fkey (webhook_endpoints to api_tokens)',
  ]);
  await db.database.transaction(async transaction => {
    for (const { statement } of steps) {
      if (!statement.startsWith('select create_')) await sql.raw(statement).execute(transaction.db);
    }
  });
  const after = (await foreignKeys()).map(({ name }) => name);
  expect(before.filter(name => !after.includes(name))).toEqual(lost.map(key => key.split(' ')[0]));
});

test('without the PostgreSQL extension Citus, the command `distribute` changes nothing and says that the extension is missing', async () => {
  const before = await foreignKeys();
  expect(await cli.refusal('distribute')).toContain('does not have the extension citus');
  expect(await foreignKeys()).toEqual(before);
});
