import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { startServerForFile, type TestServer } from '../../helpers/server.ts';
import { linesWith } from './dump.ts';
import { marker, populate, requestDeletion, scheduleDeletion } from './populate.ts';
import { runCleanUp } from './run.ts';

/**
 * Reads the table under a heading of docs/erasure.md. Returns the documented tables or columns, each with the first
 * word of its description, such as 'removed'.
 */
function documented(heading: string): Map<string, string> {
  const text = readFileSync(new URL('../../../docs/erasure.md', import.meta.url), 'utf8');
  const section = text.split(/^## /m).find(part => part.startsWith(`${heading}\n`)) ?? '';
  const rows = section.split('\n').filter(line => line.startsWith('| `'));
  const fates = rows.flatMap(row => {
    const [, names = '', becomes = ''] = row.split('|');
    const fate = /^\s*(\w+)/.exec(becomes)?.[1] ?? '';
    return [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']): [string, string] => [name, fate]);
  });
  const names = fates.map(([name]) => name);
  expect(names.filter((name, n) => names.indexOf(name) !== n)).toEqual([]);
  return new Map(fates);
}

const columns = documented('When a user is erased');
const tables = documented('When an account is erased');

const server = await startServerForFile({ environment: { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' } });
const populated = await populate(server);

/** An SQL query for all tables that may hold data of a person. The job queue's tables are named with their schema. */
const everyTable = `
  select case when n.nspname = 'public' then c.relname else n.nspname || '.' || c.relname end as name, c.oid
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p') and n.nspname not in ('pg_catalog', 'information_schema')`;

describe('the list of columns in docs/erasure.md', () => {
  test('docs/erasure.md lists every column that refers to a user or an account or may contain free text', async () => {
    const rows = await server.sql<{ name: string }>(`
      select t.name || '.' || a.attname as name
      from (${everyTable}) t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
      where exists (
          select from pg_constraint f
          where f.contype = 'f' and f.conrelid = t.oid and a.attnum = any (f.conkey)
            and f.confrelid in ('users'::regclass, 'accounts'::regclass)
        )
        or a.attname ~ '(^|_)(user|account|author|actor|issuer|owner|member|person|moderator|by)_id$'
        or (
          a.atttypid::regtype::text ~ '^(text|character|json|name|xml|hstore|citext|"char")'
          -- Omits columns that a check constraint limits to a few words.
          and not exists (
            select from pg_constraint k
            where k.contype = 'c' and k.conrelid = t.oid and k.conkey = array[a.attnum]
              and pg_get_constraintdef(k.oid) ~ $$= (ANY|')$$
          )
        )
      order by 1`);
    expect(rows.map(({ name }) => name)).toEqual(rows.map(({ name }) => name).filter(name => columns.has(name)));
    const left = new Set(columns.keys());
    for (const { name } of rows) left.delete(name);
    // docs/erasure.md must not list a column that the database does not have.
    expect([...left]).toEqual([]);
  });

  test('the erasure of a user changes each column as docs/erasure.md describes', async () => {
    const { personId } = populated;
    const ofPerson = async (name: string, id: number) => {
      const [table, column] = [name.slice(0, name.lastIndexOf('.')), name.slice(name.lastIndexOf('.') + 1)];
      const [row] = await server.sql<{ named: number; unlinked: number }>(
        `select count(*) filter (where ${column} = $1)::int as named,
          count(*) filter (where ${column} is null)::int as unlinked from ${table}`,
        [id],
      );
      return row ?? { named: 0, unlinked: 0 };
    };
    const markedRows = async (name: string) => {
      const [table, column] = [name.slice(0, name.lastIndexOf('.')), name.slice(name.lastIndexOf('.') + 1)];
      const rows = await server.sql<{ value: string }>(`select ${column}::text as value from ${table}`);
      return linesWith(
        rows.map(({ value }) => value ?? ''),
        marker,
      ).length;
    };
    const naming = await server.sql<{ name: string }>(`
      select f.conrelid::regclass || '.' || a.attname as name
      from pg_constraint f join pg_attribute a on a.attrelid = f.conrelid and a.attnum = any (f.conkey)
      where f.contype = 'f' and f.confrelid = 'users'::regclass order by 1`);
    const before = new Map<string, { named: number; unlinked: number }>();
    for (const { name } of naming) before.set(name, await ofPerson(name, personId));
    const isChanged = (name: string) => columns.get(name) !== 'stays';
    const marked: string[] = [];
    for (const name of columns.keys()) if ((await markedRows(name)) > 0) marked.push(name);
    // docs/erasure.md must list every column with texts of the person as changed. Every text column that is listed as
    // changed must contain such texts.
    expect(marked.filter(name => !isChanged(name))).toEqual([]);
    const texts = [...columns.keys()].filter(name => isChanged(name) && !/_id$|\.kind$|\.uid$/.test(name));
    expect(texts.filter(name => !marked.includes(name))).toEqual([]);

    await requestDeletion(server, personId);
    expect((await runCleanUp(server)).users.map(({ id }) => id)).toEqual([personId]);
    const [placeholder] = await server.sql<{ id: number }>('select id from users where is_placeholder');
    for (const [name, was] of before) {
      expect(was.named, `${name} did not name the person`).toBeGreaterThan(0);
      const now = await ofPerson(name, personId);
      const passed = await ofPerson(name, placeholder?.id ?? 0);
      const fate =
        passed.named === was.named && passed.named > 0
          ? 'placeholder'
          : now.unlinked === was.unlinked + was.named
            ? 'unlinked'
            : 'removed';
      expect([name, fate, now.named]).toEqual([name, columns.get(name), 0]);
    }
    for (const name of columns.keys()) expect([name, await markedRows(name)]).toEqual([name, 0]);
  });
});

describe('the list of tables in docs/erasure.md', () => {
  /** Matches the names of the job queue's tables that hold no data of accounts. */
  const ofQueue = /^graphile_worker\._private_(job_queues|tasks|known_crontabs)$|^graphile_worker\.migrations$/;

  test('docs/erasure.md lists every table of the database, except the tables of the job queue that hold no data of accounts', async () => {
    const rows = await server.sql<{ name: string }>(everyTable);
    const names = rows.map(({ name }) => name).filter(name => !ofQueue.test(name));
    expect([...tables.keys()].sort()).toEqual(names.sort());
  });

  test('the erasure of an account changes each table as docs/erasure.md describes', async () => {
    const { world, other } = populated;
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, other.ownerId]);
    await server.sql(`insert into identities (account_id, subject, user_id) values ($1, 'a person', $2)`, [
      world.accountId,
      other.ownerId,
    ]);
    // Inserts rows into vote_networks again, because the earlier erasure of the person has removed all such rows.
    await server.sql(
      `insert into vote_networks (account_id, idea_id, voter_id, network, expires_at)
      select account_id, idea_id, voter_id, $2, now() from votes where account_id = $1`,
      [world.accountId, Buffer.alloc(16)],
    );
    const before = await countRows(server);
    for (const [name, fate] of tables) {
      if (fate === 'removed') expect(before[name], `${name} had no rows`).toBeGreaterThan(0);
    }
    await scheduleDeletion(server, world.accountId);
    await scheduleDeletion(server, other.accountId);
    expect((await runCleanUp(server)).accounts.map(({ id }) => id)).toEqual([world.accountId, other.accountId]);
    const after = await countRows(server);
    for (const [name, fate] of tables) {
      // The clean-up has erased both accounts. The one remaining OAuth record is a client, which belongs to no account.
      if (fate === 'removed') expect([name, after[name]]).toEqual([name, name === 'oauth_records' ? 1 : 0]);
      else expect([name, after[name]]).toEqual([name, before[name]]);
    }
  });
});

async function countRows({ sql }: TestServer): Promise<Record<string, number>> {
  const rows = await sql<{ name: string; oid: number }>(everyTable);
  const counts = await Promise.all(
    rows.map(async ({ name, oid }): Promise<[string, number]> => {
      const [row] = await sql<{ n: number }>(
        `select (xpath('/row/n/text()', query_to_xml(format('select count(*) as n from %s', $1::oid::regclass), false, true, '')))[1]::text::int as n`,
        [oid],
      );
      return [name, row?.n ?? 0];
    }),
  );
  // Counts only the rate limit counters of tokens, because the counters of IP addresses belong to no account.
  const [limits] = await sql<{ n: number }>(`select count(*)::int as n from rate_limits where key like 'apitoken:%'`);
  return { ...Object.fromEntries(counts), rate_limits: limits?.n ?? 0 };
}
