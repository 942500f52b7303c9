import {
  type AppRoute,
  isAppRouteNoBody,
  validateIfSchema,
  validateMultiSchemaObject,
  validateResponse,
} from '@ts-rest/core';
import { RequestValidationError } from '@ts-rest/fastify';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ValidationIssue } from '../../contract/errors.ts';
import { DomainError } from '../domain/domain-error.ts';

interface SchemaIssue {
  code?: string;
  message: string;
  path?: readonly (PropertyKey | { key: PropertyKey })[] | undefined;
}

/** What a request that does not match the contract is refused with: a path that names nothing is not found. */
export function refusalOf(error: RequestValidationError): DomainError {
  if (error.pathParams) return new DomainError('not_found');
  const issues = [
    ...issuesIn('headers', error.headers),
    ...issuesIn('query', error.query),
    ...issuesIn('body', error.body),
  ];
  return new DomainError('validation_failed', issues);
}

function issuesIn(part: string, error: { issues: readonly unknown[] } | null): ValidationIssue[] {
  return ((error?.issues ?? []) as SchemaIssue[]).map(({ code, message, path }) => ({
    path: [part, ...(path ?? []).map(nameOf)],
    code: code ?? 'custom',
    message,
  }));
}

function nameOf(segment: PropertyKey | { key: PropertyKey }): string | number {
  const key = typeof segment === 'object' ? segment.key : segment;
  return typeof key === 'symbol' ? String(key) : key;
}

/** What a route takes, wherever it comes from. */
export interface RouteInput {
  params: unknown;
  headers: unknown;
  query: unknown;
  body: unknown;
}

/** Validates input that did not come as a request for its route, as ts-rest does what did. */
export function validateInput(route: AppRoute, input: RouteInput) {
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

/** Refuses parameters of the query that a route does not take. */
export function refuseUndeclaredQuery(route: AppRoute, query: unknown) {
  const { error } = validateIfSchema(query, route.query);
  if (error) throw new DomainError('validation_failed', issuesIn('query', error));
}

/** What a route answers, without what its schemas do not declare. */
export function validateAnswer(route: AppRoute, answer: { status: number; body: unknown }): unknown {
  return validateResponse({ appRoute: route, response: answer }).body;
}

const NoBody = z.strictObject({}).optional();

/** The hook that refuses fields sent to an action which takes none: ts-rest would drop them unseen. */
export async function refuseUndeclaredBody({ routeOptions, body }: FastifyRequest) {
  const route = routeOptions.config.tsRestRoute;
  if (!route || !('body' in route) || !route.body || !isAppRouteNoBody(route.body)) return;
  const { error } = NoBody.safeParse(body);
  if (error) throw new DomainError('validation_failed', issuesIn('body', error));
}
