import { defaultPerPage } from '../../contract/pagination.ts';
import { turnOnIdea } from '../domain/ideas/lock-ideas.ts';
import { placeOf, presentPage } from '../domain/pagination.ts';
import { castVote } from '../domain/votes/cast-vote.ts';
import { listVotes, presentVote, voteSort } from '../domain/votes/list-votes.ts';
import type { OperationRunner } from '../http/operation-runner.ts';
import type { Endpoints } from '../http/ts-rest.ts';

export function voteEndpoints(runner: OperationRunner): Pick<Endpoints, 'voteIdea' | 'listVotes'> {
  return {
    voteIdea: ({ request, reply, params, query, body }) =>
      runner.writeOnce({ request, reply, params, query, body, turns: () => [turnOnIdea(params.id)] }, async op => ({
        status: 200,
        body: await castVote(op, params.id, body.value),
      })),

    listVotes: async ({ request, params, query }) => {
      const place = placeOf(query, voteSort, defaultPerPage);
      const page = await runner.readList(request, op => listVotes(op, params.id, place));
      return { status: 200, body: presentPage(page, presentVote) };
    },
  };
}
