import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorKey, errors } from '../../contract/errors.ts';
import { noteErrors } from '../http/error-handler.ts';
import type { ErrorReporter } from '../observability/error-reporter.ts';
import type { OauthErrorBody } from './exchange.ts';

/** Answers every error that is not the provider's own in the shape of OAuth. */
export function answerOauthErrors(reporter: ErrorReporter) {
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
