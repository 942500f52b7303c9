import { z } from 'zod';
import { issuesIn, type ValidationIssue } from './errors.ts';
import { contract } from './index.ts';
import { noBody, type Route } from './routes.ts';

/** The parts of a request that the contract has schemas for. */
export interface RequestParts {
  query: unknown;
  headers: Readonly<Record<string, unknown>>;
  body: unknown;
}

/** A request after the conversions of the schemas, such as trimming. If `issues` is empty, the request is valid. */
export interface ParsedRequest extends RequestParts {
  issues: ValidationIssue[];
}

/**
 * Validates requests with the schemas of the contract. Use this function as the option `validate` of the client
 * `@idea-board/client`. The client then does not send invalid requests. The server would reject these requests with
 * `validation_failed`, and count them against the rate limit.
 */
export function validateRequest(operation: string, request: RequestParts): ValidationIssue[] {
  return parseRequest(operation, request).issues;
}

/** Validates and converts a request. Accepts every request of an operation that this version does not know. */
export function parseRequest(operation: string, { query, headers, body }: RequestParts): ParsedRequest {
  const routes: Readonly<Record<string, Route>> = contract;
  const route = Object.hasOwn(routes, operation) ? routes[operation] : undefined;
  const issues: ValidationIssue[] = [];
  function parse(place: string[], schema: unknown, value: unknown): unknown {
    if (!(schema instanceof z.ZodType)) return value;
    const { error, data } = schema.safeParse(value);
    issues.push(...issuesIn(place, error, schema));
    return data;
  }

  const ofHeaders = Object.entries(route?.headers ?? {}).map(([name, schema]) => [
    name,
    parse(['headers', name], schema, headers[name]),
  ]);
  return {
    headers: { ...headers, ...Object.fromEntries(ofHeaders) },
    query: parse(['query'], route?.query, query),
    body: parse(['body'], route && 'body' in route ? (route.body === noBody ? NoFields : route.body) : undefined, body),
    issues,
  };
}

const NoFields = z.strictObject({}).optional();
