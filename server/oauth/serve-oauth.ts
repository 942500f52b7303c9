import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../dependencies.ts';
import { collectPaths, refuseOtherMethods } from '../http/method-not-allowed.ts';
import { issuerOf, mcpUrlOf, resourceMetadataPath } from '../http/public-addresses.ts';
import { refuseManyParameters } from './adjust-authorization.ts';
import { chargeAuthorizations, chargeRegistrations } from './client-limits.ts';
import { shownTarget } from './client-metadata.ts';
import { type Consents, consentsOf } from './consents.ts';
import { answerOauthErrors } from './error-answer.ts';
import { exchangeWith, pinToIssuer } from './exchange.ts';
import { authorizationServerMetadata, protectedResourceMetadata } from './metadata.ts';
import { type BuiltProvider, buildProvider } from './provider.ts';
import { sendRefusalPage, sendReturnPage } from './refusal-page.ts';
import { consentPathOf, routes } from './routes.ts';
import { tidyRegistration } from './tidy-registration.ts';

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
