import type { Queryable } from '../../database/database.ts';
import { plannedStatement } from '../../database/statement.ts';

export interface NotificationView {
  id: number;
  kind: string;
  account: string;
  /** Of the event; null for an endpoint that was disabled. */
  board: string | null;
  idea_id: number | null;
  title: string | null;
  /** Who acted; null for the operator of the server. */
  actor: string | null;
  endpoint_url: string | null;
  created_at: string;
  read_at: string | null;
  mailed_at: string | null;
}

/** The page of a list: everything, or what is not read; older than an id, or from the newest. */
export interface NotificationFilter {
  isUnreadOnly?: boolean;
  beforeId?: number;
  limit: number;
}

const selectNotifications = plannedStatement<NotificationView>(`
  select n.id, n.kind, a.slug as account, e.body #>> '{data,board,slug}' as board, e.idea_id,
    e.body #>> '{data,idea,title}' as title, e.body #>> '{data,actor,name}' as actor, w.url as endpoint_url,
    n.created_at, n.read_at, n.mailed_at
  from notifications n
  join accounts a on a.id = n.account_id
  left join events e on e.id = n.event_id
  left join webhook_endpoints w on w.id = n.endpoint_id
  where n.user_id = $1 and ($2::bigint is null or n.account_id = $2) and ($3::bigint is null or n.id < $3)
    and (not $4 or n.read_at is null)
  order by n.id desc
  limit $5`);

/** Lists what a user was told, in all accounts or in one, newest first. */
export function listNotifications(
  db: Queryable,
  userId: number,
  accountId: number | null,
  { isUnreadOnly = false, beforeId, limit }: NotificationFilter,
): Promise<NotificationView[]> {
  return db.query(selectNotifications, [userId, accountId, beforeId ?? null, isUnreadOnly, limit]);
}
