import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/domain-error.ts';
import type { AuditLog } from '../../observability/audit-log.ts';
import { idFieldOf } from '../../pages/shell/form.ts';
import { requireSecondFactor } from '../../pages/shell/second-factor.ts';
import { requireSession } from '../../pages/shell/session.ts';

/**
 * The onRequest hook of every path of the operator's panel. Redirects a visitor without a session to the sign-in page.
 * Answers a signed-in user who is not an operator as if the path did not exist. Redirects an operator without a second
 * factor to the page that turns on two-factor sign-in.
 */
export async function requireOperator(request: FastifyRequest, reply: FastifyReply) {
  const { browserSession } = request;
  if (!browserSession) return requireSession(request, reply);
  if (browserSession.user.is_operator) return requireSecondFactor(request, reply);
  // Leaves out the navigation, so that this error page looks exactly like the error page of a missing path.
  request.frameOfError = null;
  throw new DomainError('not_found');
}

/** Records which operator opened which page, because the pages show the data of all accounts. */
export function recordViews(app: FastifyInstance, audit: AuditLog) {
  app.addHook('onSend', async ({ id: request_id, ip, method, params, routeOptions, browserSession }, reply) => {
    if (method !== 'GET' || reply.statusCode !== 200 || !browserSession) return;
    const id = idFieldOf(params, 'id');
    audit.record('operator.viewed', {
      request_id,
      ip,
      user_id: browserSession.user.id,
      page: routeOptions.url ?? '',
      ...(id === undefined ? {} : { id }),
    });
  });
}
