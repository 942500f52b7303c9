import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { fieldOf } from './form-fields.ts';
import { Refusal } from './refusal.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** What a form of the session has to send as form_token. */
    formTokenOf(tokenHash: Buffer): string;
  }
  interface FastifyContextConfig {
    /** The route's form is for whoever is not signed in, and may have been open when they did so in another tab. */
    isForVisitors?: boolean;
  }
}

/**
 * Keeps other sites from sending forms in the name of whoever is signed in, or from signing them in as somebody else. Every
 * form has to come from a page of this server, as its browser says. Where somebody is signed in it has to show, too, that
 * it was made for this session.
 */
export function guardForms(app: FastifyInstance, { audit, config, appKey }: ServerDependencies) {
  const key = Buffer.from(hkdfSync('sha256', appKey, '', 'idea-board form 1', 32));
  const ownOrigin = new URL(config.BASE_URL).origin;
  const isFromHere = config.isBaseUrlSet ? isFromOrigin(ownOrigin) : isFromSameHostOr(ownOrigin);
  const macOf = (tokenHash: Buffer) => createHmac('sha256', key).update(tokenHash).digest();

  app.decorate('formTokenOf', (tokenHash: Buffer) => macOf(tokenHash).toString('base64url'));

  // Before the session is looked at, and the body read.
  app.addHook('onRequest', async request => {
    if (request.method === 'POST' && !isFromHere(request)) refuse(request, 'origin');
  });
  app.addHook('preHandler', async request => {
    const { browserSession, method, body, routeOptions } = request;
    if (method !== 'POST' || !browserSession || routeOptions.config.isForVisitors) return;
    const given = Buffer.from(fieldOf(body, 'form_token'), 'base64url');
    const expected = macOf(browserSession.tokenHash);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) refuse(request, 'token');
  });

  function refuse(request: FastifyRequest, reason: 'origin' | 'token'): never {
    const { id, ip, browserSession } = request;
    const user = browserSession ? { user_id: browserSession.user.id } : {};
    audit.record('form.refused', { request_id: id, ip, reason, ...user });
    const isElsewhere = reason === 'origin' && config.isBaseUrlSet;
    throw new Refusal(
      403,
      'That form is not valid any more',
      isElsewhere
        ? `This server takes forms only from its pages at ${config.BASE_URL}. Open the page there and try again.`
        : 'You may have signed in anew since the page was opened, or the form is not from this site. Go back, reload the page, and try again.',
    );
  }
}

/**
 * Trusts no Host: a page whose name was made to lead to this server (DNS rebinding) is of the same site as its own forms.
 */
function isFromOrigin(expected: string) {
  return ({ headers: { origin, 'sec-fetch-site': site } }: FastifyRequest): boolean =>
    origin === expected && (site === undefined || site === 'same-origin');
}

/**
 * Compares the page with the host that it was sent to, where no setting names the server's address. Browsers send
 * Sec-Fetch-Site over HTTPS and to localhost only, and Origin with every POST.
 */
function isFromSameHostOr(expected: string) {
  return ({ headers: { origin, host, 'sec-fetch-site': site } }: FastifyRequest): boolean => {
    if (site !== undefined) return site === 'same-origin';
    if (origin === undefined || !URL.canParse(origin)) return false;
    return origin === expected || (host !== undefined && new URL(origin).host === host.toLowerCase());
  };
}
