import type { z } from 'zod';
import { issuesIn } from '../contract/errors.ts';
import { contract } from '../contract/index.ts';
import type { Route } from '../contract/routes.ts';
import type { ValidationIssue } from './contract.ts';
import type { RequestValidator } from './options.ts';

/**
 * Validates requests with the schemas of the contract. Use it as the option `validate` of IdeaBoard. The server would
 * reject the same requests with `validation_failed`, and count them against the rate limit.
 */
export const validateRequest: RequestValidator = (operation, { query, headers, body }) => {
  const route: Route = contract[operation];
  return [
    ...Object.entries(route.headers ?? {}).flatMap(([name, schema]) =>
      validate(['headers', name], schema, headers[name]),
    ),
    ...validate(['query'], route.query, query),
    ...validate(['body'], 'body' in route ? route.body : undefined, body),
  ];
};

function validate(place: string[], schema: unknown, value: unknown): ValidationIssue[] {
  return isSchema(schema) ? issuesIn(place, schema.safeParse(value).error, schema) : [];
}

/** Whether a route's `body` or `query` is a schema. A missing body is a symbol, and a missing query is undefined. */
function isSchema(schema: unknown): schema is z.ZodType {
  return typeof schema === 'object' && schema !== null && 'safeParse' in schema;
}
