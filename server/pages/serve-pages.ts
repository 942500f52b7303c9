import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../dependencies.ts';
import { collectPaths, refuseOtherMethods } from '../http/method-not-allowed.ts';
import { pathOf } from '../http/request-context.ts';
import { serveAssets } from './shell/assets.ts';
import { answerErrorPages } from './shell/error-page.ts';
import { strictHeaders } from './shell/headers.ts';

declare module 'fastify' {
  interface FastifyReply {
    /** Where a form of the page may lead beside this server: a source as form-action has it. */
    formTarget: string | null;
    /** Whether the page has the script that copies. */
    hasCopyButtons: boolean;
  }
}

/** Below these paths there are pages only, so that what is not there is answered with a page as well. */
const areas = ['/b', '/admin', '/assets'];

/**
 * The pages for people, apart from what programs use: they have strict headers, errors that are pages, and no parser for
 * any body but what a plugin brings for itself. The limit by address, the request id and the log are those of the whole
 * server.
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
      // At the end: a page may have set one of them for itself, and refusals have them too.
      app.addHook('onSend', async (_request, reply) => setHeaders(reply));
      const paths = collectPaths(app);
      for (const plugin of [serveAssets, ...plugins]) await app.register(plugin);
      for (const prefix of areas) {
        await app.register(async area => area.setNotFoundHandler(() => undefined), { prefix });
      }
      refuseOtherMethods(app, paths);
    },

    /** Whether what is asked for would be a page, for a path for which no route can be looked up. */
    own(request: FastifyRequest): boolean {
      return areas.some(area => pathOf(request).startsWith(`${area}/`));
    },

    /** Answers an error where no hook runs. */
    answerError(error: unknown, request: FastifyRequest, reply: FastifyReply) {
      setHeaders(reply);
      return answerError(error, request, reply);
    },
  };
}

/**
 * Browsers follow a redirect after a form only to where the page's forms may lead, and run a script only where the policy
 * of the page has it.
 */
function forPage({ formTarget, hasCopyButtons }: FastifyReply, name: string, value: string): string {
  if (name !== 'content-security-policy') return value;
  const withTarget = formTarget ? value.replace("form-action 'self'", `form-action 'self' ${formTarget}`) : value;
  return hasCopyButtons ? `${withTarget};script-src 'self'` : withTarget;
}
