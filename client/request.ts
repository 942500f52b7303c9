import { type OperationId, type Operations, routes, type ValidationIssue } from './contract.ts';
import { InvalidRequestError } from './errors.ts';
import type { HeadersInput, RequestParts, RequestValidator, WriteOptions } from './options.ts';

/** The arguments of a call to an operation. */
export interface CallInput<O extends OperationId = OperationId> {
  params?: Readonly<Record<string, number>>;
  query?: Operations[O]['query'];
  body?: Operations[O]['body'];
}

/** The options of the client that apply to every request. */
export interface RequestDefaults {
  baseUrl: string;
  token: string;
  board?: string | undefined;
  headers?: HeadersInput | undefined;
  validate?: RequestValidator | undefined;
}

/** A serialized request that can be sent several times. */
export interface PreparedRequest {
  operation: OperationId;
  method: string;
  url: string;
  headers: Headers;
  body: string | undefined;
  idempotencyKey: string | undefined;
  /** Whether the request is safe to send again: the server executes it only once, even if it arrives several times. */
  isRepeatable: boolean;
}

/** Builds the request of a call. Throws InvalidRequestError if the request is invalid. */
export function prepareRequest(
  operation: OperationId,
  input: CallInput,
  defaults: RequestDefaults,
  options: WriteOptions,
): PreparedRequest {
  const route = routes[operation];
  const idempotencyKey = route.takesKey ? (options.idempotencyKey ?? randomKey()) : undefined;
  const parts: RequestParts = {
    params: input.params ?? {},
    query: omitMissing({ ...(route.isOnBoard ? { board: options.board ?? defaults.board } : {}), ...input.query }),
    headers: idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
    body: input.body,
  };
  const headers = new Headers();
  const body = bodyOf(parts.body);
  const issues = [
    ...idIssues(parts.params),
    ...[defaults.headers, options.headers, parts.headers].flatMap(some => putHeaders(headers, some)),
    ...(body.issue ? [body.issue] : (defaults.validate?.(operation, parts) ?? [])),
  ];
  if (issues.length > 0) throw invalidRequest(operation, issues);
  headers.set('authorization', `Bearer ${defaults.token}`);
  headers.set('accept', 'application/json');
  if (body.text !== undefined) headers.set('content-type', 'application/json');

  const path = route.path.replace(/:(\w+)/g, (_, name: string) => String(parts.params[name]));
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parts.query)) query.set(name, String(value));
  const search = query.toString();
  return {
    operation,
    method: route.method,
    url: `${defaults.baseUrl}${path}${search === '' ? '' : `?${search}`}`,
    headers,
    body: body.text,
    idempotencyKey,
    // All methods except POST are idempotent.
    isRepeatable: route.method !== 'POST' || idempotencyKey !== undefined,
  };
}

/** Returns an issue for each id that is not a number. Other characters in an id could change the path of the URL. */
function idIssues(params: RequestParts['params']): ValidationIssue[] {
  return Object.entries(params)
    .filter(([, id]) => !/^\d+$/.test(String(id)))
    .map(([name, id]) => ({
      path: ['params', name],
      code: 'invalid_id',
      message: `Must be a numeric id, but is ${JSON.stringify(String(id))}`,
    }));
}

/** Sets headers. Returns an issue if a header is invalid. */
function putHeaders(headers: Headers, some: HeadersInput | undefined): ValidationIssue[] {
  try {
    for (const [name, value] of new Headers(some)) headers.set(name, value);
    return [];
  } catch {
    // The issue does not have the runtime's message. That message contains the value, which may be a secret.
    return [{ path: ['headers'], code: 'invalid_header', message: 'A name or a value is invalid' }];
  }
}

function bodyOf(body: unknown): { text?: string; issue?: ValidationIssue } {
  try {
    return body === undefined ? {} : { text: JSON.stringify(body) };
  } catch (error) {
    return { issue: { path: ['body'], code: 'invalid_json', message: `Cannot be serialized as JSON: ${error}` } };
  }
}

function invalidRequest(operation: OperationId, issues: readonly ValidationIssue[]): InvalidRequestError {
  const reasons = issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  return new InvalidRequestError({ message: `Nothing was sent. ${reasons.join('; ')}`, operation, issues });
}

function omitMissing(values: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined && value !== null));
}

/** Returns 128 random bits as text. crypto.randomUUID does not exist on web pages without HTTPS. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('');
}
