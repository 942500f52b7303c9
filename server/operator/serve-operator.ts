import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../dependencies.ts';
import { definePages, type OwnArea, openArea } from '../pages/shell/area.ts';
import { serveRoutes } from '../pages/shell/visit.ts';
import { askForOwnPassword } from '../pages/sign-in/own-password.ts';
import { accountRoutes } from './accounts/account-routes.ts';
import { auditRoute } from './audit/audit-routes.ts';
import { frameOf } from './shell/frame.ts';
import { recordViews, requireOperator } from './shell/guard.ts';
import { statusRoute } from './status/status-routes.ts';
import { userRoutes } from './users/user-routes.ts';
import { webhookRoute } from './webhooks/webhook-routes.ts';

const area: OwnArea = {
  pageOf: definePages('operator'),
  frameOf,
  home: { label: 'shell.home.operator', href: '/operator' },
};

/**
 * Serves the operator's panel: pages about all accounts and users, for signed-in users with the flag is_operator. No
 * code of the server sets this flag: the person who runs the server sets it with SQL.
 */
export function serveOperator(server: ServerDependencies) {
  return async (app: FastifyInstance) => {
    await openArea(app, server, area);
    recordViews(app, server.audit);
    const askForPassword = askForOwnPassword(server);
    const routes = [
      statusRoute,
      ...accountRoutes(server, askForPassword),
      ...userRoutes(server, askForPassword),
      webhookRoute,
      auditRoute,
    ];
    serveRoutes(app, server, () => undefined, routes, [requireOperator]);
  };
}
