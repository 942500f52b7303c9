import type { IncomingMessage, ServerResponse } from 'node:http';
import { grantsOfQuery, includesGrant, operations, type Route, type RouteMetadata } from '@idea-board/contract';
import { parseRequest } from '@idea-board/contract/validation';
import type { BoardState } from './board-state.ts';
import type { EventLog } from './event-log.ts';
import { exampleOf } from './example.ts';
import type { Failures } from './failures.ts';
import { type Answer, answerConditionally, queryOf, rateLimitHeaders, readBody } from './http.ts';
import { handlersOf, type ValidRequest } from './operations.ts';
import { Refusal } from './refusal.ts';
import type { TestToken, Tokens } from './tokens.ts';
import type { Webhooks } from './webhooks.ts';

interface Served {
  state: BoardState;
  events: EventLog;
  webhooks: Webhooks;
  failures: Failures;
  tokens: Tokens;
}

const routes = Object.entries(operations as Record<string, Route>).map(([operation, route]) => ({
  operation,
  method: route.method,
  pattern: new RegExp(`^${route.path.replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`),
  metadata: route.metadata as RouteMetadata,
  status: 201 in route.responses ? 201 : 200,
  result: (route.responses[201] ?? route.responses[200]) as { meta(): object | undefined },
}));

type ServedRoute = (typeof routes)[number];

/**
 * Returns the function that answers requests. The returned function checks a request in the same order as the real
 * server.
 */
export function answererOf({ state, events, webhooks, failures, tokens }: Served) {
  /** Returns the example of the contract if the board has the idea in the path. */
  const exampleFor = ({ result }: ServedRoute, { id }: { id: number }, token: TestToken) => {
    if (id !== 0) state.find(id, token);
    return structuredClone(exampleOf(result));
  };
  const handlers = handlersOf(state, events, webhooks) as unknown as Record<string, (request: ValidRequest) => unknown>;
  const replays = new Map<string, { fingerprint: string; answer: Answer }>();

  return async (request: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://server');
    const { route, params } = routeOf(request.method, pathname);
    const { operation, metadata } = route;
    if (metadata.auth === 'none') return { status: 200, body: { ok: true } };
    const token = tokens.find(request.headers.authorization);
    if (token) response.setHeaders(rateLimitHeaders(metadata.auth === 'board' ? metadata.bucket : 'apitoken:read'));
    const failure = failures.take(operation);
    if (failure) return failure;
    if (!token) throw new Refusal('unauthorized');
    const query = queryOf(searchParams);
    authorize(state, token, metadata, query);
    const valid = await validate(request, route, query, params);

    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const run = (): Answer => {
      const handle = handlers[operation] ?? (() => exampleFor(route, valid, token));
      const body = operation === 'getToken' ? tokens.describe(token) : handle({ ...valid, token, signal: gone.signal });
      return { status: route.status, body };
    };
    if (request.method !== 'POST') {
      const { status, body } = run();
      const answer = { status, body: await body };
      return metadata.auth === 'board' && route.method === 'GET' ? answerConditionally(request, answer) : answer;
    }
    const key = request.headers['idempotency-key'];
    if (key === undefined) return run();
    return runOnce(replays, `${token.id} ${pathname} ${key}`, fingerprintOf(valid), run);
  };
}

/** Finds the route of a request. For a HEAD request, this is the route of the GET request. */
function routeOf(method: string | undefined, pathname: string): { route: ServedRoute; params: Record<string, string> } {
  const ofPath = routes.flatMap(route => {
    const found = route.pattern.exec(pathname);
    return found ? [{ route, params: { ...found.groups } }] : [];
  });
  const found = ofPath.find(({ route }) => route.method === (method === 'HEAD' ? 'GET' : method));
  if (found) return found;
  if (ofPath.length === 0) throw new Refusal('not_found');
  const allow = ofPath.map(({ route }) => (route.method === 'GET' ? 'GET, HEAD' : route.method)).join(', ');
  throw new Refusal('method_not_allowed', { headers: { allow } });
}

/** Checks the board and the grant of a request. */
function authorize(
  { board }: BoardState,
  token: TestToken,
  metadata: RouteMetadata,
  query: Record<string, string | string[]>,
) {
  if (metadata.auth !== 'board') return;
  if (Array.isArray(query.board)) {
    const issues = [{ path: ['query', 'board'], code: 'invalid_type', message: 'Give board once' }];
    throw new Refusal('validation_failed', { issues });
  }
  const { slug, name } = board;
  if (query.board !== undefined && query.board !== slug) {
    throw new Refusal('board_not_granted', { details: { boards: [{ slug, name, grant: token.grant }] } });
  }
  const needed = [metadata.grant, ...grantsOfQuery(metadata.grantByQuery, query)].find(
    grant => !includesGrant(token.grant, grant),
  );
  if (needed) throw new Refusal('insufficient_scope', { details: { board: slug, needed, held: token.grant } });
  const { capability } = metadata;
  if (capability && !token.capabilities.includes(capability)) {
    throw new Refusal('missing_capability', { details: { needed: capability } });
  }
}

/** Reads and validates a request with the schemas of the contract. */
async function validate(
  request: IncomingMessage,
  { operation }: ServedRoute,
  query: object,
  params: Record<string, string>,
): Promise<Omit<ValidRequest, 'token' | 'signal'>> {
  const body = await readBody(request);
  const ids = Object.entries(params).map(([name, text]) => [name, /^[0-9]+$/.test(text) ? Number(text) : 0] as const);
  if (ids.some(([, id]) => !Number.isSafeInteger(id) || id === 0)) throw new Refusal('not_found');
  const parsed = parseRequest(operation, { query, headers: request.headers, body });
  if (parsed.issues.length > 0) throw new Refusal('validation_failed', { issues: parsed.issues });
  const none = { id: 0, tagId: 0, commentId: 0, noteId: 0, webhookId: 0, deliveryId: 0 };
  return { ...none, ...Object.fromEntries(ids), query: parsed.query, body: parsed.body } as never;
}

function fingerprintOf({ query, ...others }: Omit<ValidRequest, 'token' | 'signal'>): string {
  // Leaves out the parameter `board`. The test server has only one board, so requests with and without this parameter
  // are equal.
  return JSON.stringify([others, { ...query, board: undefined }]);
}

/** Runs a write with an Idempotency-Key only once. A repeated request gets the first answer. */
function runOnce(
  replays: Map<string, { fingerprint: string; answer: Answer }>,
  place: string,
  fingerprint: string,
  run: () => Answer,
): Answer {
  const first = replays.get(place);
  if (first && first.fingerprint !== fingerprint) throw new Refusal('idempotency_key_reused');
  if (first) return { ...first.answer, headers: { ...first.answer.headers, 'idempotency-replayed': 'true' } };
  const answer = run();
  // Copies the answer, because it contains the stored ideas and the stored board. Later requests change these objects.
  const stored = structuredClone(answer);
  // Removes the webhook's secret from the stored answer, because only the first answer may contain the secret.
  if (stored.body instanceof Object && 'secret' in stored.body) stored.body.secret = null;
  replays.set(place, { fingerprint, answer: stored });
  return answer;
}
