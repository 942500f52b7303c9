import type { FastifyRequest } from 'fastify';
import { DomainError } from '../domain/domain-error.ts';
import type { AuditLog } from '../observability/audit-log.ts';
import { grantRefusals } from '../observability/request-entries.ts';
import type { Principal } from './find-tokens.ts';
import type { AuthenticationFailure } from './look-up-token.ts';
import { type BucketState, type HeaderSetter, isExhausted, setExceededHeaders } from './rate-limit.ts';

export function refuseExhausted(
  audit: AuditLog,
  request: FastifyRequest,
  reply: HeaderSetter,
  state: BucketState,
  principal?: Principal | null,
) {
  if (!isExhausted(state)) return;
  auditLimit(audit, request, state, principal);
  setExceededHeaders(reply, state);
  throw new DomainError('rate_limited', {
    details: {
      limit: state.name,
      allowed: state.limit,
      window_seconds: state.windowSeconds,
      retry_after: state.resetSeconds,
    },
  });
}

/** If several requests in a time window exceed the rate limit, writes an audit entry only for the first one. */
export function auditLimit(audit: AuditLog, request: FastifyRequest, state: BucketState, principal?: Principal | null) {
  if (state.count !== state.limit + 1) return;
  audit.record('rate_limit.exceeded', {
    ...clientOf(request),
    bucket: state.name,
    limit: state.limit,
    window_seconds: state.windowSeconds,
    ...(principal ? { account_id: principal.account.id, token_id: principal.tokenId } : {}),
  });
}

export function auditFailedAuthentication(audit: AuditLog, request: FastifyRequest, failure: AuthenticationFailure) {
  const client = clientOf(request);
  if (!('tokenId' in failure)) return audit.record('authentication.failed', { ...client, reason: failure.reason });
  const token = { account_id: failure.accountId, token_id: failure.tokenId };
  if (failure.reason === 'revoked') audit.record('token.used_after_revocation', { ...client, ...token });
  else if (failure.reason === 'expired') audit.record('token.used_after_expiry', { ...client, ...token });
  else audit.record('authentication.failed', { ...client, reason: failure.reason, ...token });
}

type GrantRefusal = (typeof grantRefusals)[number];

/**
 * Writes an audit entry if a request has a valid token that does not allow the request (grantRefusals). Ignores other
 * errors.
 */
export function auditRefusedGrant(audit: AuditLog, request: FastifyRequest, principal: Principal, error: unknown) {
  if (!(error instanceof DomainError) || !grantRefusals.includes(error.key as GrantRefusal)) return;
  audit.record('grant.refused', {
    ...clientOf(request),
    reason: error.key as GrantRefusal,
    account_id: principal.account.id,
    token_id: principal.tokenId,
    user_id: principal.issuer.id,
  });
}

/** Returns the fields of an audit entry that name the request and its client. */
export function clientOf({ id, ip }: FastifyRequest) {
  return { request_id: id, ip };
}
