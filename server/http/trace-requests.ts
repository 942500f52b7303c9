import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { runInSpan, type Span, type Tracing } from '../observability/active-span.ts';
import { routeMetadata } from './request-context.ts';

/**
 * Handles each request in a span, except for the requests of probes. The span continues the trace of a valid
 * `traceparent`. The span has the pattern of the path, because a path, a query string or a header may contain a secret.
 * Call this function before other code adds hooks.
 */
export function traceRequests(app: FastifyInstance, tracing: Tracing | undefined) {
  app.decorateRequest('span', null);
  if (!tracing) return;
  app.addHook('onRequest', (request, reply, done) => {
    if (routeMetadata(request)?.auth === 'none') return done();
    const { method } = request;
    const route = request.routeOptions.url ?? 'none';
    const { traceparent } = request.headers;
    const span = tracing.start(`${method} ${route}`, {
      kind: 'server',
      parent: typeof traceparent === 'string' ? traceparent : undefined,
      attributes: { 'http.request.method': method, 'http.route': route },
    });
    request.span = span;
    // Also ends the span if the client disconnects before the answer.
    reply.raw.once('close', () => endSpan(span, request, reply));
    runInSpan(span, done);
  });
  // The body of a request arrives outside the span, so the server enters the span again.
  app.addHook('preValidation', (request, _reply, done) => runInSpan(request.span ?? undefined, done));
}

function endSpan(span: Span, { admission, toolName, errorKey }: FastifyRequest, { raw, statusCode }: FastifyReply) {
  span.set({
    'http.response.status_code': raw.headersSent ? statusCode : undefined,
    'idea_board.account_id': admission?.principal.account.id,
    'idea_board.token_id': admission?.principal.tokenId,
    'idea_board.tool': toolName ?? undefined,
    'idea_board.error_key': errorKey ?? undefined,
  });
  if (!raw.writableFinished) span.end('client_disconnected');
  else span.end(statusCode >= 500 ? (errorKey ?? String(statusCode)) : undefined);
}
