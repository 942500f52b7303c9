import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { tableKinds } from '../../server/database/table-kinds.ts';
import { entities } from '../../server/entities/entities.ts';
import { type AccountColumns, findFilterProblems, findFunctionProblems } from '../helpers/account-filters.ts';
import { createDatabaseForFile } from '../helpers/database.ts';
import { loadServerQueries } from '../helpers/server-queries.ts';

/** Unique indexes of tenant tables. These indexes do not include the account id, each for the given reason. */
const uniqueAcrossAccounts: Record<string, string> = {
  api_tokens_id_key: 'The id is in the text of a token, which is all that a request has.',
  identity_providers_key_key: 'The key is all that the URL of a sign-in with a provider has.',
  accounts_slug_key: 'The slug is how the command line and URLs find an account.',
  boards_public_slug_key: 'The page of a public board has the slug alone in its URL.',
  invitations_token_hash_key: 'The token of a link is all that an invited person has.',
};

/**
 * Database indexes and functions that only servers of the previous version need. A migration of the next release will
 * drop them.
 */
const ofVersionBefore = {
  indexes: ['idempotency_keys_token_id_path_key_key', 'notifications_event_id_user_id_key'],
  functions: [
    'account_of_idea(bigint)',
    'cast_vote(bigint,bigint,bigint,smallint,timestamp with time zone,bigint,bigint)',
    'copy_votes(bigint,bigint,bigint,integer)',
    'end_merge(bigint,bigint,timestamp with time zone)',
    'record_event(text,bigint,bigint,bigint,bigint,jsonb,timestamp with time zone)',
    'set_account_of_token()',
  ],
};

/** Names of SQL statements that do not filter by an account, each with the reason. */
const startsWithoutAccount: Record<string, string> = {
  add_summary_jobs: 'Adds a job for each person with unread notifications in each account.',
  add_token_expiry_notices: 'Finds the tokens of all accounts that expire soon.',
  delete_deleted_ideas: 'Deletes the rows of the deleted ideas of all accounts.',
  delete_expired_invitations: 'Deletes the expired invitations of all accounts.',
  delete_expired_used_embedding_tokens: 'Deletes the expired tokens of all accounts.',
  delete_expired_idempotency_keys: 'Deletes the expired answers of all accounts.',
  delete_expired_event_waits: 'Deletes the expired waits of all accounts.',
  delete_expired_token_usage: 'Deletes the expired usage of the tokens of all accounts.',
  delete_expired_vote_followings: 'Deletes the expired followings of all accounts.',
  delete_expired_vote_networks: 'Deletes the expired networks of the votes of all accounts.',
  delete_old_events: 'Deletes the old events of all accounts.',
  fill_invitations: 'Fills a column in rows that select_unfilled_invitations found in all accounts.',
  find_oauth_record: 'Finds a record of OAuth by its hash, and then the token and the account that it names.',
  find_tokens: 'Finds tokens by their secrets.',
  forget_networks_of_tokens: 'Removes the old networks of the tokens of all accounts.',
  insert_password_link: 'Finds a person, who may sign in unless blocked in every account.',
  leave_password_link_mail: 'Finds a person, who may sign in unless blocked in every account.',
  lock_memberships_for_erasure: 'Finds all accounts of a person.',
  lock_oauth_grant: 'Finds a grant by its hash, and then the token and the account that the grant names.',
  lock_own_password: 'Finds a person, who may sign in unless blocked in every account.',
  lock_user_with_link: 'Finds a person, who may sign in unless blocked in every account.',
  lock_user_with_password: 'Finds a person, who may sign in unless blocked in every account.',
  select_account_of_endpoint: 'Finds the account of an endpoint for a job of an older version.',
  pass_tokens_of_user: 'Finds a person, whose tokens may be of any account.',
  record_token_usage: 'Adds the counts of a server, whose requests are of any account.',
  remove_grants_of_user: 'Ends the access of a person in all their accounts.',
  remove_identities_of_user: 'Ends the access of a person in all their accounts.',
  remove_invitations_of_user: 'Ends the access of a person in all their accounts.',
  remove_memberships_of_user: 'Ends the access of a person in all their accounts.',
  remove_oauth_records_of_user: 'Ends the access of a person in all their accounts.',
  renew_event_waits: 'Renews the rows of a server, whose requests are of any account.',
  revoke_tokens_of_user: 'Ends the access of a person in all their accounts.',
  select_account_of_event: 'Finds the account of an event for a job of an older version.',
  select_account_of_notifications: 'Finds the account of notifications for a job of an older version.',
  select_account_with_rows_of_user: 'Finds an account with rows of a person.',
  select_acting_user: 'Finds an account by its slug.',
  select_answers_that_may_show: 'Reads the stored answers of all accounts: any may show a person.',
  select_blocking_accounts: 'Finds the accounts that block a person who may not sign in.',
  select_boards_with_events: 'Finds the events that the requests of a server wait for, of any account.',
  select_due_accounts: 'Finds all accounts whose deletion is due.',
  select_embedding_by_board: 'Finds a board of any account by its slug, and then the account.',
  select_followed_invitation: 'Finds an invitation by the token of the link.',
  select_first_token_usage: 'Finds when the count of the usage of all accounts began.',
  select_holds: 'Finds all accounts that a person owns.',
  select_owner_of_address: 'Finds a person, who may sign in unless blocked in every account.',
  select_password_link: 'Finds a person, who may sign in unless blocked in every account.',
  select_identity_provider: 'Finds a provider by the key in the URL of a sign-in.',
  select_own_identities: 'Finds the identities of a person in all their accounts.',
  select_public_board: 'Finds a public board of any account by its slug.',
  select_required_providers: 'Finds all accounts of a person that require a provider.',
  select_session: 'Finds a person by the token of a session, with all their accounts.',
  select_session_with_boards: 'Also finds the public board of any account, and the boards of the accounts.',
  select_sign_in_candidate: 'Finds a person, who may sign in unless blocked in every account.',
  select_sitemap_boards: 'Finds the public boards of all accounts.',
  select_sitemap_ideas: 'Finds the ideas on the public boards of all accounts.',
  select_sitemap_parts: 'Finds the ideas on the public boards of all accounts.',
  select_token_usage: 'Lists the usage of all accounts for the operator.',
  select_unfilled_invitations: 'Finds rows of all accounts that lack the canonical address.',
  select_waiting_work: 'Counts the waiting deliveries of all accounts for the metrics.',
  take_password_link: 'Finds a person, who may sign in unless blocked in every account.',
  select_overdue_lanes: 'Finds the overdue deliveries of all accounts.',
  select_unfinished_events: 'Finds the events that still need jobs, in all accounts.',
};

const db = await createDatabaseForFile();

const tenantTables = Object.entries(tableKinds)
  .filter(([, { kind }]) => kind === 'tenant')
  .map(([table]) => table);

const accountColumn = (table: string) => (table === 'accounts' ? 'id' : 'account_id');

const isTenant = (table: string) => tenantTables.includes(table);

interface ForeignKey {
  name: string;
  from: string;
  to: string;
  /** The column pairs of a foreign key: each column with the column that it references. */
  columns: [string, string][];
}

describe('the schema', () => {
  test('the list of table kinds classifies every database table as a tenant table, a global table or a local table', async () => {
    const tables = await db.sql<{ name: string }>(
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`,
    );
    expect(tables.map(({ name }) => name).sort()).toEqual(Object.keys(tableKinds).sort());
  });

  test('every tenant table except accounts has a not-null column account_id, and the only other tables with this column are those of OAuth, sessions and sign-ins', async () => {
    const columns = await db.sql<{ table: string; is_nullable: boolean }>(`
      select c.relname as table, not a.attnotnull as is_nullable
      from pg_attribute a join pg_class c on c.oid = a.attrelid
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and a.attname = 'account_id'`);
    const tables = columns.map(({ table }) => table);
    // In oauth_records, account_id is null until the record has a token. In sign_in_links, only a sign-up link has an
    // account. In sessions and sign_in_challenges, only rows of users who sign in through an external identity provider
    // have an account.
    const others = ['oauth_records', 'sessions', 'sign_in_challenges', 'sign_in_links'];
    expect(
      columns
        .filter(({ is_nullable }) => is_nullable)
        .map(({ table }) => table)
        .sort(),
    ).toEqual(others);
    expect(tables.filter(table => !isTenant(table)).sort()).toEqual(others);
    const missing = tenantTables.filter(table => table !== 'accounts' && !tables.includes(table));
    expect(missing).toEqual([]);
  });

  test('every primary key and unique index of a tenant table includes the account id, except for the exceptions that this test lists', async () => {
    const indexes = await db.sql<{ name: string; table: string; columns: (string | null)[] }>(`
      select i.indexrelid::regclass::text as name, i.indrelid::regclass::text as table,
        array(
          -- An index column that is an expression has no row in pg_attribute, so its name is null.
          select a.attname::text from unnest(i.indkey::smallint[]) with ordinality as k (attnum, place)
          left join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
          where k.place <= i.indnkeyatts
        ) as columns
      from pg_index i join pg_class c on c.oid = i.indrelid
      where i.indisunique and c.relnamespace = 'public'::regnamespace`);
    const crossing = indexes
      .filter(({ table, columns }) => isTenant(table) && !columns.includes(accountColumn(table)))
      .map(({ name }) => name);
    const known = [...Object.keys(uniqueAcrossAccounts), ...ofVersionBefore.indexes];
    expect(crossing.sort()).toEqual(known.sort());
  });

  test('every foreign key between tenant tables includes the account id on both sides', async () => {
    const keys = (await foreignKeys()).filter(({ from, to }) => isTenant(from) && isTenant(to));
    const crossing = keys.filter(
      ({ from, to, columns }) => !columns.some(([a, b]) => a === accountColumn(from) && b === accountColumn(to)),
    );
    expect(keys.length).toBeGreaterThan(0);
    expect(crossing.map(({ name }) => name)).toEqual([]);
  });

  test('no foreign key of a global or local table references a tenant table', async () => {
    const keys = (await foreignKeys()).filter(({ from, to }) => !isTenant(from) && isTenant(to));
    expect(keys.map(({ name }) => name)).toEqual([]);
  });
});

describe('filters on the account', () => {
  let columns: AccountColumns;

  beforeAll(async () => {
    const rows = await db.sql<{ table: string; column: string }>(`
      select c.relname as table, a.attname as column
      from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')`);
    const ofAccounts = rows.filter(({ table, column }) => isTenant(table) && column === accountColumn(table));
    columns = new Map(ofAccounts.map(({ table, column }) => [table, column]));
  });

  test('every SQL statement filters all its tenant tables by the same account, except for the statements that this test lists', async () => {
    const explained: string[] = [];
    const offenders: string[] = [];
    for (const { name, text } of await loadServerQueries()) {
      const problems = await findFilterProblems(text, columns);
      if (problems.length > 0 && name in startsWithoutAccount) explained.push(name);
      else offenders.push(...problems.map(problem => `${name}: ${problem}`));
    }
    expect(offenders).toEqual([]);
    // The list of exceptions must contain only statements that still need an exception.
    expect(explained.sort()).toEqual(Object.keys(startsWithoutAccount).sort());
  });

  test('every call of the entity manager that reads or changes rows of an account filters by accountId', async () => {
    const tables = new Map(entities.map(({ meta }) => [String(meta.className), meta.tableName]));
    const calls: string[] = [];
    for (const file of globSync('server/**/*.ts')) {
      const text = await readFile(file, 'utf8');
      const pattern = /\bem\s*\.(?:find\w*|count|nativeDelete|nativeUpdate)\(\s*(\w+)([^;]*);/g;
      for (const [call, entity = '', rest = ''] of text.matchAll(pattern)) {
        const table = tables.get(entity);
        if (table !== undefined && table !== 'accounts' && isTenant(table)) calls.push(call);
        if (table === undefined) expect(`${file}: ${rest}`).toBe('a call that names its entity');
      }
    }
    expect(calls.length).toBeGreaterThan(0);
    expect(calls.filter(call => !/\baccountId\b/.test(call))).toEqual([]);
  });

  test('every database function filters all its tenant tables by the same account, except functions for the previous server version', async () => {
    const functions = await db.sql<{ name: string; definition: string }>(`
      select p.oid::regprocedure::text as name, pg_get_functiondef(p.oid) as definition
      from pg_proc p
      where p.pronamespace = 'public'::regnamespace
        and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')`);
    expect(functions.length).toBeGreaterThan(0);
    const offenders: string[] = [];
    for (const { name, definition } of functions) {
      if (ofVersionBefore.functions.includes(name)) continue;
      const problems = await findFunctionProblems(definition, columns);
      offenders.push(...problems.map(problem => `${name}: ${problem}`));
    }
    expect(offenders).toEqual([]);
  });
});

async function foreignKeys(): Promise<ForeignKey[]> {
  return db.sql<ForeignKey>(`
    select f.conname as name, f.conrelid::regclass::text as from, f.confrelid::regclass::text as to,
      array(
        select array[a.attname::text, b.attname::text]
        from unnest(f.conkey, f.confkey) as pair (a, b)
        join pg_attribute a on a.attrelid = f.conrelid and a.attnum = pair.a
        join pg_attribute b on b.attrelid = f.confrelid and b.attnum = pair.b
      ) as columns
    from pg_constraint f
    where f.contype = 'f' and f.connamespace = 'public'::regnamespace`);
}
