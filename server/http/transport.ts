import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerOptions, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type ErrorKey, errors } from '../../contract/errors.ts';
import type { Config } from '../config.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { DomainError } from '../domain/domain-error.ts';
import { abandonedAnswers, loggedPath } from './answer-log.ts';

type TransportConfig = Pick<Config, 'REQUEST_TIMEOUT_MS' | 'MAX_CONNECTIONS'>;

/**
 * How many times Node checks for slow requests within one timeout. A slow request can exceed the timeout by at most a
 * thirtieth.
 */
const checksPerTimeout = 30;

/**
 * Makes Node refuse a request that takes longer than the timeout to arrive. If no request arrives on a new connection,
 * Node closes the connection after the same timeout.
 */
export function boundedServer({ REQUEST_TIMEOUT_MS }: Pick<TransportConfig, 'REQUEST_TIMEOUT_MS'>): ServerOptions {
  return {
    requestTimeout: REQUEST_TIMEOUT_MS,
    headersTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: Math.ceil(REQUEST_TIMEOUT_MS / checksPerTimeout),
  };
}

const dropLogIntervalMs = 60_000;

/** Limits the number of connections, and answers the requests that Node refuses before Fastify gets them. */
export function guardTransport(app: FastifyInstance, { config, logger, metrics }: ServerDependencies) {
  app.server.maxConnections = config.MAX_CONNECTIONS;
  let loggedAt = Number.NEGATIVE_INFINITY;
  app.server.on('drop', () => {
    if (performance.now() - loggedAt < dropLogIntervalMs) return;
    loggedAt = performance.now();
    logger.warn({ maxConnections: config.MAX_CONNECTIONS }, 'connections are refused: too many are open');
  });
  // Reads the IP address now, so that Node caches it. After the client has reset the connection, Node can no longer
  // read the address.
  app.server.on('connection', (socket: Socket) => void socket.remoteAddress);

  function record(refused: Refused) {
    const { id, method = 'none', url, status, key, durationMs = 0 } = refused;
    logger.info({ reqId: id, method, path: url && loggedPath(url), status, key: key || undefined }, 'request');
    metrics?.countRequest({ method, route: 'none', status, key, durationMs });
  }

  const latestRequests = new WeakMap<Socket, LatestRequest>();
  app.server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket, method, url } = request;
    const startedAt = performance.now();
    latestRequests.set(socket, { request, response });
    // Records the answers that the server could not send completely. Fastify's hooks record only completely sent
    // answers.
    response.once('close', () => {
      if (response.writableFinished) return;
      abandonedAnswers.add(response);
      const { code } = (request.complete ? {} : (socket.errored ?? {})) as { code?: string };
      const key = keysByCode[code ?? ''] ?? '';
      const status = key ? errors[key].status : clientLeft;
      record({ id: requestIdOf(request), method, url, status, key, durationMs: performance.now() - startedAt });
    });
  });

  function refuse(socket: Socket, code: string | undefined, cause?: Error) {
    const latest = latestRequests.get(socket);
    // Closes an unused connection without sending an answer. Browsers and load balancers open connections in advance.
    const isUnused = socket.bytesRead === 0;
    if (code === 'ECONNRESET' || isUnused || !mayAnswer(socket, latest)) return socket.destroy(cause);
    const key = (code !== undefined && keysByCode[code]) || 'bad_request';
    const isRouted = latest !== undefined && !latest.request.complete;
    const id = isRouted ? requestIdOf(latest.request) : randomUUID();
    if (!isRouted) record({ id, status: errors[key].status, key });
    return socket.end(rawAnswer(key, id), () => socket.destroy(cause));
  }

  // Without this listener, Node would close the connection of a CONNECT request without an answer.
  app.server.on('connect', (_request: IncomingMessage, socket: Socket) => refuse(socket, 'HPE_INVALID_METHOD'));
  // Without this listener, Node would answer an unknown Expect header without a body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.server.on('clientError', (error: ParserError, socket: Socket) => refuse(socket, error.code, error));
}

type ParserError = Error & { code?: string };

interface Refused {
  id: string;
  method?: string | undefined;
  url?: string | undefined;
  status: number;
  /** The error key. Empty if the client disconnected before the answer. */
  key: ErrorKey | '';
  durationMs?: number;
}

/**
 * The HTTP status in the log if the client disconnected before the answer. nginx logs the same status. No client ever
 * gets this status.
 */
const clientLeft = 499;

interface LatestRequest {
  request: IncomingMessage;
  response: ServerResponse;
}

/**
 * Whether the server may send an answer to the refused request on this connection. While the client waits for the
 * answer to an earlier request, the server must not answer. The client would take the answer for the answer to the
 * earlier request.
 */
function mayAnswer(socket: Socket, latest: LatestRequest | undefined): boolean {
  if (!socket.writable) return false;
  if (!latest) return true;
  const { request, response } = latest;
  if (request.complete) return response.writableFinished;
  return !response.headersSent && response.socket === socket;
}

/**
 * The hook that refuses HTTP/1.1 requests without a Host header, and requests with an unknown Expect header. Without
 * this hook, Node would answer such requests without a body.
 */
export function refuseInvalidHead({ raw }: FastifyRequest) {
  const { host, expect } = raw.headers;
  if (host === undefined && raw.httpVersion === '1.1') throw new DomainError('bad_request');
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') throw new DomainError('expectation_failed');
}

const keysByCode: Record<string, ErrorKey> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'payload_too_large',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_INVALID_CONTENT_LENGTH: 'invalid_content_length',
  HPE_INVALID_METHOD: 'unknown_method',
  HPE_UNEXPECTED_CONTENT_LENGTH: 'invalid_content_length',
};

const saneId = /^[A-Za-z0-9._~-]{1,128}$/;
const requestIds = new WeakMap<IncomingMessage, string>();

/**
 * Returns the client's X-Request-Id if it is short and plain, so that the logs of client and server have the same id.
 * Otherwise returns a new id.
 */
export function requestIdOf(request: IncomingMessage): string {
  const known = requestIds.get(request);
  if (known !== undefined) return known;
  const given = request.headers['x-request-id'];
  const id = typeof given === 'string' && saneId.test(given) ? given : randomUUID();
  requestIds.set(request, id);
  return id;
}

function rawAnswer(key: ErrorKey, id: string): string {
  const { status, meaning: message } = errors[key];
  const body = JSON.stringify({ error: { key, message } });
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${id}`,
    'X-Content-Type-Options: nosniff',
    'Cache-Control: no-store',
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}

/** Whether a request failed because its client disconnected or was too slow. In this case, nobody reads the answer. */
export function isAborted({ raw }: FastifyRequest, error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return !raw.complete && raw.destroyed && (code === 'ECONNRESET' || code === 'ECONNABORTED');
}
