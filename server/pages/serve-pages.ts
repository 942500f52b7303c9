import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../dependencies.ts';
import { compressSharedPage } from '../http/compressed.ts';
import { pathOf } from '../http/request-context.ts';
import { type Script, serveAssets } from './shell/assets.ts';
import { answerErrorPages } from './shell/error-page.ts';
import { strictHeaders } from './shell/headers.ts';
import { writeForReaders } from './shell/language.ts';

declare module 'fastify' {
  interface FastifyReply {
    /** Another server that a form on the page may redirect to, as a source for the directive form-action. */
    formTarget: string | null;
    /** The script that the page loads. */
    pageScript: Script | null;
    /** The sites that may show the page in a frame, as sources for the directive frame-ancestors. Null for no site. */
    frameAncestors: string | null;
  }
}

/** Paths that contain only pages and their files. A request for a missing path below them gets an error page. */
const areas = ['/b', '/admin', '/operator', '/sign-in', '/assets'];

/**
 * Builds the part of the server that serves HTML pages. Pages have strict security headers, and errors are pages too.
 * Pages accept no request body unless a plugin adds a body parser. Pages and the API share the rate limit by IP
 * address, the request ids and the log.
 */
export async function buildPages(server: ServerDependencies) {
  const headers = Object.entries(await strictHeaders());
  const answerError = answerErrorPages(server.reporter);

  function setHeaders(reply: FastifyReply) {
    for (const [name, value] of headers) {
      // The directive frame-ancestors replaces this header, which cannot name other sites.
      const isForFrames = name === 'x-frame-options' && reply.frameAncestors;
      if (!isForFrames && !reply.hasHeader(name)) reply.header(name, forPage(reply, name, value));
    }
  }

  return {
    serve: (plugins: readonly FastifyPluginAsync[]) => async (app: FastifyInstance) => {
      app.removeAllContentTypeParsers();
      app.decorateRequest('frameOfError', null);
      app.decorateRequest('wayOut', null);
      app.decorateReply('formTarget', null);
      app.decorateReply('pageScript', null);
      app.decorateReply('frameAncestors', null);
      app.setErrorHandler(answerError);
      // An onSend hook sets the headers, because error pages need them too and a page may have set some itself.
      app.addHook('onSend', async (_request, reply) => setHeaders(reply));
      app.addHook('onSend', compressSharedPage);
      writeForReaders(app);
      for (const plugin of [serveAssets, ...plugins]) await app.register(plugin);
      for (const prefix of areas) {
        await app.register(async area => area.setNotFoundHandler(() => undefined), { prefix });
      }
    },

    /** Whether a request for a missing path gets an error page instead of an API error. */
    own(request: FastifyRequest): boolean {
      return areas.some(area => pathOf(request).startsWith(`${area}/`));
    },

    /** Sends an error page for an error that occurs outside the hooks. */
    answerError(error: unknown, request: FastifyRequest, reply: FastifyReply) {
      setHeaders(reply);
      return answerError(error, request, reply);
    },
  };
}

/**
 * Extends the content security policy for one page. Without the extension, browsers do not run its script, do not follow a
 * redirect to another server after a form, and do not show the page in a frame.
 */
function forPage({ formTarget, pageScript, frameAncestors }: FastifyReply, name: string, value: string): string {
  if (name !== 'content-security-policy') return value;
  const withTarget = formTarget ? value.replace("form-action 'self'", `form-action 'self' ${formTarget}`) : value;
  const policy = frameAncestors
    ? withTarget.replace("frame-ancestors 'none'", `frame-ancestors ${frameAncestors}`)
    : withTarget;
  if (!pageScript) return policy;
  return `${policy};script-src 'self'${pageScript.isFetching ? ";connect-src 'self'" : ''}`;
}
