import { excerptLength } from '../../contract/limits.ts';
import { defaultPerPage } from '../../contract/pagination.ts';
import { DomainError } from '../domain/domain-error.ts';
import { deleteIdea, editIdea } from '../domain/ideas/change-idea.ts';
import { createIdea } from '../domain/ideas/create-idea.ts';
import { listIdeas } from '../domain/ideas/list-ideas.ts';
import { turnOnIdea } from '../domain/ideas/lock-ideas.ts';
import { presentIdea } from '../domain/ideas/present-idea.ts';
import { readIdea } from '../domain/ideas/read-idea.ts';
import { placeOf, presentPage } from '../domain/pagination.ts';
import type { OperationRunner } from '../http/operation-runner.ts';
import type { Endpoints } from '../http/ts-rest.ts';

type IdeaEndpoints = Pick<Endpoints, 'listIdeas' | 'getIdea' | 'createIdea' | 'editIdea' | 'deleteIdea'>;

export function ideaEndpoints(runner: OperationRunner): IdeaEndpoints {
  return {
    listIdeas: async ({ request, query }) => {
      const sort = query.sort ?? 'newest';
      const filter = {
        status: query.status,
        statusKey: query.status_key,
        q: query.q,
        sort,
        isPending: query.moderation_state === 'pending',
        maxBodyLength: query.body === 'excerpt' ? excerptLength : undefined,
      };
      const place = placeOf(query, sort, defaultPerPage);
      const page = await runner.read(request, op => listIdeas(op, filter, place));
      const linkTo = runner.linkFor(request);
      return { status: 200, body: presentPage(page, idea => presentIdea(idea, linkTo)) };
    },

    getIdea: async ({ request, params }) => {
      const idea = await runner.read(request, op => readIdea(op, params.id));
      if (!idea) throw new DomainError('not_found');
      return { status: 200, body: presentIdea(idea, runner.linkFor(request)) };
    },

    createIdea: ({ request, reply, query, body }) =>
      runner.write({ request, reply, query, body }, async op => ({
        status: 201,
        body: presentIdea(await createIdea(op, body), runner.linkFor(request)),
      })),

    editIdea: ({ request, reply, params, query, body }) =>
      runner.write({ request, reply, params, query, body, turns: () => [turnOnIdea(params.id)] }, async op => {
        const { if_updated_at: ifUpdatedAt, ...changes } = body;
        const idea = await editIdea(op, params.id, { ...changes, ifUpdatedAt });
        return { status: 200, body: presentIdea(idea, runner.linkFor(request)) };
      }),

    deleteIdea: ({ request, reply, params, query }) =>
      runner.write({ request, reply, params, query, turns: () => [turnOnIdea(params.id)] }, async op => {
        await deleteIdea(op, params.id, query.reason);
        return { status: 200, body: { id: params.id, deleted: true } };
      }),
  };
}
