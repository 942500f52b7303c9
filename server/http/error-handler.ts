import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorBody, type ErrorKey, errors } from '../../contract/errors.ts';
import { isDatabaseUnavailable, isLockNotFree } from '../database/unavailable.ts';
import { AdministrationError } from '../domain/administration.ts';
import { DomainError } from '../domain/domain-error.ts';
import type { ErrorReporter } from '../observability/error-reporter.ts';
import { isAborted } from './transport.ts';

/** The value of Retry-After in seconds, for answers while the database is unavailable and after a lock timeout. */
const unavailableRetrySeconds = 5;
const lockRetrySeconds = 1;

export function answerErrors(reporter: ErrorReporter) {
  const note = noteErrors(reporter);
  return (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const refusal = note(error, request, reply);
    return reply.status(errors[refusal.key].status).send(errorBody(refusal));
  };
}

/**
 * Returns the error that the client gets. Logs internal errors and sends them to `reporter`. Also logs that the
 * database is unavailable, or that a lock was not free in time.
 */
export function noteErrors(reporter: ErrorReporter) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): DomainError => {
    const refusal = isAborted(request, error) ? new DomainError('bad_request') : refusalFor(error);
    request.errorKey = refusal.key;
    if (refusal.key === 'internal_error') {
      request.log.error({ err: error }, 'a request failed');
      const { method, id, routeOptions } = request;
      reporter.report(error, { method, route: routeOptions.url ?? 'none', request_id: id });
    }
    if (refusal.key === 'service_unavailable') {
      const isLocked = isLockNotFree(error);
      request.log.warn({ err: error }, isLocked ? 'a lock was not free in time' : 'the database cannot be reached');
      reply.header('Retry-After', isLocked ? lockRetrySeconds : unavailableRetrySeconds);
    }
    return refusal;
  };
}

export function errorBody({ key, message, issues, details }: DomainError): ErrorBody {
  return { error: { key, message, issues, details } };
}

export function refusalFor(error: unknown): DomainError {
  if (error instanceof DomainError) return error;
  if (error instanceof AdministrationError) return refusalOfAdministration(error);
  if (isDatabaseUnavailable(error)) return new DomainError('service_unavailable');
  if (isOfErasedUser(error)) return new DomainError('unauthorized');
  return new DomainError(keyOfFastifyError(error as FastifyError));
}

/** Returns the error of the Agent API for the error of an administrative operation. */
function refusalOfAdministration({ reason, key, field, message }: AdministrationError): DomainError {
  if (key) return new DomainError(key);
  if (reason === 'not_found') return new DomainError('not_found');
  if (reason !== 'invalid' || field === undefined) return new DomainError('internal_error');
  return new DomainError('validation_failed', { issues: [{ path: ['body', field], code: 'custom', message }] });
}

const authorForeignKeys = [
  'ideas_author_id_fkey',
  'comments_author_id_fkey',
  'idea_notes_author_id_fkey',
  'followers_user_id_fkey',
  'events_actor_id_fkey',
];

/** Whether a write failed because the user was erased after the server had authenticated the request. */
function isOfErasedUser(error: unknown): boolean {
  const { constraint } = error as { constraint?: unknown };
  return typeof constraint === 'string' && authorForeignKeys.includes(constraint);
}

const keysByCode: Record<string, ErrorKey> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_BODY_TOO_LARGE: 'payload_too_large',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'malformed_json',
  // A path with invalid percent-encoding gets 404, because no resource can have such a path.
  FST_ERR_BAD_URL: 'not_found',
  FST_ERR_MAX_PARAM_LENGTH: 'not_found',
};

function keyOfFastifyError(error: FastifyError): ErrorKey {
  return (typeof error?.code === 'string' && keysByCode[error.code]) || 'internal_error';
}
