import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { serveApproval } from './approval-routes.ts';
import { serveBlocks } from './block-routes.ts';
import { serveIdeaList } from './idea-list-routes.ts';
import { serveIdeas } from './idea-routes.ts';
import { serveMerging } from './merge-routes.ts';
import { serveQueue } from './queue-routes.ts';
import { serveRejectedList } from './rejected-routes.ts';
import { serveUnmerging } from './unmerge-routes.ts';

/** What moderators do, and admins and owners as well: the queue, ideas, merging, and who is blocked. */
export function serveModeration(app: FastifyInstance, server: ServerDependencies) {
  serveQueue(app, server);
  serveRejectedList(app, server);
  serveApproval(app, server);
  serveIdeaList(app, server);
  serveIdeas(app, server);
  serveMerging(app, server);
  serveUnmerging(app, server);
  serveBlocks(app, server);
}
