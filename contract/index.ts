import { getBoard } from './board.ts';
import { commentOnIdea, listComments } from './comments.ts';
import { createIdea, getIdea, listIdeas } from './ideas.ts';
import { mergeIdea, unmergeIdea } from './merging.ts';
import { getHealth, getReadiness } from './probes.ts';
import { c } from './routes.ts';
import { setIdeaStatus } from './statuses.ts';
import { addIdeaTag, removeIdeaTag } from './tags.ts';
import { getToken } from './token.ts';
import { useTools } from './tools.ts';
import { voteIdea } from './votes.ts';

/** Every operation of the Agent API, which is an endpoint and a tool, and the probes. */
export const operations = c.router(
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

/** Every endpoint. The keys are the operation ids of the OpenAPI document. */
export const contract = { ...operations, useTools };

export type OperationId = keyof typeof contract;
