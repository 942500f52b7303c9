import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../dependencies.ts';
import { DomainError } from '../domain/domain-error.ts';
import { compressPage } from '../http/compressed.ts';
import { pathOf } from '../http/request-context.ts';
import { type Script, serveAssets } from './shell/assets.ts';
import { answerErrorPages } from './shell/error-page.ts';
import { strictHeaders } from './shell/headers.ts';
import { writeForReaders } from './shell/language.ts';

declare module 'fastify' {
  interface FastifyReply {
    /** The other server to which a form on the page may redirect, as a source for the CSP directive form-action. */
    formTarget: string | null;
    /** The script that the page loads. */
    pageScript: Script | null;
    /**
     * The websites that may show the page in a frame, as sources for the CSP directive frame-ancestors. Null if no
     * website may.
     */
    frameAncestors: string | null;
  }
}

/**
 * The path prefixes of pages and of the files that pages use. If a path with one of these prefixes does not exist, the
 * answer is an HTML error page.
 */
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
      // Removes X-Frame-Options, because this header cannot list other websites. The CSP directive frame-ancestors
      // replaces it.
      const isForFrames = name === 'x-frame-options' && reply.frameAncestors;
      if (!isForFrames && !reply.hasHeader(name)) reply.header(name, forPage(reply, name, value));
    }
  }

  return {
    serve: (plugins: readonly FastifyPluginAsync[]) => async (app: FastifyInstance) => {
      app.removeAllContentTypeParsers();
      app.decorateRequest('frameOfError', null);
      app.decorateRequest('wayOut', null);
      app.decorateRequest('wayBack', null);
      app.decorateReply('formTarget', null);
      app.decorateReply('pageScript', null);
      app.decorateReply('frameAncestors', null);
      app.setErrorHandler(answerError);
      // Sets the headers in an onSend hook, so that error pages also get the headers. The hook keeps headers that the
      // page has set.
      app.addHook('onSend', async (_request, reply) => setHeaders(reply));
      app.addHook('onSend', compressPage);
      writeForReaders(app);
      app.addHook('onRequest', refuseNul);
      for (const plugin of [serveAssets, ...plugins]) await app.register(plugin);
      for (const prefix of areas) {
        await app.register(async area => area.setNotFoundHandler(() => undefined), { prefix });
      }
    },

    /** Whether a request for a missing path gets an HTML error page instead of an API error. */
    own(request: FastifyRequest): boolean {
      const path = pathOf(request);
      if (areas.some(area => path.startsWith(`${area}/`))) return true;
      return !path.startsWith('/api/') && (request.headers.accept?.includes('text/html') ?? false);
    },

    /**
     * Sends an error page for an error that occurs before the hooks of a page run. Sets the headers itself, because
     * these hooks do not run for such an error.
     */
    answerError(error: unknown, request: FastifyRequest, reply: FastifyReply) {
      setHeaders(reply);
      return answerError(error, request, reply);
    },
  };
}

/**
 * Answers 404 if the path contains a NUL character, and 400 if the query contains one. PostgreSQL cannot compare a text
 * with such a character, so a query for a board's slug would fail.
 */
async function refuseNul(request: FastifyRequest) {
  if (!request.url.includes('%00')) return;
  throw new DomainError(pathOf(request).includes('%00') ? 'not_found' : 'validation_failed');
}

/**
 * Extends the content security policy for one page. The extended policy allows the page's script, a redirect to another
 * server after a form, or websites that show the page in a frame.
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
