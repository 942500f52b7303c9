import { defaultPerPage } from '../../contract/pagination.ts';
import { deleteComment, editComment } from '../domain/comments/change-comment.ts';
import { commentOnIdea, commentSort, listComments, presentComment } from '../domain/comments/comments.ts';
import { turnOnIdea } from '../domain/ideas/lock-ideas.ts';
import { placeOf, presentPage } from '../domain/pagination.ts';
import type { OperationRunner } from '../http/operation-runner.ts';
import type { Endpoints } from '../http/ts-rest.ts';

type CommentEndpoints = Pick<Endpoints, 'commentOnIdea' | 'listComments' | 'editComment' | 'deleteComment'>;

export function commentEndpoints(runner: OperationRunner): CommentEndpoints {
  return {
    commentOnIdea: ({ request, reply, params, query, body }) =>
      runner.write({ request, reply, params, query, body, turns: () => [turnOnIdea(params.id)] }, async op => ({
        status: 201,
        body: presentComment(await commentOnIdea(op, params.id, body.body)),
      })),

    listComments: async ({ request, params, query }) => {
      const place = placeOf(query, commentSort, defaultPerPage);
      const page = await runner.readList(request, op => listComments(op, params.id, place));
      return { status: 200, body: presentPage(page, presentComment) };
    },

    editComment: ({ request, reply, params, query, body }) =>
      runner.write({ request, reply, params, query, body, turns: () => [turnOnIdea(params.id)] }, async op => {
        const { if_updated_at: ifUpdatedAt, ...changes } = body;
        const comment = await editComment(op, placeIn(params), { ...changes, ifUpdatedAt });
        return { status: 200, body: presentComment(comment) };
      }),

    deleteComment: ({ request, reply, params, query }) =>
      runner.write({ request, reply, params, query, turns: () => [turnOnIdea(params.id)] }, async op => {
        await deleteComment(op, placeIn(params), query.reason);
        return { status: 200, body: { id: params.commentId, deleted: true } };
      }),
  };
}

function placeIn({ id: ideaId, commentId }: { id: number; commentId: number }) {
  return { ideaId, commentId };
}
