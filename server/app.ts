import { readFileSync } from 'node:fs';
import { maxHeaderSize } from 'node:http';
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { maxBodyBytes } from '../contract/limits.ts';
import { serveAdmin } from './admin/serve-admin.ts';
import type { Config } from './config.ts';
import { buildTestPoster } from './delivery/chat/post-message.ts';
import type { ServerDependencies } from './dependencies.ts';
import { DomainError } from './domain/domain-error.ts';
import { buildUnsubscribeTokens } from './domain/notifications/unsubscribe-token.ts';
import { boardEndpoints } from './endpoints/board.ts';
import { commentEndpoints } from './endpoints/comments.ts';
import { eventEndpoints } from './endpoints/events.ts';
import { ideaEndpoints } from './endpoints/ideas.ts';
import { moderationEndpoints } from './endpoints/moderation.ts';
import { noteEndpoints } from './endpoints/notes.ts';
import { probeEndpoints } from './endpoints/probes.ts';
import { tokenEndpoints } from './endpoints/token.ts';
import { voteEndpoints } from './endpoints/votes.ts';
import { webhookEndpoints } from './endpoints/webhooks.ts';
import { serveExtensions } from './extensions/serve-extensions.ts';
import { admitRequests } from './http/admit.ts';
import { recordAnswers } from './http/answer-log.ts';
import { compress, sendCompressed } from './http/compressed.ts';
import { answerConditionally } from './http/conditional.ts';
import { shareWithOrigins } from './http/cors.ts';
import { buildUsageCounter } from './http/count-usage.ts';
import { announceDeprecation } from './http/deprecation.ts';
import { drainConnections } from './http/draining.ts';
import { answerErrors } from './http/error-handler.ts';
import { buildEventWaits } from './http/event-waits.ts';
import { answerUnroutable, collectMethods } from './http/method-not-allowed.ts';
import { buildOperationRunner, chargeFailedReplay } from './http/operation-runner.ts';
import { readJsonBodies, refuseEncodedBody } from './http/request-body.ts';
import { noteLateBody, readmitLate } from './http/request-context.ts';
import { traceRequests } from './http/trace-requests.ts';
import { boundedServer, guardTransport, refuseInvalidHead, requestIdOf } from './http/transport.ts';
import { refuseUndeclaredBody, serveOperations } from './http/ts-rest.ts';
import { serveTools } from './mcp/serve-tools.ts';
import { buildOauth } from './oauth/serve-oauth.ts';
import { buildOpenidClient } from './openid/openid-client.ts';
import { serveOperator } from './operator/serve-operator.ts';
import { serveBoards } from './pages/boards/serve-boards.ts';
import { serveDocumentation } from './pages/documentation/serve-documentation.ts';
import { serveEmbedding } from './pages/embedding/serve-embedding.ts';
import { serveEntrance } from './pages/entrance/serve-entrance.ts';
import { servePictures } from './pages/pictures/serve-pictures.ts';
import { buildPages } from './pages/serve-pages.ts';
import { serveSignIn } from './pages/sign-in/serve-sign-in.ts';
import { serveSitemap } from './pages/sitemap/serve-sitemap.ts';
import { serveUnsubscribe } from './pages/unsubscribe/serve-unsubscribe.ts';

/**
 * The time limit for posting a test message to a chat. It is shorter than a job's time limit, because a person waits
 * for the result.
 */
const testPostTimeoutMs = 5_000;

/**
 * Builds the HTTP server, which does not listen yet. Closing the HTTP server does not close its dependencies, such as
 * the database.
 */
export async function buildApp(server: ServerDependencies): Promise<FastifyInstance> {
  const admit = admitRequests(server);
  const cors = shareWithOrigins(server.config.CORS_ORIGINS);
  const setHeaders = headersOfAnswers(server.config);
  const answerError = answerErrors(server.reporter);
  const pages = await buildPages(server);
  const record = recordAnswers(server.metrics);
  const answerUnknown: typeof answerError = (error, request, reply) => {
    const answer = pages.own(request) ? pages.answerError : answerError;
    return answer(error, request, reply);
  };
  const app = fastify({
    loggerInstance: server.logger as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: server.config.TRUST_PROXY,
    bodyLimit: maxBodyBytes,
    genReqId: requestIdOf,
    requestTimeout: server.config.REQUEST_TIMEOUT_MS,
    // Turns off Node's own answer to a request without a Host header, because that answer has no body. A hook of this
    // server sends an answer with a body.
    http: { ...boundedServer(server.config), requireHostHeader: false },
    // Turns off Fastify's answers to invalid HTTP, because guardTransport answers invalid HTTP.
    clientErrorHandler() {},
    // No parameter of a path is too long for the router, so that each request meets the checks of its route.
    routerOptions: { ignoreTrailingSlash: false, maxParamLength: maxHeaderSize },
    // Turns off Fastify's own 503 during a stop, because its body does not have the format of this server's errors. The
    // server still answers requests on open connections.
    return503OnClosing: false,
    frameworkErrors: answerUnroutable(answerUnknown, [setHeaders, cors.allow, admit], record),
  });
  // Unsupported methods on the paths of the operator's panel get 404 instead of 405. Otherwise a signed-in user who is
  // no operator could learn these paths.
  collectMethods(app, /^\/operator(\/|$)/);
  guardTransport(app, server);
  drainConnections(app);
  readJsonBodies(app);

  app.decorateRequest('admission', null);
  app.decorateRequest('bucketState', null);
  app.decorateRequest('idempotency', null);
  app.decorateRequest('storedAnswer', null);
  app.decorateRequest('sparedCounter', null);
  app.decorateRequest('toolName', null);
  app.decorateRequest('isPersonal', false);
  app.decorateRequest('errorKey', null);
  app.decorateRequest('isBodyLate', false);
  traceRequests(app, server.tracing);
  app.addHook('onRequest', synchronousHook(setHeaders, announceDeprecation, cors.allow));
  app.addHook('onRequest', admit);
  app.addHook('onRequest', synchronousHook(refuseInvalidHead));
  app.addHook('onRequest', cors.answerPreflight);
  app.addHook('onRequest', synchronousHook(refuseUnknownPath));
  app.addHook('preParsing', refuseEncodedBody);
  app.addHook('preParsing', noteLateBody);
  app.addHook('preHandler', readmitLate);
  app.addHook('preHandler', synchronousHook(refuseUndeclaredBody));
  app.addHook('onSend', chargeFailedReplay(server));
  app.addHook('onSend', answerConditionally(server));
  app.setErrorHandler((error, request, reply) => {
    const answer = request.is404 ? answerUnknown : answerError;
    return answer(error, request, reply);
  });
  app.setNotFoundHandler(() => {
    throw new DomainError('not_found');
  });

  const usage = buildUsageCounter(server);
  app.addHook('onResponse', synchronousHook(record, usage.countRequest));
  app.addHook('onClose', () => usage.close());
  const runner = buildOperationRunner(server);
  const waits = buildEventWaits(server);
  // When the server stops, it immediately answers the requests that are waiting for events.
  app.addHook('preClose', async () => waits.end());
  app.addHook('onClose', () => waits.close());
  const endpoints = {
    ...boardEndpoints(runner),
    ...ideaEndpoints(runner, server),
    ...voteEndpoints(runner),
    ...commentEndpoints(runner),
    ...noteEndpoints(runner),
    ...eventEndpoints(server, runner, waits),
    ...moderationEndpoints(runner),
    ...webhookEndpoints(runner, server),
    ...tokenEndpoints(server),
    ...probeEndpoints(server),
  };
  await serveOperations(app, endpoints, answerError);
  await app.register(serveTools(server, endpoints, usage));
  await app.register(serveOpenApiDocument);
  const oauth = buildOauth(server);
  const testPoster = buildTestPoster(server.config, testPostTimeoutMs);
  const openid = buildOpenidClient(server.config);
  app.addHook('onClose', async () => {
    testPoster.close();
    openid.close();
  });
  await app.register(oauth.serveEndpoints);
  await app.register(
    pages.serve([
      serveBoards(server),
      serveEmbedding(server),
      servePictures(server),
      serveSitemap(server),
      serveDocumentation(server.config),
      serveEntrance,
      serveUnsubscribe(server, buildUnsubscribeTokens(server.appKey)),
      serveSignIn(server, openid),
      serveAdmin(server, { consents: oauth.consents, postTest: testPoster.postTest, openid }),
      serveOperator(server),
      oauth.servePages,
    ]),
  );
  await serveExtensions(app, server);
  return app;
}

/**
 * Builds a hook from synchronous functions. Each asynchronous hook would cost every request a promise and a turn of the
 * microtask queue.
 */
function synchronousHook(...steps: ((request: FastifyRequest, reply: FastifyReply) => void)[]) {
  return (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    for (const step of steps) step(request, reply);
    done();
  };
}

/**
 * Answers 404 or 405 if no route matches. Fastify would call the not-found handler only after it has read a valid body.
 */
function refuseUnknownPath({ is404, url, server }: FastifyRequest, reply: FastifyReply) {
  if (!is404) return;
  const allow = server.allowOf(url);
  if (allow === undefined) throw new DomainError('not_found');
  reply.header('Allow', allow);
  throw new DomainError('method_not_allowed');
}

/**
 * Sets the common headers of all answers of Fastify. Browsers ignore Strict-Transport-Security over HTTP, so only HTTPS
 * answers have this header.
 */
function headersOfAnswers({ BASE_URL }: Config) {
  const isSecure = BASE_URL.startsWith('https:');
  return (request: FastifyRequest, reply: FastifyReply) => {
    reply.header('X-Request-Id', request.id);
    reply.header('X-Content-Type-Options', 'nosniff');
    reply.header('Cache-Control', 'no-store');
    if (isSecure) reply.header('Strict-Transport-Security', 'max-age=31536000');
  };
}

const document = compress(readFileSync(new URL('../contract/openapi.json', import.meta.url), 'utf8'));

async function serveOpenApiDocument(app: FastifyInstance) {
  app.get('/api/v1/openapi.json', async (request, reply) => {
    reply.header('Cache-Control', 'public, max-age=300').type('application/json; charset=utf-8');
    return sendCompressed(request, reply, document);
  });
}
