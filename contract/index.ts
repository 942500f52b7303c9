import { boardRoutes } from './board.ts';
import { commentRoutes } from './comments.ts';
import { eventRoutes } from './event-list.ts';
import { ideaRoutes } from './ideas.ts';
import { mergeRoutes } from './merging.ts';
import { noteRoutes } from './notes.ts';
import { oneIdeaRoutes } from './one-idea.ts';
import { probeRoutes } from './probes.ts';
import { c } from './routes.ts';
import { similarRoutes } from './similar-ideas.ts';
import { statusRoutes } from './statuses.ts';
import { tagRoutes } from './tags.ts';
import { tokenRoutes } from './token.ts';
import { useTools } from './tools.ts';
import { voteRoutes } from './votes.ts';
import { webhookRoutes } from './webhooks.ts';

/** The operations of the Agent API and the probes. Each API operation is a REST endpoint and an MCP tool. */
export const operations = c.router(
  {
    ...tokenRoutes,
    ...boardRoutes,
    ...ideaRoutes,
    ...similarRoutes,
    ...oneIdeaRoutes,
    ...voteRoutes,
    ...commentRoutes,
    ...eventRoutes,
    ...statusRoutes,
    ...tagRoutes,
    ...mergeRoutes,
    ...noteRoutes,
    ...webhookRoutes,
    ...probeRoutes,
  },
  { strictStatusCodes: true },
);

/** All endpoints. Their keys are the operation ids of the OpenAPI document. */
export const contract = { ...operations, useTools };

export type OperationId = keyof typeof contract;
