import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { serveBoardList } from './board-routes.ts';
import { serveDeadlines } from './deadline-routes.ts';
import { serveFreeze } from './freeze-routes.ts';
import { serveBoardSettings } from './settings-routes.ts';
import { serveStatusList } from './status-list-routes.ts';
import { serveStatus } from './status-routes.ts';
import { serveTags } from './tag-routes.ts';

/** The boards of an account and all that can be set of them, for its owners and admins. */
export function serveBoards(app: FastifyInstance, server: ServerDependencies) {
  serveBoardList(app, server);
  serveBoardSettings(app, server);
  serveFreeze(app, server);
  serveDeadlines(app, server);
  serveStatusList(app, server);
  serveStatus(app, server);
  serveTags(app, server);
}
