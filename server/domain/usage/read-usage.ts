import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { presentTime } from '../time.ts';
import { dayMs, usageDays } from './record-usage.ts';

/**
 * The operations, parameters and fields that the tokens of all accounts have used in the last usageDays days.
 * docs/openapi-diff.md describes the format.
 */
export interface Usage {
  /** The start of the period that the result covers. Uses before this time may be missing from the result. */
  from: string;
  to: string;
  /** Whether `uses` contains all uses of the period. If false, `uses` contains only the latest uses. */
  is_complete: boolean;
  uses: {
    client: string;
    operation: string;
    requests: number;
    last_used_at: string;
    parameters: string[];
    fields: string[];
  }[];
}

/** The maximum number of uses in the result. With this number, the result has about 3 MB. */
const mostUses = 10_000;

/** Lists the operations that valid tokens have used. The uses with the latest day come first. */
const selectUsage = query(
  'select_token_usage',
  (db, $: Arguments<{ now: Date; limit: number }>) =>
    db
      .selectFrom('token_usage as u')
      .innerJoin('api_tokens as t', join =>
        join.onRef('t.account_id', '=', 'u.account_id').onRef('t.id', '=', 'u.token_id'),
      )
      .select(['u.account_id', 'u.token_id', 'u.operation', 'u.request_count', 'u.parameters', 'u.fields'])
      .select(['u.first_used_at', 'u.last_used_at'])
      .where('u.expires_at', '>', $.now)
      .where('t.revoked_at', 'is', null)
      .where(u => u.or([u('t.expires_at', 'is', null), u('t.expires_at', '>', $.now)]))
      .orderBy('u.expires_at', 'desc')
      .orderBy('u.account_id')
      .orderBy('u.token_id')
      .orderBy('u.operation')
      .limit($.limit),
  { isPrepared: false },
);

const selectFirstUse = query('select_first_token_usage', db =>
  db.selectFrom('token_usage').select(u => u.fn.min('first_used_at').as('first_used_at')),
);

/** Reads the usage of all accounts. The result contains the ids of tokens and accounts, but not their names. */
export async function readUsage(database: Queryable, now: Date): Promise<Usage> {
  const [first] = await database.query(selectFirstUse, {});
  const rows = await database.query(selectUsage, { now, limit: mostUses + 1 });
  const oldest = now.getTime() - usageDays * dayMs;
  const from = new Date(Math.max(oldest, Date.parse(first?.first_used_at ?? now.toISOString()))).toISOString();
  const namesIn = (days: Record<string, string>) =>
    Object.keys(days)
      .filter(name => (days[name] ?? '') >= from.slice(0, 10))
      .sort();
  return {
    from,
    to: now.toISOString(),
    is_complete: rows.length <= mostUses,
    uses: rows.slice(0, mostUses).map(row => ({
      client: `token ${row.token_id} of account ${row.account_id}`,
      operation: row.operation,
      requests: row.request_count,
      last_used_at: presentTime(row.last_used_at),
      parameters: namesIn(row.parameters),
      fields: namesIn(row.fields),
    })),
  };
}
