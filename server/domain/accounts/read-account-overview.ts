import { statement } from '../../database/statement.ts';
import { type Administration, AdministrationError } from '../administration.ts';

/** What those who administer an account want to see first. */
export interface AccountOverview {
  /** When its deletion was asked for. */
  deletion_scheduled_at: string | null;
  /** Webhooks of which every try fails, and to which is still sent. */
  failing_webhooks: number;
  /** Webhooks to which nothing is sent any more. */
  disabled_webhooks: number;
  /** Chat channels to which nothing is posted any more. */
  disabled_channels: number;
}

const selectOverview = statement<AccountOverview>(
  'select_account_overview',
  `select a.deletion_scheduled_at, w.failing_webhooks, w.disabled_webhooks, c.disabled_channels
  from accounts a, lateral (
    select count(*) filter (where w.disabled_at is null and w.failing_since is not null) as failing_webhooks,
      count(w.disabled_at) as disabled_webhooks
    from webhook_endpoints w where w.account_id = a.id
  ) w, lateral (
    select count(c.disabled_at) as disabled_channels from chat_channels c where c.account_id = a.id
  ) c
  where a.id = $1`,
);

export async function readAccountOverview(admin: Administration, accountId: number): Promise<AccountOverview> {
  const [overview] = await admin.query(selectOverview, [accountId]);
  if (!overview) throw new AdministrationError('not_found', 'The account is gone');
  return overview;
}
