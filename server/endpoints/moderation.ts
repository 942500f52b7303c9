import { turnOnIdea, turnsOfMerge } from '../domain/ideas/lock-ideas.ts';
import { type LinkToIdea, presentIdea } from '../domain/ideas/present-idea.ts';
import { copyVotesAhead, type MergeView, mergeIdea, unmergeIdea } from '../domain/merging/merge-idea.ts';
import type { ReadOperation } from '../domain/operation.ts';
import { setIdeaStatus } from '../domain/statuses/set-idea-status.ts';
import { addIdeaTag, removeIdeaTag } from '../domain/tags/tag-idea.ts';
import type { OperationRunner } from '../http/operation-runner.ts';
import type { Endpoints } from '../http/ts-rest.ts';

type ModerationEndpoints = Pick<
  Endpoints,
  'setIdeaStatus' | 'addIdeaTag' | 'removeIdeaTag' | 'mergeIdea' | 'unmergeIdea'
>;

export function moderationEndpoints(runner: OperationRunner): ModerationEndpoints {
  return {
    setIdeaStatus: ({ request, reply, params, query, body }) =>
      runner.write({ request, reply, params, query, body, turns: () => [turnOnIdea(params.id)] }, async op => ({
        status: 200,
        body: presentIdea(await setIdeaStatus(op, params.id, body.status, body.reply), runner.linkFor(request)),
      })),

    addIdeaTag: ({ request, reply, params, query, body }) =>
      runner.write({ request, reply, params, query, body, turns: () => [turnOnIdea(params.id)] }, async op => ({
        status: 200,
        body: presentIdea(await addIdeaTag(op, params.id, body.tag_id), runner.linkFor(request)),
      })),

    removeIdeaTag: ({ request, reply, params, query }) =>
      runner.write({ request, reply, params, query, turns: () => [turnOnIdea(params.id)] }, async op => ({
        status: 200,
        body: presentIdea(await removeIdeaTag(op, params.id, params.tagId), runner.linkFor(request)),
      })),

    mergeIdea: ({ request, reply, params, query, body }) => {
      const turns = turnsOfMerge(params.id, body.target_id);
      const prepare = (op: ReadOperation) => copyVotesAhead(op, params.id, body.target_id);
      return runner.write({ request, reply, params, query, body, turns, prepare }, async op => ({
        status: 200,
        body: presentMerge(await mergeIdea(op, params.id, body.target_id), runner.linkFor(request)),
      }));
    },

    unmergeIdea: ({ request, reply, params, query }) =>
      runner.write({ request, reply, params, query, turns: turnsOfMerge(params.id) }, async op => ({
        status: 200,
        body: presentMerge(await unmergeIdea(op, params.id), runner.linkFor(request)),
      })),
  };
}

function presentMerge({ idea, target }: MergeView, linkTo: LinkToIdea) {
  return { idea: presentIdea(idea, linkTo), target: target && presentIdea(target, linkTo) };
}
