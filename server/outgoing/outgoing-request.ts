import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { t } from '../text/catalogue.ts';
import { writeForRecords } from '../text/language.ts';
import { type AddressGuard, forbiddenAddress, isForbiddenHost, problemOfUrl } from './address-guard.ts';

/** Sends requests to URLs from customers: webhooks, chat webhooks, and the metadata documents of OAuth clients. */
export interface OutgoingRequests {
  /**
   * Resolves to the answer, even if its HTTP status is an error. Does not follow redirects. Rejects with an
   * OutgoingRequestError if the request fails or times out. If the signal is aborted, rejects with the signal's reason.
   */
  post(url: string, request: OutgoingPost): Promise<OutgoingAnswer>;
  get(url: string, request: OutgoingRequest): Promise<OutgoingAnswer>;
  /**
   * The time limit for a quick answer, in milliseconds. If a receiver is slower, each server process sends this
   * receiver only one request at a time.
   */
  readonly quickMs: number;
  /** Closes the idle connections. */
  close(): void;
}

interface OutgoingRequest {
  headers: Record<string, string>;
  signal?: AbortSignal | undefined;
}

interface OutgoingPost extends OutgoingRequest {
  body: string;
}

export interface OutgoingAnswer {
  status: number;
  /** The value of the Retry-After header: seconds or a date. */
  retryAfter: string | undefined;
  headers: IncomingHttpHeaders;
  /** The first 64 KiB of the response body. */
  body: Buffer;
}

/**
 * The error of a request without an answer. Its message reveals no internal details, because the person who entered the
 * URL reads it.
 */
export class OutgoingRequestError extends Error {
  override readonly name = 'OutgoingRequestError';
}

export interface OutgoingOptions {
  guard: AddressGuard;
  timeoutMs?: number;
  quickMs?: number;
}

/** The time limit of a request in milliseconds, from the DNS lookup to the last byte of the answer. */
const defaultTimeoutMs = 10_000;
const defaultQuickMs = 1_000;
const maxResponseBytes = 64 * 1024;
const agentOptions = { keepAlive: true, maxFreeSockets: 16, timeout: 15_000 };

export function buildOutgoingRequests({
  guard,
  timeoutMs = defaultTimeoutMs,
  quickMs = defaultQuickMs,
}: OutgoingOptions): OutgoingRequests {
  const agents = { 'http:': new HttpAgent(agentOptions), 'https:': new HttpsAgent(agentOptions) };

  function send(url: URL, { headers, body, signal }: OutgoingRequest & Partial<OutgoingPost>): ClientRequest {
    const options = {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        'user-agent': 'Idea-Board',
        // Asks for an uncompressed answer, because a compressed answer could be a zip bomb.
        'accept-encoding': 'identity',
        ...headers,
        ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
      },
      lookup: guard.lookup,
      ...(signal ? { signal } : {}),
    };
    return url.protocol === 'https:'
      ? httpsRequest(url, { ...options, agent: agents['https:'] })
      : httpRequest(url, { ...options, agent: agents['http:'] });
  }

  function sendOnce(url: URL, request: OutgoingRequest & Partial<OutgoingPost>): Promise<OutgoingAnswer> {
    return new Promise((resolve, reject) => {
      const sent = send(url, request);
      let hasAnswer = false;
      let timeout: OutgoingRequestError | undefined;
      const timer = setTimeout(() => {
        timeout = new OutgoingRequestError(`No answer within ${timeoutMs / 1000} seconds`);
        sent.destroy(timeout);
      }, timeoutMs);
      const fail = (error: NodeJS.ErrnoException) => {
        clearTimeout(timer);
        if (request.signal?.aborted) return reject(request.signal.reason);
        // Sends the request once more if the receiver had closed the idle connection. In this case, the receiver most
        // likely did not read the request.
        const isStale = sent.reusedSocket && error.code === 'ECONNRESET' && !hasAnswer && !timeout;
        if (isStale) return sendOnce(url, request).then(resolve, reject);
        reject(timeout ?? explain(error));
      };
      sent.on('error', fail);
      sent.on('response', response => {
        hasAnswer = true;
        readBody(response).then(body => {
          clearTimeout(timer);
          const { statusCode: status = 0, headers } = response;
          resolve({ status, retryAfter: headers['retry-after'], headers, body });
        }, fail);
      });
      sent.end(request.body);
    });
  }

  async function reach(url: string, request: OutgoingRequest & Partial<OutgoingPost>): Promise<OutgoingAnswer> {
    const problem = problemOfUrl(url);
    if (problem)
      throw new OutgoingRequestError(
        writeForRecords(() => t(`refusals.url.${problem}`, { subject: t('refusals.url.subject') })),
      );
    const parsed = new URL(url);
    if (isForbiddenHost(guard, parsed.hostname)) throw new OutgoingRequestError(explanations[forbiddenAddress]);
    return sendOnce(parsed, request);
  }

  return {
    post: reach,
    get: reach,
    quickMs,
    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

/**
 * Reads the body of an answer. If the body reaches the maximum size, closes the connection and returns the part that
 * has arrived.
 */
function readBody(response: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length < maxResponseBytes) return;
      resolve(Buffer.concat(chunks).subarray(0, maxResponseBytes));
      response.destroy();
    });
    response.on('end', () => resolve(Buffer.concat(chunks)));
    response.on('error', reject);
    response.on('close', () => reject(new OutgoingRequestError('The connection was closed before the answer ended')));
  });
}

const explanations: Record<string, string> = {
  ECONNREFUSED: 'The connection was refused',
  ECONNRESET: 'The connection was closed without an answer',
  EPIPE: 'The connection was closed without an answer',
  ETIMEDOUT: 'The connection timed out',
  EHOSTUNREACH: 'There is no route to the host',
  ENETUNREACH: 'There is no route to the network',
  ENOTFOUND: 'The host name is unknown',
  EAI_AGAIN: 'The host name cannot be resolved now',
  [forbiddenAddress]: 'The address is not allowed: it is not on the public internet',
  CERT_HAS_EXPIRED: 'The certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'The certificate is not signed by a known authority',
  SELF_SIGNED_CERT_IN_CHAIN: 'The certificate is not signed by a known authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'The certificate is not signed by a known authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'The certificate is not signed by a known authority',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate is for another host name',
  HPE_HEADER_OVERFLOW: 'The headers of the answer are too long',
};

function explain(error: NodeJS.ErrnoException): OutgoingRequestError {
  if (error instanceof OutgoingRequestError) return error;
  // If a host name has several IP addresses, the error contains one error for each of them.
  const [first] = error instanceof AggregateError ? error.errors : [error];
  const code: unknown = first?.code;
  const known = typeof code === 'string' ? explanations[code] : undefined;
  const words = known ?? (String(code).startsWith('HPE_') ? 'The answer is not HTTP' : `The request failed: ${code}`);
  return new OutgoingRequestError(words, { cause: error });
}
