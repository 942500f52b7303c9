import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import type { OpenidClient } from '../../openid/openid-client.ts';
import { definePages, openArea, signedIn } from '../shell/area.ts';
import type { Frame } from '../shell/page.ts';
import { serveCodes } from './code-routes.ts';
import { serveLinks } from './link-routes.ts';
import { home } from './next-path.ts';
import { servePasswords } from './password-routes.ts';
import { serveProviders } from './provider-routes.ts';
import { serveSessions } from './sign-in-routes.ts';

const area = {
  pageOf: definePages('pages/sign-in'),
  frameOf: (request: FastifyRequest, account: AccountOfUser | undefined, title: string): Frame => ({
    title,
    site: { label: 'Idea-Board', href: home },
    ...signedIn(request, account),
  }),
  home: { label: 'Go to the sign-in page', href: '/sign-in' },
};

/** Serves the pages for signing in and signing up: with a password or through a mailed link, with a provider, and with a code. */
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
