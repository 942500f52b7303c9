import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { serveAddresses } from './address-routes.ts';
import { serveOwnDeletion } from './deletion-routes.ts';
import { serveFollowing } from './following-routes.ts';
import { serveNotifications } from './notification-routes.ts';
import { serveOwnPassword } from './password-routes.ts';
import { serveOwnProfile } from './profile-routes.ts';

/** What everybody who is signed in has to themselves. */
export function serveProfile(app: FastifyInstance, server: ServerDependencies) {
  serveOwnProfile(app, server);
  serveAddresses(app, server);
  serveOwnPassword(app, server);
  serveOwnDeletion(app, server);
  serveNotifications(app, server);
  serveFollowing(app, server);
}
