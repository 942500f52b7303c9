import { type ExpressionBuilder, type Selectable, sql } from 'kysely';
import type { EventBody } from '../../../contract/events.ts';
import type { Idea } from '../../../contract/idea.ts';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { type LinkSettings, type LinkToIdea, linkToIdeas, presentIdea } from '../ideas/present-idea.ts';
import type { IdeaView } from '../ideas/read-idea.ts';
import { presentTime } from '../time.ts';

export type RecordedEvent = Pick<Selectable<Tables['events']>, 'type' | 'occurred_at' | 'data' | 'body'>;

/** Selects the columns of a recorded event. Selects the column `body` only if the column `data` is null. */
export function recordedEventOf(e: ExpressionBuilder<Tables & { e: Tables['events'] }, 'e'>) {
  const body = e.case().when('e.data', 'is', null).then(e.ref('e.body')).end().as('body');
  return ['e.type', 'e.occurred_at', 'e.data', body] as const;
}

/**
 * The SQL for the data of an event with the SQL alias `e`. If the previous version of the server recorded the event,
 * the data is only in the column `body`.
 */
const dataOfEvent = "coalesce(e.data, (e.body -> 'data')::jsonb)";

/** Selects a text from an event's data: `textInEvent('idea', 'title')` is the title of the idea. */
export function textInEvent(...path: string[]) {
  return sql<string | null>`${sql.raw(dataOfEvent)} #>> ${sql.lit(`{${path.join(',')}}`)}`;
}

/** The id of the target idea in an event about a merge or unmerge. The event has the SQL alias `e`. */
export const targetIdInEvent = sql<number | null>`(${textInEvent('target', 'id')})::bigint`;

/**
 * The id of the comment in an event about a comment, or of the official reply in an event about a status change. The
 * event has the SQL alias `e`.
 */
export const commentIdInEvent = sql<
  number | null
>`coalesce(${textInEvent('comment', 'id')}, ${textInEvent('reply', 'id')})::bigint`;

/**
 * The text of an event that can contain mentions: a comment, an official reply, or the beginning of an idea's body. The
 * event has the SQL alias `e`.
 */
export function mentioningTextInEvent(maxLength: number) {
  const ideaText = sql`left(${textInEvent('idea', 'body')}, ${sql.lit(maxLength)})`;
  return sql<string | null>`coalesce(${textInEvent('comment', 'body')}, ${textInEvent('reply', 'body')}, ${ideaText})`;
}

/**
 * The name of the person who wrote the mentions in an event with the SQL alias `e`. In an edited text, this is the
 * person who edited it. Otherwise it is the author of the text, even if a moderator caused the event.
 */
export const mentionerInEvent = sql<string | null>`case
  when e.type in ('comment.updated', 'idea.updated') then ${textInEvent('actor', 'name')}
  else coalesce(
    ${textInEvent('comment', 'author', 'name')}, ${textInEvent('reply', 'author', 'name')}, ${textInEvent('idea', 'author', 'name')}
  )
end`;

/**
 * The columns of an idea that the database function idea_columns() stores in an event. Their values are the same for
 * all readers.
 */
type IdeaInEvent = Omit<IdeaView, 'my_vote' | 'author_id' | 'author_name'> & Pick<Idea, 'author'>;

interface EventData {
  board: { slug: string };
  idea?: IdeaInEvent;
  target?: IdeaInEvent;
  comment?: CommentInEvent;
  reply?: CommentInEvent;
  /** The span of the request that caused the event. Bodies of events leave it out. */
  traceparent?: string;
}

/** A comment in an event. Only an event about a new comment contains the author. */
interface CommentInEvent {
  author?: unknown;
  created_at: string;
}

/**
 * Builds the body of an event for webhooks, chats and extensions. The test event of a webhook endpoint has no ideas and
 * no board.
 */
export function presentEvent({ type, occurred_at, data, body }: RecordedEvent, config: LinkSettings): EventBody {
  // An event from the previous version of the server has a body but no data.
  if (data === null) return body as EventBody;
  const { idea, target, comment, reply, traceparent: _, ...others } = data as EventData;
  // Reads the board only for an idea, because a test event has neither.
  const linkTo: LinkToIdea = ideaId => linkToIdeas(config, others.board.slug)(ideaId);
  return {
    type,
    timestamp: presentTime(occurred_at),
    data: {
      ...others,
      ...(idea && { idea: presentIdeaInEvent(idea, linkTo) }),
      ...(target && { target: presentIdeaInEvent(target, linkTo) }),
      ...(comment && { comment: withUpdatedAt(comment) }),
      ...(reply && { reply: withUpdatedAt(reply) }),
    },
  } as EventBody;
}

/** Returns the `traceparent` of the request that caused an event. Undefined if the request was not traced. */
export function traceparentOf({ data }: Pick<RecordedEvent, 'data'>): string | undefined {
  return (data as EventData | null)?.traceparent;
}

/**
 * Adds the time of the last change to a new comment, because the previous version of the server did not record this
 * time.
 */
function withUpdatedAt(comment: CommentInEvent) {
  return comment.author ? { updated_at: comment.created_at, ...comment } : comment;
}

/** Returns the exact text that the server signs and sends as the body of a delivery. */
export function writeEvent(event: RecordedEvent, config: LinkSettings): string {
  return JSON.stringify(presentEvent(event, config));
}

function presentIdeaInEvent(
  { author, ...columns }: IdeaInEvent,
  linkTo: LinkToIdea,
): Omit<Idea, 'my_vote' | 'body_truncated'> {
  const view = { ...columns, author_id: author.id, author_name: author.name, my_vote: null };
  const { my_vote: _, body_truncated: __, ...idea } = presentIdea(view, linkTo);
  return idea;
}

/**
 * Searches all accounts, because a job from the previous version of the server does not contain the id of its account.
 */
const selectAccount = query('select_account_of_event', (db, $: Arguments<{ eventId: string }>) =>
  db.selectFrom('events as e').select('e.account_id').where('e.id', '=', $.eventId),
);

/**
 * Finds the account of an event, for a job from the previous version of the server. Returns undefined if the event was
 * deleted.
 */
export async function findAccountOfEvent(queryable: Queryable, eventId: string): Promise<number | undefined> {
  const [event] = await queryable.query(selectAccount, { eventId });
  return event?.account_id;
}
