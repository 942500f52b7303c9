import { type Answer, rawRequest } from './raw-request.ts';
import type { TestServer } from './server.ts';

export type { Answer };

export interface RequestOptions {
  token?: string | undefined;
  json?: unknown;
  /** A request body that the function sends unchanged, in place of `json`. */
  raw?: RequestInit['body'];
  headers?: Record<string, string>;
}

/** Sends an HTTP request over the network: request(server, 'POST /api/v1/ideas', { token, json }). */
export async function request(
  server: Pick<TestServer, 'baseUrl'>,
  line: string,
  options: RequestOptions = {},
): Promise<Answer> {
  const [method = 'GET', path = '/'] = line.split(' ');
  const headers = new Headers(options.headers);
  if (options.token !== undefined) headers.set('authorization', `Bearer ${options.token}`);
  if (options.json !== undefined && !headers.has('content-type')) headers.set('content-type', 'application/json');
  const body = options.raw ?? (options.json === undefined ? undefined : JSON.stringify(options.json));
  const isPlain = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
  // Uses fetch only for what it does better: it decompresses responses and encodes forms. It needs more CPU time, which
  // matters for the many requests of the tests.
  if (isPlain && !headers.has('accept-encoding')) {
    return rawRequest(server, method, path, { headers: Object.fromEntries(headers), body });
  }
  const response = await fetch(server.baseUrl + path, { method, headers, body: body ?? null, redirect: 'manual' });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json');
  const parsed = isJson && text !== '' ? JSON.parse(text) : null;
  return { status: response.status, headers: response.headers, body: parsed, text, key: parsed?.error?.key };
}
