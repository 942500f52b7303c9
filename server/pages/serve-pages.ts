import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../dependencies.ts';
import { collectPaths, refuseOtherMethods } from '../http/method-not-allowed.ts';
import { pathOf } from '../http/request-context.ts';
import { serveAssets } from './shell/assets.ts';
import { answerErrorPages } from './shell/error-page.ts';
import { strictHeaders } from './shell/headers.ts';

declare module 'fastify' {
  interface FastifyReply {
    /** Another allowed target of the page's forms, as a source of form-action. */
    formTarget: string | null;
    /** Whether the page loads copy.js. */
    hasCopyButtons: boolean;
  }
}

/** Only pages are below these paths, so a 404 there is a page too. */
const areas = ['/b', '/admin', '/assets'];

/**
 * Builds the pages for people. They have strict headers, errors as pages, and no body parser unless a plugin adds one.
 * They share the rate limit by address, the request id and the log of the server.
 */
export async function buildPages(server: ServerDependencies) {
  const headers = Object.entries(await strictHeaders());
  const answerError = answerErrorPages(server.reporter);

  function setHeaders(reply: FastifyReply) {
    for (const [name, value] of headers) if (!reply.hasHeader(name)) reply.header(name, forPage(reply, name, value));
  }

  return {
    serve: (plugins: readonly FastifyPluginAsync[]) => async (app: FastifyInstance) => {
      app.removeAllContentTypeParsers();
      app.decorateRequest('frameOfError', null);
      app.decorateReply('formTarget', null);
      app.decorateReply('hasCopyButtons', false);
      app.setErrorHandler(answerError);
      // On send, because a page may set its own headers, and errors need them too.
      app.addHook('onSend', async (_request, reply) => setHeaders(reply));
      const paths = collectPaths(app);
      for (const plugin of [serveAssets, ...plugins]) await app.register(plugin);
      for (const prefix of areas) {
        await app.register(async area => area.setNotFoundHandler(() => undefined), { prefix });
      }
      refuseOtherMethods(app, paths);
    },

    /** Whether a path without a route belongs to the pages. */
    own(request: FastifyRequest): boolean {
      return areas.some(area => pathOf(request).startsWith(`${area}/`));
    },

    /** Sends the page of an error that occurs outside hooks. */
    answerError(error: unknown, request: FastifyRequest, reply: FastifyReply) {
      setHeaders(reply);
      return answerError(error, request, reply);
    },
  };
}

/**
 * Extends the content security policy for a page. Without this, browsers do not follow a redirect to another server
 * after a form, and do not run copy.js.
 */
function forPage({ formTarget, hasCopyButtons }: FastifyReply, name: string, value: string): string {
  if (name !== 'content-security-policy') return value;
  const withTarget = formTarget ? value.replace("form-action 'self'", `form-action 'self' ${formTarget}`) : value;
  return hasCopyButtons ? `${withTarget};script-src 'self'` : withTarget;
}
