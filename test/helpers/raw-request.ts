import { Agent, request as httpRequest } from 'node:http';
import type { TestServer } from './server.ts';

export interface Answer {
  status: number;
  headers: Headers;
  /** The parsed JSON body, or null. */
  // biome-ignore lint/suspicious/noExplicitAny: tests access arbitrary fields of the body.
  body: any;
  text: string;
  key: string | undefined;
}

const agent = new Agent({ keepAlive: true });

export interface RawRequestOptions {
  token?: string | undefined;
  headers?: Record<string, string | string[]>;
  body?: string | Uint8Array | undefined;
  /** Whether the body is sent in chunks, without a Content-Length. */
  isChunked?: boolean;
  /** A function that runs after the headers are sent and before the body is sent. */
  beforeBody?: () => Promise<void>;
}

/** Sends a request that fetch rejects or changes, such as a path with dots, a GET with a body, or a repeated header. */
export function rawRequest(
  server: Pick<TestServer, 'baseUrl'>,
  method: string,
  path: string,
  { token, headers = {}, body, isChunked = false, beforeBody }: RawRequestOptions = {},
): Promise<Answer> {
  const { hostname, port } = new URL(server.baseUrl);
  const length = body === undefined || isChunked ? undefined : Buffer.byteLength(body);
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      {
        agent,
        hostname,
        port,
        method,
        path,
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(length === undefined ? {} : { 'content-length': length }),
          ...headers,
        },
      },
      response => {
        const chunks: Buffer[] = [];
        response.on('data', chunk => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          const received = new Headers();
          for (const [name, value] of Object.entries(response.headers)) {
            for (const one of [value ?? []].flat()) received.append(name, one);
          }
          const isJson = received.get('content-type')?.includes('json');
          const parsed = isJson && text !== '' ? JSON.parse(text) : null;
          resolve({ status: response.statusCode ?? 0, headers: received, body: parsed, text, key: parsed?.error?.key });
        });
      },
    );
    sent.on('error', reject);
    if (beforeBody) {
      sent.flushHeaders();
      beforeBody().then(() => sent.end(body), reject);
    } else {
      sent.end(body);
    }
  });
}
