import cookie from '@fastify/cookie';
import formbody from '@fastify/formbody';
import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../dependencies.ts';
import type { PostTest } from '../domain/chat/test-channel.ts';
import type { Consents } from '../oauth/consents.ts';
import { serveAccount } from './account/account-routes.ts';
import { serveBoards } from './boards/board-routes.ts';
import { serveChat } from './chat/chat-routes.ts';
import { serveConnect } from './connect/connect-routes.ts';
import { serveHome } from './home/home-routes.ts';
import { serveMembers } from './members/member-routes.ts';
import { serveModeration } from './moderation/queue-routes.ts';
import { serveProfile } from './profile/profile-routes.ts';
import { guardForms } from './shell/form.ts';
import { answerRefusals } from './shell/frame.ts';
import { readBrowserSessions } from './shell/session.ts';
import { servePasswords } from './sign-in/password-routes.ts';
import { serveSignIn } from './sign-in/sign-in-routes.ts';
import { serveTokens } from './tokens/token-routes.ts';
import { serveDeliveries } from './webhooks/delivery-routes.ts';
import { serveWebhooks } from './webhooks/webhook-routes.ts';

/** A form of a few fields, and a level for each board of an account. */
const maxFormBytes = 64 * 1024;

/**
 * The pages of the admin area, for people who are signed in. They call the same operations as the API and the command
 * line, in the name of whoever is signed in.
 */
export function serveAdmin(server: ServerDependencies, consents: Consents, postTest: PostTest) {
  return async (app: FastifyInstance) => {
    await app.register(cookie);
    await app.register(formbody, { bodyLimit: maxFormBytes });
    guardForms(app, server);
    readBrowserSessions(app, server);
    answerRefusals(app);
    serveSignIn(app, server);
    servePasswords(app, server);
    serveHome(app, server);
    serveTokens(app, server);
    serveConnect(app, server, consents);
    serveBoards(app, server);
    serveModeration(app, server);
    serveAccount(app, server);
    serveProfile(app, server);
    serveMembers(app, server);
    serveWebhooks(app, server);
    serveDeliveries(app, server);
    serveChat(app, server, postTest);
  };
}
