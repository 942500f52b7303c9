import { z } from 'zod';
import { raisedBy, raises } from './errors.ts';
import { ideaExamples, VoteValue } from './idea.ts';
import { IdeaPath } from './identifiers.ts';
import { BoardQuery, c, IdempotencyHeaders, type RouteMetadata } from './routes.ts';

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

export const voteRoutes = { voteIdea };
