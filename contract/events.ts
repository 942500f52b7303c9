import { z } from 'zod';
import { boardExample } from './board.ts';
import { Comment, commentExamples } from './comments.ts';
import { Idea, ideaExamples, people, VoteValue } from './idea.ts';
import { Id } from './identifiers.ts';
import { Timestamp } from './text.ts';

/**
 * An idea in an event. It has no my_vote, because an event has no specific reader. It has no body_truncated unless the
 * reader asked for excerpts, because otherwise its body is whole.
 */
export const EventIdea = Idea.omit({ my_vote: true, body_truncated: true })
  .extend({
    body_truncated: z
      .boolean()
      .optional()
      .describe('Whether `body` is cut. Only in the list of events with `body=excerpt`.'),
  })
  .meta({
    title: 'EventIdea',
    description: 'The idea right after the event.',
    examples: [seen(ideaExamples.discussed)],
  });

const EventBoard = z
  .object({
    id: Id,
    slug: z.string().describe('The value for the `board` parameter.'),
    name: z.string().describe("The board's name."),
  })
  .meta({ title: 'EventBoard', description: 'The board of the event.' });

const Actor = z
  .object({
    id: Id,
    name: z.string().describe("The user's name."),
    token_id: Id.nullable().describe('The token that acted for the user; null when the user acted in person.'),
  })
  .meta({ title: 'Actor', description: 'Who caused the event.' });

const Change = z
  .object({
    field: z.string().describe('A field of the idea.'),
    from: z.union([z.string(), z.int(), z.null()]).describe('Its value before the event.'),
    to: z.union([z.string(), z.int(), z.null()]).describe('Its value after the event.'),
  })
  .meta({ title: 'Change', description: 'A field of the idea that the event changed.' });

const about = {
  board: EventBoard,
  idea: EventIdea,
  actor: Actor.nullable().describe('Null when the operator of the server acted.'),
  changes: z.array(Change).describe('The changed fields of the idea.'),
};

const { id, slug, name } = boardExample;
const actorExample = { ...people.ada, token_id: 5 };

/** The parts that differ between the examples of events. The board and the actor are the same in all examples. */
interface ExampleParts {
  idea: Idea;
  /** The time of the event, if it is not the time when the idea was last changed. */
  at?: string;
  changes?: z.infer<typeof Change>[];
  [more: string]: unknown;
}

function event<const T extends string, D extends z.ZodRawShape>(
  type: T,
  title: string,
  description: string,
  data: D,
  { idea, at = idea.updated_at, changes = [], ...more }: ExampleParts,
) {
  const example = { board: { id, slug, name }, idea: seen(idea), actor: actorExample, changes, ...more };
  return z
    .object({
      type: z.literal(type),
      timestamp: Timestamp.describe('When the event happened.'),
      data: z.object({ ...about, ...data }),
    })
    .meta({ title, description, examples: [{ type, timestamp: at, data: example }] });
}

/** Returns the idea without my_vote and body_truncated. */
function seen({ my_vote: _, body_truncated: __, ...idea }: Idea) {
  return idea;
}

/** The schemas of the webhook bodies, by the type of the event (specification: Events). */
export const events = {
  'idea.created': event(
    'idea.created',
    'IdeaCreatedEvent',
    'An idea was published: on creation, or on approval of a pending idea.',
    {},
    { idea: ideaExamples.created },
  ),
  'idea.status_changed': event(
    'idea.status_changed',
    'IdeaStatusChangedEvent',
    'An idea moved to another status; `changes` has the `status_key` before and after. `reply` is the official reply that the moderator gave with the status, if any; an event `comment.created` also reports it.',
    { reply: Comment.optional() },
    {
      idea: { ...ideaExamples.planned, comment_count: 3 },
      changes: [{ field: 'status_key', from: 'open', to: 'planned' }],
      reply: commentExamples.official,
    },
  ),
  'idea.merged': event(
    'idea.merged',
    'IdeaMergedEvent',
    'An idea was merged into `target`.',
    { target: EventIdea },
    {
      idea: ideaExamples.merged,
      changes: [{ field: 'merged_into_id', from: null, to: ideaExamples.mergedInto.id }],
      target: seen(ideaExamples.mergedInto),
    },
  ),
  'idea.unmerged': event(
    'idea.unmerged',
    'IdeaUnmergedEvent',
    'The merge of an idea into `target` was undone.',
    { target: EventIdea },
    {
      idea: ideaExamples.unmerged,
      changes: [{ field: 'merged_into_id', from: ideaExamples.mergedInto.id, to: null }],
      target: seen(ideaExamples.discussed),
    },
  ),
  'idea.voted': event(
    'idea.voted',
    'IdeaVotedEvent',
    'A vote on an idea was cast, changed or removed.',
    {
      vote: z.object({
        value: VoteValue.describe('The vote now.'),
        previous: VoteValue.describe('The vote before.'),
      }),
    },
    { idea: ideaExamples.discussed, at: '2026-03-15T12:21:34.700Z', vote: { value: 'up', previous: 'none' } },
  ),
  'comment.created': event(
    'comment.created',
    'CommentCreatedEvent',
    'A comment was added to an idea.',
    { comment: Comment },
    {
      idea: ideaExamples.discussed,
      at: commentExamples.second.created_at,
      comment: commentExamples.second,
    },
  ),
} as const;

export type EventType = keyof typeof events;
export type EventBody<T extends EventType = EventType> = z.infer<(typeof events)[T]>;

export const eventTypes = Object.keys(events) as EventType[];

/** The types of events that a list of events has by default. Votes are many, and interest few clients. */
export const defaultEventTypes = eventTypes.filter(type => type !== 'idea.voted');

/** The event that the server sends when a person tests a webhook. */
export const TestEvent = z
  .object({
    type: z.literal('webhook.test'),
    timestamp: Timestamp.describe('When the event was sent.'),
    data: z.object({ endpoint_id: Id.describe('The webhook under test.') }),
  })
  .meta({
    title: 'WebhookTestEvent',
    description: 'Sent on request to test a webhook. It does not report a change.',
    examples: [{ type: 'webhook.test', timestamp: '2026-03-20T09:00:00.000Z', data: { endpoint_id: 9 } }],
  });

export type TestEventBody = z.infer<typeof TestEvent>;
