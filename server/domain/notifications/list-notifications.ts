import type { Queryable } from '../../database/database.ts';
import { plannedStatement } from '../../database/statement.ts';
import type { NotificationKind } from '../../events/people/mail-content.ts';

export interface NotificationView {
  id: number;
  kind: NotificationKind;
  account: string;
  /** Of the event; null for an endpoint that was disabled. */
  board: string | null;
  board_name: string | null;
  idea_id: number | null;
  title: string | null;
  /** The idea into which the idea was merged, or out of which it was taken. */
  target_title: string | null;
  status_label: string | null;
  /** Who acted; null for the operator of the server. */
  actor: string | null;
  /** How the comment or the pending idea begins, or why an idea was rejected or an endpoint disabled. */
  detail: string | null;
  endpoint_url: string | null;
  /** The board on which everybody may read the idea now. */
  public_board: string | null;
  created_at: string;
  read_at: string | null;
  mailed_at: string | null;
}

/** The page of a list: everything, or what is not read; older than an id, or from the newest. */
export interface NotificationFilter {
  isUnreadOnly?: boolean;
  beforeId?: number | undefined;
  limit: number;
}

/** What is told is what was there when it happened; where to read the idea is what is there now. */
const selectNotifications = plannedStatement<NotificationView>(`
  select n.id, n.kind, a.slug as account, e.body #>> '{data,board,slug}' as board,
    e.body #>> '{data,board,name}' as board_name, e.idea_id, e.body #>> '{data,idea,title}' as title,
    e.body #>> '{data,target,title}' as target_title, e.body #>> '{data,idea,status_label}' as status_label,
    e.body #>> '{data,actor,name}' as actor,
    case n.kind
      when 'comment.created' then e.body #>> '{data,comment,body}'
      when 'idea.pending' then left(e.body #>> '{data,idea,body}', 501)
      when 'idea.rejected' then e.body #>> '{data,reason}'
      when 'webhook.disabled' then w.disabled_reason
    end as detail,
    w.url as endpoint_url,
    (
      select b.slug from ideas i join statuses s on s.id = i.status_id join boards b on b.id = i.board_id
      where i.id = e.idea_id and b.is_public and i.moderation_state = 'published' and not s.is_hidden
    ) as public_board,
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
