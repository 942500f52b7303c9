import { createHash, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Bucket, buckets, maxBodyBytes } from '@idea-board/contract';
import { Refusal } from './refusal.ts';

/** A response of the test server before it is sent. */
export interface Answer {
  status: number;
  headers?: Record<string, string> | undefined;
  body: unknown;
}

/** Reads the JSON body of a request. Refuses the same bodies as the real server. */
export async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length <= maxBodyBytes) chunks.push(chunk);
  }
  const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = request.headers;
  if (length === 0 || request.method === 'GET' || request.method === 'HEAD') return undefined;
  if (encoding !== 'identity' || !/^application\/json\s*(;|$)/i.test(type)) throw new Refusal('unsupported_media_type');
  if (length > maxBodyBytes) throw new Refusal('payload_too_large');
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)));
  } catch {
    throw new Refusal('malformed_json');
  }
}

/** Returns the query of a URL. A parameter that occurs several times is an array. */
export function queryOf(parameters: URLSearchParams): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = {};
  for (const name of new Set(parameters.keys())) {
    const [value = '', ...others] = parameters.getAll(name);
    query[name] = others.length > 0 ? [value, ...others] : value;
  }
  return query;
}

/**
 * Returns the rate limit headers of an answer. The test server does not count requests, so the headers always report
 * the full limit as remaining.
 */
export function rateLimitHeaders(bucket: Bucket): Headers {
  const { limit, windowSeconds } = buckets[bucket];
  return new Headers({
    'ratelimit-policy': `"${bucket}";q=${limit};w=${windowSeconds}`,
    ratelimit: `"${bucket}";r=${limit};t=${windowSeconds}`,
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(limit),
    'x-ratelimit-reset': String(windowSeconds),
  });
}

/**
 * Adds a weak ETag to the answer of a read. If the request's If-None-Match header contains this ETag, the answer
 * becomes 304.
 */
export function answerConditionally({ url, headers }: IncomingMessage, answer: Answer): Answer {
  const digest = createHash('sha1')
    .update(`${url}\n${JSON.stringify(answer.body)}`)
    .digest('base64url');
  const withTag = { ...answer.headers, etag: `W/"${digest}"`, 'cache-control': 'private, no-cache' };
  const known = (headers['if-none-match'] ?? '').split(',').map(tag => tag.trim().replace(/^W\//, ''));
  const isKnown = known.includes(`"${digest}"`);
  return isKnown ? { status: 304, headers: withTag, body: undefined } : { ...answer, headers: withTag };
}

export function send({ headers }: IncomingMessage, response: ServerResponse, answer: Answer) {
  const given = headers['x-request-id'];
  const isSane = typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given);
  response.setHeader('x-request-id', isSane ? given : randomUUID());
  response.setHeader('cache-control', 'no-store');
  if (answer.body !== undefined) response.setHeader('content-type', 'application/json; charset=utf-8');
  response.writeHead(answer.status, answer.headers);
  response.end(answer.body === undefined ? undefined : JSON.stringify(answer.body));
}
