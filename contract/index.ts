import { initContract } from '@ts-rest/core';
import { getBoard } from './board.ts';
import { commentOnIdea, listComments } from './comments.ts';
import { createIdea, getIdea, listIdeas } from './ideas.ts';
import { mergeIdea, unmergeIdea } from './merging.ts';
import { getHealth, getReadiness } from './probes.ts';
import { setIdeaStatus } from './statuses.ts';
import { addIdeaTag, removeIdeaTag } from './tags.ts';
import { getToken } from './token.ts';
import { voteIdea } from './votes.ts';

/** Every endpoint of the Agent API and the probes. The keys are the operation ids of the OpenAPI document. */
export const contract = initContract().router(
  {
    getBoard,
    listIdeas,
    getIdea,
    createIdea,
    voteIdea,
    commentOnIdea,
    listComments,
    setIdeaStatus,
    addIdeaTag,
    removeIdeaTag,
    mergeIdea,
    unmergeIdea,
    getToken,
    getHealth,
    getReadiness,
  },
  { strictStatusCodes: true },
);

export type OperationId = keyof typeof contract;
