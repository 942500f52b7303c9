import type { z } from 'zod';
import { contract } from '../contract/index.ts';
import type { Route } from '../contract/routes.ts';
import type { ValidationIssue } from './contract.ts';
import type { RequestValidator } from './options.ts';

/**
 * Judges requests by the contract's own schemas, before they are sent: the `validate` of an IdeaBoard. What it refuses,
 * the server would refuse with `validation_failed`, after it had charged the limit.
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

/** What takes no body has a symbol for it, and what takes no query nothing. */
function isSchema(schema: unknown): schema is z.ZodType {
  return typeof schema === 'object' && schema !== null && 'safeParse' in schema;
}
