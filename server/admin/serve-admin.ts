import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../dependencies.ts';
import type { PostTest } from '../domain/chat/channels.ts';
import type { Consents } from '../oauth/consents.ts';
import type { OpenidClient } from '../openid/openid-client.ts';
import { definePages, type OwnArea, openArea } from '../pages/shell/area.ts';
import {
  findAccount,
  nameAccount,
  requireAccount,
  requireAdminAccount,
  requireModeratedAccount,
  requireSession,
} from '../pages/shell/session.ts';
import { serveRoutes } from '../pages/shell/visit.ts';
import { serveAccount } from './account/account-routes.ts';
import { boardRoutes } from './boards/board-routes.ts';
import { chatRoutes } from './chat/chat-routes.ts';
import { serveConnect } from './connect/connect-routes.ts';
import { embeddingRoutes } from './embedding/embedding-routes.ts';
import { homeRoute } from './home/home-routes.ts';
import { serveInvitationLinks } from './members/accept-routes.ts';
import { invitationRoutes } from './members/invitation-routes.ts';
import { leaveRoute, memberRoutes } from './members/member-routes.ts';
import { moderationRoutes } from './moderation/queue-routes.ts';
import { linkToBoard } from './moderation/way-back.ts';
import { serveConnections } from './profile/connection-routes.ts';
import { servePicturePage } from './profile/picture-routes.ts';
import { serveProfile } from './profile/profile-routes.ts';
import { providerRoutes } from './providers/provider-routes.ts';
import { frameOf } from './shell/frame.ts';
import { tokenRoutes } from './tokens/token-routes.ts';
import { deliveryRoutes } from './webhooks/delivery-routes.ts';
import { webhookRoutes } from './webhooks/webhook-routes.ts';

/** The templates of pages that show a new secret and have a button that copies the secret. */
const copyPages = [
  'tokens/token-created',
  'webhooks/secret',
  'embedding/embedding',
  'embedding/secret',
  'members/invitation-link',
  'profile/second-factor-offer',
  'profile/recovery-codes',
];

const area: OwnArea = {
  pageOf: definePages('admin', copyPages),
  frameOf,
  home: { label: 'shell.home.admin', href: '/admin' },
  wayBack: linkToBoard,
};

/**
 * Serves the admin area for signed-in people. Its pages call the same operations as the API and the command line, in
 * the name of the signed-in user.
 */
export function serveAdmin(
  server: ServerDependencies,
  { consents, postTest, openid }: { consents: Consents; postTest: PostTest; openid: OpenidClient },
) {
  return async (app: FastifyInstance) => {
    await openArea(app, server, area);
    serveInvitationLinks(app, server);
    serveConnect(app, server, consents);
    serveProfile(app, server);
    await app.register(page => servePicturePage(page, server));
    serveAccount(app, server);
    serveConnections(app, server);
    serveRoutes(app, server, findAccount, [homeRoute]);
    // An account may require two-factor sign-in of its admins. An admin who does not use two-factor sign-in may still
    // leave such an account.
    serveRoutes(app, server, requireAccount, [leaveRoute], [requireSession, nameAccount]);
    serveRoutes(app, server, requireModeratedAccount, moderationRoutes);
    serveRoutes(app, server, requireAdminAccount, [
      ...boardRoutes,
      ...memberRoutes,
      ...invitationRoutes(server),
      ...tokenRoutes,
      ...webhookRoutes(server),
      ...deliveryRoutes,
      ...chatRoutes(server, postTest),
      ...providerRoutes(server, openid),
      ...embeddingRoutes(server),
    ]);
  };
}
