import { RequestValidationError } from '@ts-rest/fastify';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorBody, type ErrorKey, errors } from '../../contract/errors.ts';
import { isDatabaseUnavailable } from '../database/unavailable.ts';
import { DomainError } from '../domain/domain-error.ts';
import { refusalOf } from './validation.ts';

/** How soon a client may ask again while the database is away, in seconds. */
const unavailableRetrySeconds = 5;

/** Answers every error with the body of the contract; what is not an answer to the client goes into the log alone. */
export function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply) {
  const refusal = toDomainError(error);
  if (refusal.key === 'internal_error') request.log.error({ err: error }, 'a request failed');
  if (refusal.key === 'service_unavailable') {
    request.log.warn({ err: error }, 'the database cannot be reached');
    reply.header('Retry-After', unavailableRetrySeconds);
  }
  return reply.status(errors[refusal.key].status).send(errorBody(refusal));
}

function errorBody({ key, message, issues }: DomainError): ErrorBody {
  return { error: { key, message, ...(issues ? { issues } : {}) } };
}

function toDomainError(error: unknown): DomainError {
  if (error instanceof DomainError) return error;
  if (error instanceof RequestValidationError) return refusalOf(error);
  if (isDatabaseUnavailable(error)) return new DomainError('service_unavailable');
  return new DomainError(keyOfFastifyError(error as FastifyError));
}

const keysByCode: Record<string, ErrorKey> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_BODY_TOO_LARGE: 'payload_too_large',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'malformed_json',
  // A path whose percent-encoding is broken names nothing.
  FST_ERR_BAD_URL: 'not_found',
  FST_ERR_MAX_PARAM_LENGTH: 'not_found',
};

function keyOfFastifyError(error: FastifyError): ErrorKey {
  return (typeof error?.code === 'string' && keysByCode[error.code]) || 'internal_error';
}
