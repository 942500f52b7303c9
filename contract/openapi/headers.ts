import { buckets } from '../limits.ts';
import { etagExample, type RouteMetadata } from '../routes.ts';
import type { Json } from './json-schema.ts';

const text = { type: 'string' };
const integer = { type: 'integer' };

/** The headers of answers, as components that each answer refers to. */
export const headers = {
  'X-Request-Id': {
    description: 'Identifies the request in the log of the server.',
    schema: text,
    example: 'b2f7f6a4-3a0c-4d0b-8a70-0d3f3c1f5e92',
  },
  'RateLimit-Policy': {
    description: "The bucket's name, quota and window in seconds.",
    schema: text,
    examples: byBucket((name, { limit, windowSeconds }) => `"${name}";q=${limit};w=${windowSeconds}`),
  },
  RateLimit: {
    description: 'What remains in the bucket, and the seconds until it resets.',
    schema: text,
    examples: byBucket((name, { limit, windowSeconds }) => `"${name}";r=${limit - 2};t=${windowSeconds / 2}`),
  },
  'X-RateLimit-Limit': {
    description: 'Requests in a window.',
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
  'Retry-After': { description: 'Seconds to wait before the next try.', schema: integer, example: 30 },
  'WWW-Authenticate': {
    description: 'Where a client finds whom to ask for an access token (RFC 9728).',
    schema: text,
    example:
      'Bearer resource_metadata="https://ideas.example.com/.well-known/oauth-protected-resource/api/v1/mcp", scope="mcp"',
  },
  ETag: { description: 'A weak validator for `If-None-Match`.', schema: text, example: etagExample },
  'Idempotency-Replayed': {
    description: '`true` on the repeated answer of an earlier request with the same Idempotency-Key.',
    schema: { type: 'string', const: 'true' },
    example: 'true',
  },
};

/** Two requests into a window that is half over, for a read and for a write. */
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

/** The headers that an answer with a status carries. */
export function headersOf(status: number, method: string, metadata: RouteMetadata): Json {
  const names: (keyof typeof headers)[] = ['X-Request-Id'];
  const isAuthenticated = metadata.auth !== 'none' && ![401, 500, 503].includes(status);
  if (isAuthenticated) names.push(...rateLimitHeaders);
  if (metadata.auth === 'tools' && status === 401) names.push('WWW-Authenticate');
  if (metadata.auth === 'board' && method === 'GET' && [200, 304].includes(status)) names.push('ETag');
  if (metadata.auth === 'board' && method === 'POST' && status < 300) names.push('Idempotency-Replayed');
  if (status === 429 || (status === 503 && metadata.auth !== 'none')) names.push('Retry-After');
  return Object.fromEntries(names.map(name => [name, { $ref: `#/components/headers/${name}` }]));
}
