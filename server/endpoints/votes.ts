import type { RouterImplementation } from '@ts-rest/fastify';
import type { contract } from '../../contract/index.ts';
import { turnOnIdea } from '../domain/ideas/idea-turns.ts';
import { castVote } from '../domain/votes/cast-vote.ts';
import type { Operator } from '../http/operate.ts';

export function voteEndpoints(operator: Operator): Pick<RouterImplementation<typeof contract>, 'voteIdea'> {
  return {
    voteIdea: ({ request, reply, params, query, body }) =>
      operator.writeOnce({ request, reply, params, query, body, turns: () => [turnOnIdea(params.id)] }, async op => ({
        status: 200,
        body: await castVote(op, params.id, body.value),
      })),
  };
}
