import { turnOnIdea } from '../domain/ideas/lock-ideas.ts';
import { castVote } from '../domain/votes/cast-vote.ts';
import type { Operator } from '../http/operate.ts';
import type { Endpoints } from '../http/ts-rest.ts';

export function voteEndpoints(operator: Operator): Pick<Endpoints, 'voteIdea'> {
  return {
    voteIdea: ({ request, reply, params, query, body }) =>
      operator.writeOnce({ request, reply, params, query, body, turns: () => [turnOnIdea(params.id)] }, async op => ({
        status: 200,
        body: await castVote(op, params.id, body.value),
      })),
  };
}
