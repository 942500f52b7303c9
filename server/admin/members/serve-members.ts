import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { serveInvitationLinks } from './accept-routes.ts';
import { serveInvitationPages } from './invitation-routes.ts';
import { serveMemberPages } from './member-routes.ts';

/** Who belongs to an account: its members, and those who are invited. */
export function serveMembers(app: FastifyInstance, server: ServerDependencies) {
  serveMemberPages(app, server);
  serveInvitationPages(app, server);
  serveInvitationLinks(app, server);
}
