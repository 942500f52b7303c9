import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import type { OpenidClient } from '../../openid/openid-client.ts';
import { definePages, type OwnArea, openArea, signedIn } from '../shell/area.ts';
import { serveCodes } from './code-routes.ts';
import { serveLinks } from './link-routes.ts';
import { home } from './next-path.ts';
import { servePasswords } from './password-routes.ts';
import { serveProviders } from './provider-routes.ts';
import { serveSessions } from './sign-in-routes.ts';

const area: OwnArea = {
  pageOf: definePages('pages/sign-in'),
  frameOf: (request, account, title) => ({
    title,
    site: { label: 'Idea-Board', href: home },
    ...signedIn(request, account),
  }),
  home: { label: 'shell.home.sign_in', href: '/sign-in' },
};

/**
 * Serves the pages for signing in and signing up with a password, a mailed link or an identity provider. Also serves
 * the page for the two-factor code.
 */
export function serveSignIn(server: ServerDependencies, openid: OpenidClient) {
  return async (app: FastifyInstance) => {
    await openArea(app, server, area);
    serveSessions(app, server);
    serveLinks(app, server);
    serveCodes(app, server);
    servePasswords(app, server);
    serveProviders(app, server, openid);
  };
}
