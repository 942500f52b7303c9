import { z } from 'zod';
import { Comment } from './comments.ts';
import { Idea, VoteValue } from './idea.ts';
import { Id } from './identifiers.ts';
import { Timestamp } from './text.ts';

/** An idea as an event shows it: what everybody sees of it, so without a vote of one's own. */
export const EventIdea = Idea.omit({ my_vote: true }).meta({
  title: 'EventIdea',
  description: 'The idea as it was right after the event.',
});

const EventBoard = z
  .object({ id: Id, slug: z.string(), name: z.string() })
  .meta({ title: 'EventBoard', description: 'The board on which the event happened.' });

const Actor = z
  .object({
    id: Id,
    name: z.string(),
    token_id: Id.nullable().describe('The token that acted for the user; null when the user acted in person.'),
  })
  .meta({ title: 'Actor', description: 'Who caused the event.' });

const Change = z
  .object({
    field: z.string().describe('A field of the idea.'),
    from: z.union([z.string(), z.int(), z.null()]),
    to: z.union([z.string(), z.int(), z.null()]),
  })
  .meta({ title: 'Change', description: 'A field of the idea that the event changed.' });

const about = {
  board: EventBoard,
  idea: EventIdea,
  actor: Actor.nullable().describe('Null when the operator of the server acted.'),
  changes: z.array(Change),
};

function event<const T extends string, D extends z.ZodRawShape>(type: T, title: string, description: string, data: D) {
  return z
    .object({ type: z.literal(type), timestamp: Timestamp, data: z.object({ ...about, ...data }) })
    .meta({ title, description });
}

/** The body of each webhook, by its type (Events). */
export const events = {
  'idea.created': event(
    'idea.created',
    'IdeaCreatedEvent',
    'An idea was published: at once, or when a pending one was approved.',
    {},
  ),
  'idea.status_changed': event(
    'idea.status_changed',
    'IdeaStatusChangedEvent',
    'An idea moved to another status; `changes` has the `status_key` before and after.',
    {},
  ),
  'idea.merged': event('idea.merged', 'IdeaMergedEvent', 'An idea was folded into `target`.', { target: EventIdea }),
  'idea.unmerged': event('idea.unmerged', 'IdeaUnmergedEvent', 'The merge of an idea into `target` was undone.', {
    target: EventIdea,
  }),
  'idea.voted': event('idea.voted', 'IdeaVotedEvent', 'A vote on an idea was cast, changed or removed.', {
    vote: z.object({ value: VoteValue, previous: VoteValue }),
  }),
  'comment.created': event('comment.created', 'CommentCreatedEvent', 'A comment was added to an idea.', {
    comment: Comment,
  }),
} as const;

export type EventType = keyof typeof events;
export type EventBody<T extends EventType = EventType> = z.infer<(typeof events)[T]>;

export const eventTypes = Object.keys(events) as EventType[];

/** The event that an operator sends to see whether an endpoint listens. */
export const TestEvent = z
  .object({ type: z.literal('webhook.test'), timestamp: Timestamp, data: z.object({ endpoint_id: Id }) })
  .meta({ title: 'WebhookTestEvent', description: 'Sent on request, to try an endpoint out. It tells of nothing.' });

export type TestEventBody = z.infer<typeof TestEvent>;
