import { sql } from 'kysely';
import { commentIdInEvent, mentionerInEvent, mentioningTextInEvent, textInEvent } from '../events/recorded-event.ts';

/**
 * Selects the content of a notification. The SQL aliases are `n` for the notification, `e` for its event and `w` for
 * its webhook endpoint. Titles and names are as they were at the time of the event. Cuts off the body of an idea after
 * maxLength characters.
 */
export function contentOfNotification(maxLength: number) {
  return [
    textInEvent('board', 'name').as('board_name'),
    textInEvent('idea', 'title').as('title'),
    textInEvent('idea', 'status_label').as('status_label'),
    textInEvent('target', 'title').as('target_title'),
    sql<string | null>`case n.kind
      when 'user.mentioned' then ${mentionerInEvent}
      else ${textInEvent('actor', 'name')}
    end`.as('actor'),
    sql<string | null>`case n.kind
      when 'comment.created' then ${textInEvent('comment', 'body')}
      when 'idea.status_changed' then ${textInEvent('reply', 'body')}
      when 'user.mentioned' then ${mentioningTextInEvent(maxLength)}
      when 'idea.pending' then left(${textInEvent('idea', 'body')}, ${sql.lit(maxLength)})
      when 'idea.rejected' then ${textInEvent('reason')}
      when 'idea.deleted' then ${textInEvent('reason')}
      when 'webhook.disabled' then w.disabled_reason
    end`.as('detail'),
    // The comment that the notification is about. An official reply is above the comments, so it needs no link, except if
    // it mentions the reader.
    sql<number | null>`case when n.kind in ('comment.created', 'user.mentioned') then ${commentIdInEvent} end`.as(
      'comment_id',
    ),
    sql<string | null>`w.url`.as('endpoint_url'),
  ] as const;
}
