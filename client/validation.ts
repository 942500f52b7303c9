import type { z } from 'zod';
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
      issuesIn(['headers', name], schema, headers[name]),
    ),
    ...issuesIn(['query'], route.query, query),
    ...issuesIn(['body'], 'body' in route ? route.body : undefined, body),
  ];
};

function issuesIn(place: string[], schema: unknown, value: unknown): ValidationIssue[] {
  if (!isSchema(schema)) return [];
  const issues = schema.safeParse(value).error?.issues ?? [];
  return issues.map(({ path, code, message }) => ({
    path: [...place, ...path.map(part => (typeof part === 'symbol' ? String(part) : part))],
    code,
    message,
  }));
}

/** Whether a route's `body` or `query` is a schema. A missing body is a symbol, and a missing query is undefined. */
function isSchema(schema: unknown): schema is z.ZodType {
  return typeof schema === 'object' && schema !== null && 'safeParse' in schema;
}
