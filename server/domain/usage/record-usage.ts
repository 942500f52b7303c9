import { sql } from 'kysely';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';

/** How long the server remembers that a token has used an operation, a parameter or a field. */
export const usageDays = 90;

export const dayMs = 86_400_000;

/** The requests of one token for one operation since the last write to the database. */
export interface Use {
  accountId: number;
  tokenId: number;
  /** The operation as method and path, such as `GET /api/v1/ideas/{id}`. */
  operation: string;
  requestCount: number;
  parameters: Set<string>;
  fields: Set<string>;
}

interface UseRow {
  account_id: number;
  token_id: number;
  operation: string;
  request_count: number;
  parameters: Record<string, string>;
  fields: Record<string, string>;
}

interface UseColumns {
  accountIds: readonly number[];
  tokenIds: readonly number[];
  operations: readonly string[];
  requestCounts: readonly number[];
  /**
   * A JSON object for each row. Its keys are the names of the parameters or fields, and its values are the days of
   * their last use.
   */
  parameters: readonly string[];
  fields: readonly string[];
  now: Date;
  expiresAt: Date;
}

/**
 * Adds request counts to the rows of `token_usage`. Locks tokens and rows in a fixed order, so that two servers cannot
 * deadlock. Skips tokens that were deleted after their requests.
 */
const recordUses = query('record_token_usage', (db, $: Arguments<UseColumns>) =>
  db
    .with(
      cte => cte('used').materialized(),
      cte =>
        cte
          .selectFrom(
            sql<UseRow>`unnest(
              ${$.accountIds}::bigint[], ${$.tokenIds}::bigint[], ${$.operations}::text[], ${$.requestCounts}::bigint[],
              ${$.parameters}::jsonb[], ${$.fields}::jsonb[]
            )`.as<'u'>(sql`u(account_id, token_id, operation, request_count, parameters, fields)`),
          )
          .innerJoin('api_tokens as t', join =>
            join.onRef('t.account_id', '=', 'u.account_id').onRef('t.id', '=', 'u.token_id'),
          )
          .select(['u.account_id', 'u.token_id', 'u.operation', 'u.request_count', 'u.parameters', 'u.fields'])
          .orderBy('t.account_id')
          .orderBy('t.id')
          .forKeyShare('t'),
    )
    .insertInto('token_usage')
    .columns([
      'account_id',
      'token_id',
      'operation',
      'request_count',
      'parameters',
      'fields',
      'first_used_at',
      'last_used_at',
      'expires_at',
    ])
    .expression(
      db
        .selectFrom(sql<UseRow>`used`.as('u'))
        .select(['u.account_id', 'u.token_id', 'u.operation', 'u.request_count', 'u.parameters', 'u.fields'])
        .select([
          sql<string>`${$.now}::timestamptz`.as('first_used_at'),
          sql<string>`${$.now}::timestamptz`.as('last_used_at'),
          sql<string>`${$.expiresAt}::timestamptz`.as('expires_at'),
        ])
        .orderBy('u.account_id')
        .orderBy('u.token_id')
        .orderBy('u.operation'),
    )
    .onConflict(conflict =>
      conflict.columns(['account_id', 'token_id', 'operation']).doUpdateSet(row => ({
        request_count: sql<number>`token_usage.request_count + excluded.request_count`,
        // For each parameter or field, the new day replaces the stored day.
        parameters: sql<Record<string, string>>`token_usage.parameters || excluded.parameters`,
        fields: sql<Record<string, string>>`token_usage.fields || excluded.fields`,
        last_used_at: row.ref('excluded.last_used_at'),
        expires_at: row.ref('excluded.expires_at'),
      })),
    ),
);

/** Adds the counts of a server to the database. The rows expire `usageDays` after the day of the last use. */
export async function recordUsage(database: Queryable, uses: readonly Use[], now: Date): Promise<void> {
  const day = now.toISOString().slice(0, 10);
  const daysOf = (names: ReadonlySet<string>) =>
    JSON.stringify(Object.fromEntries([...names].map(name => [name, day])));
  await database.query(recordUses, {
    accountIds: uses.map(({ accountId }) => accountId),
    tokenIds: uses.map(({ tokenId }) => tokenId),
    operations: uses.map(({ operation }) => operation),
    requestCounts: uses.map(({ requestCount }) => requestCount),
    parameters: uses.map(({ parameters }) => daysOf(parameters)),
    fields: uses.map(({ fields }) => daysOf(fields)),
    now,
    expiresAt: new Date(Date.parse(day) + (usageDays + 1) * dayMs),
  });
}
