import { turnOnIdea } from '../domain/ideas/lock-ideas.ts';
import { castVote } from '../domain/votes/cast-vote.ts';
import type { OperationRunner } from '../http/operation-runner.ts';
import type { Endpoints } from '../http/ts-rest.ts';

export function voteEndpoints(runner: OperationRunner): Pick<Endpoints, 'voteIdea'> {
  return {
    voteIdea: ({ request, reply, params, query, body }) =>
      runner.writeOnce({ request, reply, params, query, body, turns: () => [turnOnIdea(params.id)] }, async op => ({
        status: 200,
        body: await castVote(op, params.id, body.value),
      })),
  };
}
