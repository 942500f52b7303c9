import { validateIfSchema, validateMultiSchemaObject, validateResponse } from '@ts-rest/core';
import { initServer, RequestValidationError, type RouterImplementation } from '@ts-rest/fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { issuesIn } from '../../contract/errors.ts';
import { operations } from '../../contract/index.ts';
import { noBody, type Route } from '../../contract/routes.ts';
import { DomainError } from '../domain/domain-error.ts';

/* This file wraps ts-rest. No other file of the server imports ts-rest. */

export type Endpoints = RouterImplementation<typeof operations>;

type ErrorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => unknown;

/** Registers the API operations as routes. The contract's schemas validate each request and each answer. */
export async function serveOperations(app: FastifyInstance, endpoints: Endpoints, answerError: ErrorHandler) {
  const server = initServer();
  await app.register(server.plugin(server.router(operations, endpoints)), {
    logInitialization: false,
    // Removes from answers every field that the schemas do not declare, so that no internal field can leak.
    responseValidation: true,
    // Handles validation errors. Without this handler, ts-rest would answer 400 with a body in another format.
    requestValidationErrorHandler: (error, request, reply) =>
      answerError(refusalOf(error, request.routeOptions.config.tsRestRoute), request, reply),
  });
}

export { RequestValidationError };

/** Returns the error for a request that does not match its route. An invalid path parameter gives 404. */
export function refusalOf(error: RequestValidationError, route: Route | undefined): DomainError {
  if (error.pathParams) return new DomainError('not_found');
  const issues = [
    ...issuesIn(['headers'], error.headers),
    ...issuesIn(['query'], error.query, route?.query),
    ...issuesIn(['body'], error.body, route && 'body' in route ? route.body : undefined),
  ];
  return new DomainError('validation_failed', { issues });
}

export interface RouteInput {
  params: unknown;
  headers: unknown;
  query: unknown;
  body: unknown;
}

/** Validates the input of an MCP tool call. ts-rest itself validates HTTP requests. */
export function validateInput(route: Route, input: RouteInput) {
  const params = validateIfSchema(input.params, route.pathParams, { passThroughExtraKeys: true });
  const headers = validateMultiSchemaObject(input.headers, route.headers);
  const query = validateIfSchema(input.query, route.query);
  const body = validateIfSchema(input.body, 'body' in route ? route.body : null);
  if (params.error || headers.error || query.error || body.error) {
    throw new RequestValidationError(
      params.error ?? null,
      headers.error ?? null,
      query.error ?? null,
      body.error ?? null,
    );
  }
  return { params: params.value, headers: headers.value, query: query.value, body: body.value };
}

export function refuseUndeclaredQuery(route: Route, query: unknown) {
  const { error } = validateIfSchema(query, route.query);
  if (error) throw new DomainError('validation_failed', { issues: issuesIn(['query'], error, route.query) });
}

/** Removes from an answer all fields that the route's schemas do not declare. */
export function validateAnswer(route: Route, answer: { status: number; body: unknown }): unknown {
  return validateResponse({ appRoute: route, response: answer }).body;
}

const NoFields = z.strictObject({}).optional();

/** The hook that refuses a request with a body if its route accepts no body. ts-rest would ignore the body. */
export function refuseUndeclaredBody({ routeOptions, body }: FastifyRequest) {
  const route = routeOptions.config.tsRestRoute;
  if (!route || !('body' in route) || route.body !== noBody) return;
  const { error } = NoFields.safeParse(body);
  if (error) throw new DomainError('validation_failed', { issues: issuesIn(['body'], error, NoFields) });
}
