import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorKey, errors } from '../../contract/errors.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { noteErrors } from '../http/error-handler.ts';
import { collectPaths, refuseOtherMethods } from '../http/method-not-allowed.ts';
import { issuerOf, mcpUrlOf, resourceMetadataPath } from '../http/public-addresses.ts';
import type { ErrorReporter } from '../observability/error-reporter.ts';
import { refuseManyParameters } from './adjust-authorization.ts';
import { chargeAuthorizations, chargeRegistrations } from './client-limits.ts';
import { shownTarget, tidyRegistration } from './client-metadata.ts';
import { type Consents, consentsOf } from './consents.ts';
import { exchangeWith, type OauthErrorBody, pinToIssuer } from './exchange.ts';
import { authorizationServerMetadata, consentPathOf, protectedResourceMetadata, routes } from './metadata.ts';
import { type BuiltProvider, buildProvider } from './provider.ts';
import { sendRefusalPage, sendReturnPage } from './refusal-page.ts';

export interface Oauth {
  /** What browsers are sent to: a plugin for the pages. */
  servePages: FastifyPluginAsync;
  /** What clients ask themselves. */
  serveEndpoints: FastifyPluginAsync;
  /** The requests that await somebody's consent. */
  consents: Consents;
}

/** OAuth 2.1 for the tools (Authentication, 9): how a client gets the tokens that it calls them with. */
export function buildOauth(server: ServerDependencies): Oauth {
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

  async function exchange(request: FastifyRequest, reply: FastifyReply) {
    const provider = await providerOf();
    pinToIssuer(request, issuer);
    return exchangeWith(provider, request, reply);
  }

  return {
    consents: consentsOf(server, providerOf),

    async servePages(app) {
      const authorize = async (request: FastifyRequest, reply: FastifyReply) => {
        refuseManyParameters(request.query as object);
        const outcome = await exchange(request, reply);
        if ('refusal' in outcome) return sendRefusalPage(reply, outcome);
        const location = String(reply.getHeader('location'));
        // Whoever comes from the page of consent has answered there, and read where that leads.
        const isAnswered = request.routeOptions.url !== routes.authorization;
        if (!isAnswered && leadsAway(location)) return sendReturnPage(reply, location);
        return reply.status(outcome.status).send('');
      };
      // A HEAD, such as of who looks where a link leads, begins nothing.
      const onRequest = chargeAuthorizations(server);
      app.get(routes.authorization, { exposeHeadRoute: false, onRequest }, authorize);
      app.get(`${routes.authorization}/:uid`, { exposeHeadRoute: false }, authorize);
      app.addHook('onClose', async () => (await built)?.close());
    },

    async serveEndpoints(app) {
      leaveBodies(app);
      app.setErrorHandler(answerOauthErrors(server.reporter));
      const paths = collectPaths(app);
      for (const path of [resourceMetadataPath, resourceMetadataPath + new URL(mcpUrlOf(config)).pathname]) {
        app.get(path, async (_request, reply) => sendMetadata(reply, protectedResourceMetadata(config)));
      }
      app.get('/.well-known/oauth-authorization-server', async (_request, reply) =>
        sendMetadata(reply, authorizationServerMetadata(config)),
      );

      const answer = async (request: FastifyRequest, reply: FastifyReply) => {
        const outcome = await exchange(request, reply);
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
      refuseOtherMethods(app, paths);
    },
  };
}

/** Neither to the page of consent nor to a program on the person's own machine. */
function leadsAway(location: string): boolean {
  return !location.startsWith(consentPathOf('')) && !shownTarget(location).isLocal;
}

/** The provider reads bodies itself. */
function leaveBodies(app: FastifyInstance) {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _body, done) => done(null));
}

/** The same for everybody, and from one version of the server to the next. */
function sendMetadata(reply: FastifyReply, metadata: object) {
  return reply.header('Cache-Control', 'public, max-age=300').send(metadata);
}

/** Answers every error that is not the provider's own in the shape of OAuth. */
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
