import { z } from 'zod';
import { raisedBy, raises } from './errors.ts';
import { Author, ideaExamples, people, VoteValue } from './idea.ts';
import { Id, IdeaPath } from './identifiers.ts';
import { listOf, onePlace, pagination } from './pagination.ts';
import {
  BoardParameter,
  BoardQuery,
  ConditionalHeaders,
  c,
  IdempotencyHeaders,
  notModified,
  type RouteMetadata,
} from './routes.ts';
import { Timestamp, userText } from './text.ts';

const { score, my_vote, up_count, down_count } = ideaExamples.discussed;

/** Examples of a vote tally: after a vote for the idea, and after the removal of that vote. */
export const tallyExamples = {
  up: { score, my_vote, up_count, down_count },
  none: { score: score - 1, my_vote: 'none' as const, up_count: up_count - 1, down_count },
};

export const VoteTally = z
  .object({
    score: z.int().describe('`up_count` minus `down_count`.'),
    my_vote: VoteValue.describe("The token's current vote."),
    up_count: z.int().min(0).describe('Votes for the idea.'),
    down_count: z.int().min(0).describe('Votes against the idea.'),
  })
  .meta({
    title: 'VoteTally',
    description: 'The tally of an idea after a vote.',
    examples: [tallyExamples.up],
  });

export const voteIdea = c.mutation({
  method: 'POST',
  path: '/api/v1/ideas/:id/vote',
  summary: 'Vote on an idea',
  description:
    "Sets the token's vote. `value` is the desired state: `up` and `down` cast or change the vote, and `none` removes it. Repeating a value changes nothing. A token is a voter of its own, separate from the user who issued it.",
  pathParams: z.object(IdeaPath),
  query: BoardQuery,
  headers: IdempotencyHeaders,
  body: z.strictObject({ value: VoteValue.describe('The desired state; `none` removes the vote.') }).meta({
    title: 'VoteInput',
    description: 'The vote to set.',
    examples: [{ value: 'up' }],
  }),
  responses: {
    200: VoteTally,
    ...raises(
      ...raisedBy.writing,
      ...raisedBy.idempotent,
      'not_found',
      'board_frozen',
      'voting_not_open_yet',
      'voting_closed',
      'status_votes_closed',
    ),
  },
  metadata: {
    tag: 'Votes',
    auth: 'board',
    grant: 'write',
    bucket: 'apitoken:write',
    sdk: 'ideas.vote',
    tool: {
      name: 'vote_idea',
      title: 'Vote on an idea',
      description:
        "Sets the vote of this token on an idea; none removes it. Repeating a vote changes nothing. It is not the user's own vote, and a token cannot vote for several people. Pending and merged ideas take no votes. Returns the new tally.",
      isDestructive: false,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

const voteExamples = {
  ofToken: {
    value: 'up' as const,
    voter: { kind: 'token' as const, id: 31, name: 'Support desk', issuer: people.ada },
    carried_from_id: null,
    created_at: '2026-03-15T09:59:12.040Z',
  },
  ofPerson: {
    value: 'down' as const,
    voter: { kind: 'person' as const, id: people.jun.id, name: people.jun.name, issuer: null },
    carried_from_id: 57,
    created_at: '2026-03-14T18:02:45.771Z',
  },
};

export const Voter = z
  .object({
    kind: z.enum(['person', 'token']).describe('Whether a person or an API token cast the vote.'),
    id: Id.nullable().describe('The id of the user or of the token; null for an erased user.'),
    name: userText.describe('The name of the user or of the token. An erased user is called `Deleted user`.'),
    issuer: Author.nullable().describe('The user who issued the token; null for a person.'),
  })
  .meta({
    title: 'Voter',
    description: 'The voter of a vote. A token is a voter of its own, separate from its issuer.',
    examples: [voteExamples.ofToken.voter],
  });

export const Vote = z
  .object({
    value: VoteValue.exclude(['none']).describe('Whether the vote is for the idea or against it.'),
    voter: Voter,
    carried_from_id: Id.nullable().describe(
      'The id of the merged idea on which the vote was cast; null: on this idea itself.',
    ),
    created_at: Timestamp.describe('When the voter first voted. A changed vote keeps this time.'),
  })
  .meta({ title: 'Vote', description: 'A vote that counts for an idea.', examples: [voteExamples.ofToken] });

export const VoteList = listOf(Vote, 'VoteList', 'A page of votes, newest first.', {
  data: [voteExamples.ofToken, voteExamples.ofPerson],
  page: 1,
  per_page: 20,
  has_more: false,
  next_cursor: null,
});

export const listVotes = c.query({
  method: 'GET',
  path: '/api/v1/ideas/:id/votes',
  summary: 'List the votes of an idea',
  description:
    'Returns the votes that count for an idea, newest first. They include votes that a merge carried from other ideas. A merged idea has its own votes, and a pending idea has none.',
  pathParams: z.object(IdeaPath),
  query: onePlace(z.strictObject({ ...BoardParameter, ...pagination })),
  headers: ConditionalHeaders,
  responses: {
    200: VoteList,
    ...notModified,
    ...raises(...raisedBy.onBoard, 'token_issuer_not_moderator', 'not_found'),
  },
  metadata: {
    tag: 'Votes',
    auth: 'board',
    grant: 'moderate',
    bucket: 'apitoken:read',
    sdk: 'ideas.votes',
    tool: {
      name: 'list_votes',
      title: 'List the votes of an idea',
      description:
        'Lists who voted on an idea, newest first, 20 per page: people and tokens. If the counts are enough, use get_idea.',
      resultFields: ['data', 'value', 'voter', 'kind', 'id', 'name', 'created_at', 'has_more', 'next_cursor'],
      isDestructive: false,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const voteRoutes = { voteIdea, listVotes };
