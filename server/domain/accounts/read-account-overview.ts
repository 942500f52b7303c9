import type { InferResult, Kysely } from 'kysely';
import type { Tables } from '../../database/tables.ts';
import { type Administration, AdministrationError } from '../administration.ts';

/**
 * What an account's admins want to see first. A failing webhook still gets events, and every attempt fails. A disabled
 * webhook or channel gets none.
 */
export type AccountOverview = InferResult<ReturnType<typeof overviewOf>>[number];

function overviewOf(db: Kysely<Tables>, accountId: number) {
  const webhooks = db
    .selectFrom('webhook_endpoints as w')
    .where('w.account_id', '=', accountId)
    .select(({ fn }) => [
      fn
        .countAll<number>()
        .filterWhere('w.disabled_at', 'is', null)
        .filterWhere('w.failing_since', 'is not', null)
        .as('failing_webhooks'),
      fn.count<number>('w.disabled_at').as('disabled_webhooks'),
    ]);
  const channels = db
    .selectFrom('chat_channels as c')
    .where('c.account_id', '=', accountId)
    .select(({ fn }) => fn.count<number>('c.disabled_at').as('disabled_channels'));
  return db
    .selectFrom('accounts as a')
    .crossJoin(webhooks.as('w'))
    .crossJoin(channels.as('c'))
    .where('a.id', '=', accountId)
    .select(['a.deletion_scheduled_at', 'w.failing_webhooks', 'w.disabled_webhooks', 'c.disabled_channels']);
}

export async function readAccountOverview({ db }: Administration, accountId: number): Promise<AccountOverview> {
  const overview = await overviewOf(db, accountId).executeTakeFirst();
  if (!overview) throw new AdministrationError('not_found', 'The account is gone');
  return overview;
}
