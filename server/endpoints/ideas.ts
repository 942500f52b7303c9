import { excerptLength } from '../../contract/limits.ts';
import { defaultPerPage } from '../../contract/pagination.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { commentSort, listComments, presentComment } from '../domain/comments/comments.ts';
import { DomainError } from '../domain/domain-error.ts';
import { deleteIdea, editIdea } from '../domain/ideas/change-idea.ts';
import { createIdea } from '../domain/ideas/create-idea.ts';
import { findSimilarIdeas } from '../domain/ideas/find-similar.ts';
import { listIdeas } from '../domain/ideas/list-ideas.ts';
import { turnOnIdea } from '../domain/ideas/lock-ideas.ts';
import { presentIdea } from '../domain/ideas/present-idea.ts';
import { readIdea } from '../domain/ideas/read-idea.ts';
import { readIdeas } from '../domain/ideas/read-ideas.ts';
import type { Actor } from '../domain/operation.ts';
import { placeOf, presentPage } from '../domain/pagination.ts';
import { listVotes, presentVote, voteSort } from '../domain/votes/list-votes.ts';
import type { OperationRunner } from '../http/operation-runner.ts';
import type { Endpoints } from '../http/ts-rest.ts';

type IdeaEndpoints = Pick<
  Endpoints,
  'listIdeas' | 'findSimilarIdeas' | 'getIdea' | 'createIdea' | 'editIdea' | 'deleteIdea'
>;

export function ideaEndpoints(runner: OperationRunner, { database }: ServerDependencies): IdeaEndpoints {
  return {
    listIdeas: async ({ request, query }) => {
      const linkTo = runner.linkFor(request);
      const maxBodyLength = query.body === 'excerpt' ? excerptLength : undefined;
      const { ids } = query;
      if (ids) {
        const page = await runner.read(request, op => readIdeas(op, ids, maxBodyLength));
        return { status: 200, body: presentPage(page, idea => presentIdea(idea, linkTo)) };
      }
      const sort = query.sort ?? 'newest';
      const filter = {
        status: query.status,
        statusKey: query.status_key,
        tagId: query.tag,
        authorId: query.author,
        q: query.q,
        createdAfter: timeOf(query.created_after),
        createdBefore: timeOf(query.created_before),
        updatedSince: timeOf(query.updated_since),
        sort,
        isPending: query.moderation_state === 'pending',
        maxBodyLength,
      };
      const place = placeOf(query, sort, defaultPerPage);
      const page = await runner.readList(request, op => listIdeas(op, filter, place));
      return { status: 200, body: presentPage(page, idea => presentIdea(idea, linkTo)) };
    },

    findSimilarIdeas: async ({ request, query: { title = '', body = '', of } }) => {
      const found = await runner.read(request, async op => {
        if (of === undefined) return findSimilarIdeas(database, op.actor, { title, body });
        const idea = await readIdea(op, of);
        if (!idea) throw new DomainError('not_found');
        return findSimilarIdeas(database, op.actor, { title: idea.title, body: idea.body, ideaId: of });
      });
      const linkTo = runner.linkFor(request);
      const data = found.map(idea => ({ ...presentIdea(idea, linkTo), similarity: idea.similarity }));
      return { status: 200, body: { data } };
    },

    getIdea: async ({ request, params, query: { expand = [] } }) => {
      const [idea, comments, votes] = await runner.read(request, async op => {
        const idea = await readIdea(op, params.id);
        if (!idea) throw new DomainError('not_found');
        return Promise.all([
          idea,
          expand.includes('comments') ? listComments(op, idea.id, placeOf({}, commentSort, defaultPerPage)) : undefined,
          expand.includes('votes') ? listVotes(op, idea.id, placeOf({}, voteSort, defaultPerPage)) : undefined,
        ]);
      });
      return {
        status: 200,
        body: {
          ...presentIdea(idea, runner.linkFor(request)),
          ...(comments && { comments: presentPage(comments, presentComment) }),
          ...(votes && { votes: presentPage(votes, presentVote) }),
        },
      };
    },

    createIdea: ({ request, reply, query, body }) => {
      const isUnique = query.on_similar === 'reject';
      const turns = ({ boardId }: Actor) => (isUnique ? [`submissions:${boardId}`] : []);
      return runner.write({ request, reply, query, body, turns }, async op => {
        const linkTo = runner.linkFor(request);
        const idea = await createIdea(op, body, isUnique ? { isSimilar: linkTo } : undefined);
        return { status: 201, body: presentIdea(idea, linkTo) };
      });
    },

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

function timeOf(given: string | undefined): Date | undefined {
  return given === undefined ? undefined : new Date(given);
}
