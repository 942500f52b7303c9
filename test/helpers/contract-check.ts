import type { Server, ServerResponse } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { errors, raises, transportKeys } from '../../contract/errors.ts';
import { contract } from '../../contract/index.ts';
import { headers, headersOf } from '../../contract/openapi/headers.ts';
import { noBody, type RouteMetadata } from '../../contract/routes.ts';

const routes = Object.values(contract).map(route => ({
  method: route.method,
  // The router accepts an empty id in a path. So this pattern also accepts an empty id.
  pattern: new RegExp(`^${route.path.replace(/:\w+/g, '[^/]*')}$`),
  responses: route.responses as Record<number, unknown>,
  metadata: route.metadata as RouteMetadata,
}));

/** The responses to invalid HTTP requests. The contract declares these responses for no operation. */
const ofTransport: Record<number, unknown> = raises(...transportKeys);

/** The responses to requests whose path or method belongs to no operation. */
const outside = raises('not_found', 'method_not_allowed', 'rate_limited', 'service_unavailable', 'internal_error');

/** Checks every response of a server's API against the contract. Adds each violation to the returned list. */
export function watchResponses(server: Server): string[] {
  const violations: string[] = [];
  server.prependListener('request', (request, response) => {
    const method = request.method === 'HEAD' ? 'GET' : (request.method ?? '');
    const path = (request.url ?? '').split('?', 1)[0] ?? '';
    if (path.startsWith('/docs') || path === '/api/v1/openapi.json' || path === '/unsubscribe') return;
    if (path === '/robots.txt' || /^\/sitemap(-[^/]*)?\.xml$/.test(path)) return;
    // Skips HTML pages, which are not part of the contract.
    if (/^\/((b|admin|operator|sign-in|pictures|assets)(\/|$)|$)/.test(path)) return;
    // Skips OAuth responses, which the OAuth standards define.
    if (/^(https?:\/\/[^/]+)?\/(oauth|\.well-known)(\/|$)/.test(path)) return;
    // Skips the responses of extensions, which define their own routes and responses.
    if (path.startsWith('/ext/')) return;
    collectAnswer(response, (body, sentHeaders) => {
      const { statusCode } = response;
      // Skips the response to a CORS preflight request, which belongs to no operation.
      if (method === 'OPTIONS' && statusCode === 204) return;
      // Skips the error pages that browsers get for unknown paths.
      if (!path.startsWith('/api/') && body.startsWith('<!doctype html>')) return;
      const problem =
        violationOf(method, path, statusCode, lastMessageOf(body), request.method === 'HEAD') ??
        undeclaredHeaderOf(method, path, statusCode, sentHeaders);
      if (problem) violations.push(`${request.method} ${path} ${statusCode}: ${problem}: ${body.slice(0, 500)}`);
    });
  });
  return violations;
}

/**
 * Returns the body of a response. If the body is an event stream of the MCP server, returns only the last message of
 * the stream.
 */
function lastMessageOf(body: string): string {
  return body.startsWith('event: message\n') ? (body.split('data: ').at(-1) ?? '') : body;
}

/** Describes how a response violates the contract. Returns undefined if the response conforms to the contract. */
export function violationOf(
  method: string,
  path: string,
  status: number,
  body: string,
  isHead = false,
): string | undefined {
  const route = routeOf(method, path);
  const declared = (route ? route.responses : outside) as Record<number, unknown>;
  const isOfTransport = transportKeys.some(key => body.includes(`"key":"${key}"`));
  return problemOf((isOfTransport ? ofTransport : declared)[status], body, isHead);
}

function routeOf(method: string, path: string) {
  return routes.find(one => one.method === method && one.pattern.test(path));
}

/** Returns a problem if an operation sends a header of the OpenAPI document that it does not declare for the status. */
function undeclaredHeaderOf(method: string, path: string, status: number, sent: readonly string[]): string | undefined {
  const route = routeOf(method, path);
  if (!route) return undefined;
  const declared = Object.keys(headersOf(status, method, route.metadata));
  const undeclared = Object.keys(headers).find(name => sent.includes(name.toLowerCase()) && !declared.includes(name));
  return undeclared && `the header ${undeclared} is not declared`;
}

function problemOf(schema: unknown, body: string, isHead: boolean): string | undefined {
  if (schema === undefined) return 'the status is not declared';
  if (schema === noBody) return body === '' ? undefined : 'a body is not declared';
  if (isHead) return undefined;
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return 'the body is not JSON';
  }
  const parsed = (schema as z.ZodType).safeParse(json);
  if (!parsed.success) return z.prettifyError(parsed.error);
  // parse() removes undeclared fields. So if the response has an undeclared field, the parsed value differs from the
  // response.
  if (!isDeepStrictEqual(parsed.data, json)) return 'a field is not declared';
  const key = (json as { error?: { key: keyof typeof errors } }).error?.key;
  return key && errors[key] === undefined ? `the key ${key} is not in the catalogue` : undefined;
}

/** Calls `done` with the body of a response and with the names of its headers, in lower case. */
function collectAnswer(response: ServerResponse, done: (body: string, headers: string[]) => void) {
  const chunks: Buffer[] = [];
  let headers: string[] = [];
  const keep = (chunk: unknown) => {
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk as string));
  };
  const { write, writeHead, end } = response;
  // Fastify passes the headers to writeHead. After that, the response itself does not list these headers.
  response.writeHead = ((...args: Parameters<typeof writeHead>) => {
    headers = Object.keys(args.at(-1) ?? {}).map(name => name.toLowerCase());
    return writeHead.apply(response, args);
  }) as typeof writeHead;
  response.write = ((...args: Parameters<typeof write>) => {
    keep(args[0]);
    return write.apply(response, args);
  }) as typeof write;
  response.end = ((...args: Parameters<typeof end>) => {
    keep(args[0]);
    done(Buffer.concat(chunks).toString(), headers);
    return end.apply(response, args);
  }) as typeof end;
}
