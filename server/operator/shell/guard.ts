import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/domain-error.ts';
import type { AuditLog } from '../../observability/audit-log.ts';
import { idFieldOf } from '../../pages/shell/form.ts';
import { requireSecondFactor } from '../../pages/shell/second-factor.ts';
import { requireSession } from '../../pages/shell/session.ts';

/**
 * An onRequest hook of every path of the panel. A visitor without a session is asked to sign in, as in the admin area.
 * A signed-in user who is no operator gets the answer for a missing path. An operator without a second factor is
 * redirected to the page that turns it on.
 */
export async function requireOperator(request: FastifyRequest, reply: FastifyReply) {
  const { browserSession } = request;
  if (!browserSession) return requireSession(request, reply);
  if (browserSession.user.is_operator) return requireSecondFactor(request, reply);
  // The error page of a missing path has no navigation.
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
