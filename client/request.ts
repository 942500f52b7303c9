import { type OperationId, type Operations, routes, type ValidationIssue } from './contract.ts';
import { InvalidRequestError, type OperationName } from './errors.ts';
import type {
  ApiRequest,
  ConditionalOptions,
  HeadersInput,
  RequestParts,
  RequestValidator,
  WriteOptions,
} from './options.ts';
import { userAgent } from './version.ts';

/** The arguments of a call to an operation. */
export interface CallInput<O extends OperationId = OperationId> {
  params?: Readonly<Record<string, number>>;
  query?: Operations[O]['query'];
  body?: Operations[O]['body'];
}

/** An operation of the contract, or an operation that a program calls with `client.request()`. */
export interface Operation {
  name: OperationName;
  method: string;
  path: string;
  isOnBoard: boolean;
  takesKey: boolean;
  /** The id of the operation in the contract. Undefined for `client.request()`. */
  id?: OperationId;
}

export function knownOperation(id: OperationId): Operation {
  return { ...routes[id], name: id, id };
}

/**
 * Returns the operation of `client.request()`. Assumes that the operation accepts a board and, for POST, an
 * Idempotency-Key.
 */
export function unknownOperation({ method, path }: ApiRequest): Operation {
  return { name: `${method} ${path as `/${string}`}`, method, path, isOnBoard: true, takesKey: method === 'POST' };
}

/** The options of any kind of call. */
export type AnyCallOptions = WriteOptions & Partial<ConditionalOptions>;

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
  operation: OperationName;
  /** Whether the operation belongs to the contract. */
  isKnown: boolean;
  method: string;
  url: string;
  headers: Headers;
  body: string | undefined;
  idempotencyKey: string | undefined;
  /** The part of the token that is not secret, such as `ib_7`. */
  tokenName: string;
  /** Whether the response may be `notModified`. */
  isConditional: boolean;
  /** Whether the request can be sent again without a further effect on the server. */
  isRepeatable: boolean;
}

/** Builds the request of a call. Throws InvalidRequestError if the request is invalid. */
export function prepareRequest(
  operation: Operation,
  input: CallInput | ApiRequest,
  defaults: RequestDefaults,
  options: AnyCallOptions,
): PreparedRequest {
  const { name, method, isOnBoard, takesKey } = operation;
  const { etag } = options;
  const idempotencyKey = takesKey ? (options.idempotencyKey ?? randomKey()) : undefined;
  const parts: RequestParts = {
    params: ('params' in input && input.params) || {},
    query: omitMissing({ ...(isOnBoard ? { board: options.board ?? defaults.board } : {}), ...input.query }),
    headers: {
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      ...(etag === undefined ? {} : { 'if-none-match': etag }),
    },
    body: input.body,
  };
  const body = bodyOf(parts.body);
  const issues = [
    ...pathIssues(operation),
    ...idIssues(parts.params),
    ...(body.issue ? [body.issue] : ((operation.id && defaults.validate?.(operation.id, parts)) ?? [])),
  ];
  if (issues.length > 0) throw invalidRequest(name, issues);
  const headers = new Headers();
  for (const some of [defaults.headers, options.headers, parts.headers]) {
    for (const [header, value] of new Headers(some)) headers.set(header, value);
  }
  headers.set('authorization', `Bearer ${defaults.token}`);
  headers.set('accept', 'application/json');
  if (body.text !== undefined) headers.set('content-type', 'application/json');
  const product = userAgent();
  if (product !== undefined) headers.set('user-agent', `${headers.get('user-agent') ?? ''} ${product}`.trim());

  const path = operation.path.replace(/:(\w+)/g, (text, name: string) => String(parts.params[name] ?? text));
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parts.query)) query.set(name, String(value));
  const search = query.toString();
  return {
    operation: name,
    isKnown: operation.id !== undefined,
    method,
    url: `${defaults.baseUrl}${path}${search === '' ? '' : `?${search}`}`,
    headers,
    body: body.text,
    idempotencyKey,
    tokenName: /^ib_\d+/.exec(defaults.token)?.[0] ?? '',
    isConditional: etag !== undefined,
    // A repeated edit changes nothing, but only the PATCH requests of the contract are sure to be edits of this kind.
    isRepeatable: idempotencyKey !== undefined || !(method === 'POST' || (method === 'PATCH' && !operation.id)),
  };
}

/**
 * Returns an issue if the path in `client.request()` contains parts such as `..` or `?`, which would lead to another
 * path or add a query.
 */
function pathIssues({ id, path }: Operation): ValidationIssue[] {
  if (id || (/^\/[^?#\\\s]*$/.test(path) && !/\/(?:\.|%2e){1,2}(?:\/|$)/i.test(path))) return [];
  const message = 'Must begin with a slash and have no query, no white space and no dot segment';
  return [{ path: ['path'], code: 'invalid_path', message }];
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

function bodyOf(body: unknown): { text?: string; issue?: ValidationIssue } {
  try {
    return body === undefined ? {} : { text: JSON.stringify(body) };
  } catch (error) {
    return { issue: { path: ['body'], code: 'invalid_json', message: `Cannot be serialized as JSON: ${error}` } };
  }
}

function invalidRequest(operation: OperationName, issues: readonly ValidationIssue[]): InvalidRequestError {
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
