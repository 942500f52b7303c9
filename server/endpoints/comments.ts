import { defaultPerPage } from '../../contract/pagination.ts';
import { commentOnIdea, commentSort, listComments, presentComment } from '../domain/comments/comments.ts';
import { turnOnIdea } from '../domain/ideas/lock-ideas.ts';
import { placeOf, presentPage } from '../domain/pagination.ts';
import type { OperationRunner } from '../http/operation-runner.ts';
import type { Endpoints } from '../http/ts-rest.ts';

export function commentEndpoints(runner: OperationRunner): Pick<Endpoints, 'commentOnIdea' | 'listComments'> {
  return {
    commentOnIdea: ({ request, reply, params, query, body }) =>
      runner.write({ request, reply, params, query, body, turns: () => [turnOnIdea(params.id)] }, async op => ({
        status: 201,
        body: presentComment(await commentOnIdea(op, params.id, body.body)),
      })),

    listComments: async ({ request, params, query }) => {
      const place = placeOf(query, commentSort, defaultPerPage);
      const page = await runner.read(request, op => listComments(op, params.id, place));
      return { status: 200, body: presentPage(page, presentComment) };
    },
  };
}
