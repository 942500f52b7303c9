import cookie from '@fastify/cookie';
import formbody from '@fastify/formbody';
import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../dependencies.ts';
import type { PostTest } from '../domain/chat/channels.ts';
import type { Consents } from '../oauth/consents.ts';
import { serveAccount } from './account/account-routes.ts';
import { boardRoutes } from './boards/board-routes.ts';
import { chatRoutes } from './chat/chat-routes.ts';
import { serveConnect } from './connect/connect-routes.ts';
import { homeRoute } from './home/home-routes.ts';
import { serveInvitationLinks } from './members/accept-routes.ts';
import { invitationRoutes } from './members/invitation-routes.ts';
import { leaveRoute, memberRoutes } from './members/member-routes.ts';
import { moderationRoutes } from './moderation/queue-routes.ts';
import { serveProfile } from './profile/profile-routes.ts';
import { guardForms } from './shell/form.ts';
import { answerRefusals } from './shell/frame.ts';
import {
  findAccount,
  readBrowserSessions,
  requireAccount,
  requireAdminAccount,
  requireModeratedAccount,
} from './shell/session.ts';
import { serveRoutes } from './shell/visit.ts';
import { serveSignIn } from './sign-in/sign-in-routes.ts';
import { tokenRoutes } from './tokens/token-routes.ts';
import { deliveryRoutes } from './webhooks/delivery-routes.ts';
import { webhookRoutes } from './webhooks/webhook-routes.ts';

/** The maximum size of a sent form: enough for a few fields and a grant on each board of an account. */
const maxFormBytes = 64 * 1024;

/**
 * Serves the admin area for signed-in people. Its pages call the same operations as the API and the command line, in
 * the name of the signed-in user.
 */
export function serveAdmin(server: ServerDependencies, consents: Consents, postTest: PostTest) {
  return async (app: FastifyInstance) => {
    await app.register(cookie);
    await app.register(formbody, { bodyLimit: maxFormBytes });
    guardForms(app, server);
    readBrowserSessions(app, server);
    answerRefusals(app);
    serveSignIn(app, server);
    serveInvitationLinks(app, server);
    serveConnect(app, server, consents);
    serveProfile(app, server);
    serveAccount(app, server);
    serveRoutes(app, server, findAccount, [homeRoute]);
    serveRoutes(app, server, requireAccount, [leaveRoute]);
    serveRoutes(app, server, requireModeratedAccount, moderationRoutes);
    serveRoutes(app, server, requireAdminAccount, [
      ...boardRoutes,
      ...memberRoutes,
      ...invitationRoutes(server),
      ...tokenRoutes,
      ...webhookRoutes(server),
      ...deliveryRoutes,
      ...chatRoutes(server, postTest),
    ]);
  };
}
