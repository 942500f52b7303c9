import { z } from 'zod';
import { raisedBy, raises } from './errors.ts';
import { ideaExamples, VoteValue } from './idea.ts';
import { IdeaPath } from './identifiers.ts';
import { BoardQuery, c, IdempotencyHeaders, type RouteMetadata } from './routes.ts';

const { score, my_vote, up_count, down_count } = ideaExamples.discussed;

/** The tally after a vote for the idea, and after that vote was taken back. */
export const tallyExamples = {
  up: { score, my_vote, up_count, down_count },
  none: { score: score - 1, my_vote: 'none' as const, up_count: up_count - 1, down_count },
};

export const VoteTally = z
  .object({
    score: z.int().describe('`up_count` less `down_count`.'),
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
    "Sets the token's vote. `value` is the desired end state: `up` and `down` cast or change the vote, `none` removes it, repeating a value changes nothing. A token is one voter, separate from the user who issued it.",
  pathParams: z.object(IdeaPath),
  query: BoardQuery,
  headers: IdempotencyHeaders,
  body: z.strictObject({ value: VoteValue.describe('The desired end state; `none` removes the vote.') }).meta({
    title: 'VoteInput',
    description: 'The vote that the token shall have.',
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
        "Sets the one vote that this token has on an idea: up, down, or none to take it back. The value is the end state, so repeating it changes nothing. Answers the new tally. The vote is the token's own: it is no vote of the user, and a token cannot vote for several people. Pending and merged ideas take no votes. Needs the write grant and counts as a write, also when nothing changes; writes are few in an hour (get_token says how many are left).",
      isDestructive: false,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const voteRoutes = { voteIdea };
