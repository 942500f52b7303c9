import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorKey, errors } from '../../contract/errors.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { noteErrors } from '../http/error-handler.ts';
import { issuerOf, mcpUrlOf, resourceMetadataPath } from '../http/public-addresses.ts';
import type { ErrorReporter } from '../observability/error-reporter.ts';
import { refuseManyParameters } from './adjust-authorization.ts';
import { callProvider, type OauthErrorBody, pinToIssuer } from './call-provider.ts';
import { chargeAuthorizations, chargeRegistrations } from './client-limits.ts';
import { shownTarget, tidyRegistration } from './client-metadata.ts';
import { consentsOf } from './consents.ts';
import { authorizationServerMetadata, consentPathOf, protectedResourceMetadata, routes } from './metadata.ts';
import { type BuiltProvider, buildProvider } from './provider.ts';
import { sendRefusalPage, sendReturnPage } from './refusal-page.ts';

/** Builds the OAuth 2.1 server for clients of the MCP endpoint (specification: Authentication, 9). */
export function buildOauth(server: ServerDependencies) {
  const { config } = server;
  const issuer = issuerOf(config);
  let built: Promise<BuiltProvider> | undefined;

  async function providerOf() {
    built ??= buildProvider(server).catch(error => {
      built = undefined;
      throw error;
    });
    return (await built).provider;
  }

  async function answerWithProvider(request: FastifyRequest, reply: FastifyReply) {
    const provider = await providerOf();
    pinToIssuer(request, issuer);
    return callProvider(provider, request, reply);
  }

  return {
    consents: consentsOf(server, providerOf),

    /** The Fastify plugin for the authorization endpoint, which browsers open. */
    async servePages(app: FastifyInstance) {
      const authorize = async (request: FastifyRequest, reply: FastifyReply) => {
        refuseManyParameters(request.query as object);
        const outcome = await answerWithProvider(request, reply);
        if ('refusal' in outcome) return sendRefusalPage(reply, outcome);
        const location = String(reply.getHeader('location'));
        // The route with `:uid` redirects after the consent page. The user has already seen the target of the redirect
        // there, so this route needs no second page.
        const isAnswered = request.routeOptions.url !== routes.authorization;
        if (!isAnswered && leadsAway(location)) return sendReturnPage(reply, location);
        return reply.status(outcome.status).send('');
      };
      // A HEAD request must not start an authorization.
      const onRequest = chargeAuthorizations(server);
      app.get(routes.authorization, { exposeHeadRoute: false, onRequest }, authorize);
      app.get(`${routes.authorization}/:uid`, { exposeHeadRoute: false }, authorize);
      app.addHook('onClose', async () => (await built)?.close());
    },

    async serveEndpoints(app: FastifyInstance) {
      leaveBodies(app);
      app.setErrorHandler(answerOauthErrors(server.reporter));
      for (const path of [resourceMetadataPath, resourceMetadataPath + new URL(mcpUrlOf(config)).pathname]) {
        app.get(path, async (_request, reply) => sendMetadata(reply, protectedResourceMetadata(config)));
      }
      app.get('/.well-known/oauth-authorization-server', async (_request, reply) =>
        sendMetadata(reply, authorizationServerMetadata(config)),
      );

      const answer = async (request: FastifyRequest, reply: FastifyReply) => {
        const outcome = await answerWithProvider(request, reply);
        const body = 'refusal' in outcome ? outcome.refusal : outcome.body;
        return reply.status(outcome.status).send(body ?? '');
      };
      app.post(routes.token, answer);
      app.post(routes.revocation, answer);
      app.post(
        routes.registration,
        { onRequest: chargeRegistrations(server), preSerialization: tidyRegistration },
        answer,
      );
      app.get(`${routes.registration}/:clientId`, { preSerialization: tidyRegistration }, answer);
      await app.register(async area => area.setNotFoundHandler(() => undefined), { prefix: '/oauth' });
    },
  };
}

/**
 * Whether a redirect leads to another site or to an application's own URL scheme, such as `cursor:`. Returns false for
 * redirects to the consent page and to loopback addresses.
 */
function leadsAway(location: string): boolean {
  return !location.startsWith(consentPathOf('')) && !shownTarget(location).isLocal;
}

/** Leaves the bodies of requests unread, because oidc-provider reads them itself. */
function leaveBodies(app: FastifyInstance) {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _body, done) => done(null));
}

/** Sends metadata that may be cached, because it is the same for everybody. */
function sendMetadata(reply: FastifyReply, metadata: object) {
  return reply.header('Cache-Control', 'public, max-age=300').send(metadata);
}

/** Answers errors that do not come from oidc-provider, in the format of OAuth. */
function answerOauthErrors(reporter: ErrorReporter) {
  const note = noteErrors(reporter);
  return (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const { key, message } = note(error, request, reply);
    const body: OauthErrorBody = { error: codes[key] ?? 'invalid_request', error_description: message };
    return reply.status(errors[key].status).send(body);
  };
}

const codes: Partial<Record<ErrorKey, string>> = {
  internal_error: 'server_error',
  rate_limited: 'temporarily_unavailable',
  service_unavailable: 'temporarily_unavailable',
};
