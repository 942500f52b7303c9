import { deprecationHeaders } from '../deprecation.ts';
import { buckets } from '../limits.ts';
import { etagExample, type RouteMetadata } from '../routes.ts';
import type { Json } from './json-schema.ts';

const text = { type: 'string' };
const integer = { type: 'integer' };

/** The response headers, as components of the OpenAPI document. Each response refers to its headers. */
export const headers = {
  'X-Request-Id': {
    description: "The id of the request in the server's log.",
    schema: text,
    example: 'b2f7f6a4-3a0c-4d0b-8a70-0d3f3c1f5e92',
  },
  'RateLimit-Policy': {
    description: "The rate limit's name, quota, and window in seconds.",
    schema: text,
    examples: byBucket((name, { limit, windowSeconds }) => `"${name}";q=${limit};w=${windowSeconds}`),
  },
  RateLimit: {
    description: 'The remaining requests, and the seconds until the rate limit resets.',
    schema: text,
    examples: byBucket((name, { limit, windowSeconds }) => `"${name}";r=${limit - 2};t=${windowSeconds / 2}`),
  },
  'X-RateLimit-Limit': {
    description: 'Requests allowed per window.',
    schema: integer,
    examples: byBucket((_, { limit }) => limit),
  },
  'X-RateLimit-Remaining': {
    description: 'Requests left in the current window.',
    schema: integer,
    examples: byBucket((_, { limit }) => limit - 2),
  },
  'X-RateLimit-Reset': {
    description: 'Seconds until the window ends.',
    schema: integer,
    examples: byBucket((_, { windowSeconds }) => windowSeconds / 2),
  },
  'Retry-After': { description: 'Seconds to wait before a retry.', schema: integer, example: 30 },
  'Accept-Encoding': {
    description: 'The content codings that a request body may have (RFC 7694).',
    schema: text,
    example: 'identity',
  },
  'WWW-Authenticate': {
    description: 'The URL of the metadata that names the authorization server (RFC 9728).',
    schema: text,
    example:
      'Bearer resource_metadata="https://ideas.example.com/.well-known/oauth-protected-resource/api/v1/mcp", scope="mcp"',
  },
  ETag: { description: 'A weak validator for `If-None-Match`.', schema: text, example: etagExample },
  'Idempotency-Replayed': {
    description: '`true` if this response repeats the response to an earlier request with the same Idempotency-Key.',
    schema: { type: 'string', const: 'true' },
    example: 'true',
  },
};

/**
 * Returns two examples of a rate limit header: after the token's second read, and after its second write. Both
 * responses are sent halfway through the time window.
 */
function byBucket(sentFor: (name: string, bucket: { limit: number; windowSeconds: number }) => string | number) {
  const { 'apitoken:read': read, 'apitoken:write': write } = buckets;
  return {
    read: { summary: 'After a read', value: sentFor('apitoken:read', read) },
    write: { summary: 'After a write', value: sentFor('apitoken:write', write) },
  };
}

const rateLimitHeaders = [
  'RateLimit-Policy',
  'RateLimit',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
] as const satisfies (keyof typeof headers)[];

/** Returns references to the headers of a response with this status. */
export function headersOf(status: number, method: string, metadata: RouteMetadata): Json {
  const names: (keyof typeof headers)[] = ['X-Request-Id'];
  if (metadata.auth !== 'none' || status === 429) names.push(...rateLimitHeaders);
  if (metadata.auth === 'tools' && status === 401) names.push('WWW-Authenticate');
  if (metadata.auth === 'board' && method === 'GET' && [200, 304].includes(status)) names.push('ETag');
  if (method === 'POST' && [200, 201].includes(status)) names.push('Idempotency-Replayed');
  if (status === 415) names.push('Accept-Encoding');
  if (status === 429 || (status === 503 && metadata.auth !== 'none')) names.push('Retry-After');
  const references = Object.fromEntries(names.map(name => [name, { $ref: `#/components/headers/${name}` }]));
  return { ...references, ...headersOfDeprecation(metadata) };
}

const deprecationDescriptions: Record<string, string> = {
  Deprecation: 'The time when the deprecation of the operation begins (RFC 9745): `@` and the seconds since 1970.',
  Sunset: 'The time when the server may stop serving the operation (RFC 8594).',
  Link: 'A page about the deprecation.',
};

/** Describes the response headers of a deprecated operation. The headers have the same values in each response. */
function headersOfDeprecation({ deprecated }: RouteMetadata): Json {
  const sent = Object.entries(deprecated ? deprecationHeaders(deprecated) : {});
  return Object.fromEntries(
    sent.map(([name, example]) => [name, { description: deprecationDescriptions[name], schema: text, example }]),
  );
}
