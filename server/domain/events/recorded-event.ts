import { type Selectable, sql } from 'kysely';
import type { EventBody } from '../../../contract/events.ts';
import type { Idea } from '../../../contract/idea.ts';
import type { Tables } from '../../database/tables.ts';
import { type LinkSettings, type LinkToIdea, linkToIdeas, presentIdea } from '../ideas/present-idea.ts';
import type { IdeaView } from '../ideas/read-idea.ts';
import { presentTime } from '../time.ts';

export type RecordedEvent = Pick<Selectable<Tables['events']>, 'type' | 'occurred_at' | 'data'>;

/** The columns of a recorded event with the SQL alias `e`. */
export const recordedEvent = ['e.type', 'e.occurred_at', 'e.data'] as const;

/**
 * Selects a text from the data of an event with the SQL alias `e`: `textInEvent('idea', 'title')` is the title of the
 * idea.
 */
export function textInEvent(...path: string[]) {
  return sql<string | null>`e.data #>> ${sql.lit(`{${path.join(',')}}`)}`;
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
 * The name of the author of the text that can contain mentions, in an event with the SQL alias `e`. Another person,
 * such as a moderator, may have caused the event.
 */
export const mentionerInEvent = sql<string | null>`coalesce(
  ${textInEvent('comment', 'author', 'name')}, ${textInEvent('reply', 'author', 'name')}, ${textInEvent('idea', 'author', 'name')}
)`;

/**
 * The columns of an idea that the database function idea_columns() stores in an event. Their values are the same for
 * all readers.
 */
type IdeaInEvent = Omit<IdeaView, 'my_vote' | 'author_id' | 'author_name'> & Pick<Idea, 'author'>;

interface EventData {
  board: { slug: string };
  idea?: IdeaInEvent;
  target?: IdeaInEvent;
  /** The span of the request that caused the event. Bodies of events leave it out. */
  traceparent?: string;
}

/**
 * Builds the body of an event for webhooks, chats and extensions. The test event of a webhook endpoint has no ideas and
 * no board.
 */
export function presentEvent({ type, occurred_at, data }: RecordedEvent, config: LinkSettings): EventBody {
  const { idea, target, traceparent: _, ...others } = data as EventData;
  // Reads the board only for an idea, because a test event has neither.
  const linkTo: LinkToIdea = ideaId => linkToIdeas(config, others.board.slug)(ideaId);
  return {
    type,
    timestamp: presentTime(occurred_at),
    data: {
      ...others,
      ...(idea && { idea: presentIdeaInEvent(idea, linkTo) }),
      ...(target && { target: presentIdeaInEvent(target, linkTo) }),
    },
  } as EventBody;
}

/** Returns the span of the request that caused an event. Undefined if the request was not traced. */
export function traceparentOf({ data }: Pick<RecordedEvent, 'data'>): string | undefined {
  return (data as EventData).traceparent;
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
