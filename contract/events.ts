import { z } from 'zod';
import { boardExample } from './board.ts';
import { Comment, commentExamples } from './comments.ts';
import { Idea, ideaExamples, people, VoteValue } from './idea.ts';
import { Id } from './identifiers.ts';
import { tagExample } from './tag.ts';
import { Timestamp, userText } from './text.ts';

/**
 * An idea in an event. The idea has no `my_vote`, because many clients get the same event. The idea has
 * `body_truncated` only if the client asked for excerpts.
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
    name: userText.describe("The user's name."),
    token_id: Id.nullable().describe('The token that acted for the user; null when the user acted in person.'),
  })
  .meta({ title: 'Actor', description: 'Who caused the event.' });

const Change = z
  .object({
    field: z.string().describe('The name of the field.'),
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

/**
 * The parts of an example event that differ from the other example events. The board and the actor are the same in all
 * examples.
 */
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

/** Returns the idea without `my_vote` and `body_truncated`, as in an event without excerpts. */
function seen({ my_vote: _, body_truncated: __, ...idea }: Idea) {
  return idea;
}

/** The reason that a moderator or the author gives for the edit or the deletion of a text. */
const reason = userText.optional().describe('The reason for the change, if the moderator or the author gave one.');

/**
 * A comment in an event about an edit of the comment. The comment has no author here, because a moderator may have made
 * the edit.
 */
const EditedComment = Comment.omit({ author: true }).meta({
  title: 'EditedComment',
  description: 'The comment right after the edit, without its author.',
  examples: [withoutAuthor(commentExamples.edited)],
});

const DeletedComment = EditedComment.omit({ body: true, updated_at: true }).meta({
  title: 'DeletedComment',
  description: 'The deleted comment, without its text and its author.',
  examples: [withoutText(commentExamples.edited)],
});

function withoutAuthor({ author: _, ...comment }: z.infer<typeof Comment>) {
  return comment;
}

function withoutText({ author: _, body: __, updated_at: ___, ...comment }: z.infer<typeof Comment>) {
  return comment;
}

/** The schemas of the webhook bodies, by the type of the event. */
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
    'A vote on an idea was cast, changed or removed. Only endpoints that name this type receive it.',
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
  'idea.updated': event(
    'idea.updated',
    'IdeaUpdatedEvent',
    'The title or the body of an idea was edited. `changes` has the names of the changed fields, without their values: `idea` has the new texts, and the server keeps no earlier texts.',
    { reason },
    {
      idea: ideaExamples.edited,
      changes: [{ field: 'body', from: null, to: null }],
    },
  ),
  'idea.deleted': event(
    'idea.deleted',
    'IdeaDeletedEvent',
    'An idea was deleted with its comments and votes. `idea` has the last title and, instead of the body, the text `(deleted)`.',
    { reason },
    { idea: { ...ideaExamples.edited, body: '(deleted)' }, at: '2026-03-14T09:33:05.310Z', reason: 'Spam' },
  ),
  'idea.tagged': event(
    'idea.tagged',
    'IdeaTaggedEvent',
    'A tag was added to an idea or removed from it. `changes` has the id of the tag: in `to` if it was added, and in `from` if it was removed.',
    {},
    { idea: ideaExamples.discussed, changes: [{ field: 'tags', from: null, to: tagExample.id }] },
  ),
  'comment.updated': event(
    'comment.updated',
    'CommentUpdatedEvent',
    'The text of a comment was edited.',
    { comment: EditedComment, reason },
    {
      idea: ideaExamples.discussed,
      at: commentExamples.edited.updated_at,
      comment: withoutAuthor(commentExamples.edited),
    },
  ),
  'comment.deleted': event(
    'comment.deleted',
    'CommentDeletedEvent',
    'A comment was deleted. Other comments on the idea stay.',
    { comment: DeletedComment, reason },
    {
      idea: { ...ideaExamples.discussed, comment_count: 1 },
      at: '2026-03-15T11:08:44.016Z',
      comment: withoutText(commentExamples.edited),
      reason: 'Off topic',
    },
  ),
} as const;

export type EventType = keyof typeof events;
export type EventBody<T extends EventType = EventType> = z.infer<(typeof events)[T]>;

export const eventTypes = Object.keys(events) as EventType[];

/**
 * The event types that a list of events contains by default. Votes are left out, because boards have many votes and few
 * clients need them.
 */
export const defaultEventTypes = eventTypes.filter(type => type !== 'idea.voted');

/** The event that the server sends when a person or a token tests a webhook. */
export const TestEvent = z
  .object({
    type: z.literal('webhook.test'),
    timestamp: Timestamp.describe('When somebody requested the test event.'),
    data: z.object({ endpoint_id: Id.describe('The webhook under test.') }),
  })
  .meta({
    title: 'WebhookTestEvent',
    description: 'Sent on request to test a webhook. It does not report a change.',
    examples: [{ type: 'webhook.test', timestamp: '2026-03-20T09:00:00.000Z', data: { endpoint_id: 9 } }],
  });

export type TestEventBody = z.infer<typeof TestEvent>;
