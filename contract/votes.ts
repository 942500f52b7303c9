import { initContract } from '@ts-rest/core';
import { z } from 'zod';
import { raisedBy, raises } from './errors.ts';
import { VoteValue } from './idea.ts';
import { PathId } from './identifiers.ts';
import { BoardQuery, IdempotencyHeaders, type RouteMetadata } from './routes.ts';

const c = initContract();

export const VoteTally = z
  .object({
    score: z.int().describe('`up_count` less `down_count`.'),
    my_vote: VoteValue.describe("The token's current vote."),
    up_count: z.int().min(0),
    down_count: z.int().min(0),
  })
  .meta({
    title: 'VoteTally',
    description: 'The tally of an idea after a vote.',
    examples: [{ score: 17, my_vote: 'up', up_count: 19, down_count: 2 }],
  });

export const voteIdea = c.mutation({
  method: 'POST',
  path: '/api/v1/ideas/:id/vote',
  summary: 'Vote on an idea',
  description:
    "Sets the token's vote. `value` is the desired end state: `up` and `down` cast or change the vote, `none` removes it, repeating a value changes nothing. A token is one voter, separate from the user who issued it.",
  pathParams: z.object({ id: PathId }),
  query: BoardQuery,
  headers: IdempotencyHeaders,
  body: z.strictObject({ value: VoteValue }).meta({ title: 'VoteInput', examples: [{ value: 'up' }] }),
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
  metadata: { tag: 'Votes', auth: 'board', grant: 'write', bucket: 'apitoken:write' } as const satisfies RouteMetadata,
});
