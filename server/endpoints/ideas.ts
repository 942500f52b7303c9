import { defaultPerPage } from '../../contract/pagination.ts';
import { DomainError } from '../domain/domain-error.ts';
import { createIdea } from '../domain/ideas/create-idea.ts';
import { listIdeas } from '../domain/ideas/list-ideas.ts';
import { presentIdea } from '../domain/ideas/present-idea.ts';
import { readIdea } from '../domain/ideas/read-idea.ts';
import { placeOf } from '../domain/pagination.ts';
import type { Operator } from '../http/operate.ts';
import type { Endpoints } from '../http/ts-rest.ts';
import { presentPage } from './present-page.ts';

export function ideaEndpoints(operator: Operator): Pick<Endpoints, 'listIdeas' | 'getIdea' | 'createIdea'> {
  return {
    listIdeas: async ({ request, query }) => {
      const sort = query.sort ?? 'newest';
      const filter = {
        status: query.status,
        statusKey: query.status_key,
        q: query.q,
        sort,
        isPending: query.moderation_state === 'pending',
      };
      const place = placeOf(query, sort, defaultPerPage);
      const page = await operator.read(request, op => listIdeas(op, filter, place));
      return { status: 200, body: presentPage(page, presentIdea) };
    },

    getIdea: async ({ request, params }) => {
      const idea = await operator.read(request, op => readIdea(op, params.id));
      if (!idea) throw new DomainError('not_found');
      return { status: 200, body: presentIdea(idea) };
    },

    createIdea: ({ request, reply, query, body }) =>
      operator.write({ request, reply, query, body }, async op => ({
        status: 201,
        body: presentIdea(await createIdea(op, body)),
      })),
  };
}
