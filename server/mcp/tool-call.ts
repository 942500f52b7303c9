import { unknownFields, type ValidationIssue } from '../../contract/errors.ts';
import { DomainError } from '../domain/domain-error.ts';
import { type Idempotency, idempotencyPathOf } from '../http/look-up-token.ts';
import { RequestValidationError, type RouteInput, refusalOf, validateInput } from '../http/ts-rest.ts';
import type { ArgumentPlace, Tool } from './tools.ts';

/**
 * The field of `_meta` that contains the Idempotency-Key of a tool call. A header would not work: clients send the same
 * headers with every call, so all calls would have the same key.
 */
const idempotencyMetaKey = 'idea-board/idempotency-key';

export interface ToolCall {
  tool: Tool;
  /** The input before validation. The authorization check comes first, and it needs the query parameters. */
  input: RouteInput & { query: Record<string, unknown> };
  idempotency: Idempotency | undefined;
  /** Returns the validated input, or throws the validation error. */
  takeInput(): ReturnType<typeof validateInput>;
}

type Arguments = Readonly<Record<string, unknown>>;

/**
 * Maps the arguments of a tool call to the input of a REST route and validates the input. For invalid input, this
 * function throws nothing: the function `takeInput` in its result throws the error.
 */
export function readCall(tool: Tool, given: Arguments, meta: Arguments): ToolCall {
  const { params, query, body, unknown } = placeArguments(tool, { ...tool.metadata.tool.defaults, ...given });
  const headers = { 'idempotency-key': meta[idempotencyMetaKey] };
  const input = { params, headers, query, body };
  const refuseWith = (refusal: unknown): ToolCall => ({
    tool,
    input,
    idempotency: undefined,
    takeInput: () => {
      throw refusal;
    },
  });
  try {
    const validated = validateInput(tool.route, input);
    if (unknown.length > 0) return refuseWith(refusalOfCall(tool, given, unknown));
    return { tool, input, idempotency: idempotencyOf(tool, validated), takeInput: () => validated };
  } catch (error) {
    return refuseWith(error instanceof RequestValidationError ? refusalOfCall(tool, given, unknown, error) : error);
  }
}

function placeArguments({ places, route }: Tool, given: Arguments) {
  const hasBody = [...places.values()].some(({ part }) => part === 'body');
  const members: Record<ArgumentPlace['part'], [string, unknown][]> = { params: [], query: [], body: [] };
  const unknown: string[] = [];
  for (const [name, value] of Object.entries(given)) {
    const place = places.get(name);
    if (place) members[place.part].push([place.field, value]);
    else unknown.push(name);
  }
  // fromEntries makes an argument called `__proto__` an ordinary field. An assignment would set the prototype.
  return {
    params: route.pathParams ? Object.fromEntries(members.params) : undefined,
    query: Object.fromEntries(members.query),
    body: hasBody ? Object.fromEntries(members.body) : undefined,
    unknown,
  };
}

/**
 * Returns the idempotency key of a tool call, and the path of the REST request that has the same effect. If the REST
 * request with this key has already run, the server recognizes the tool call as a repetition of this request.
 */
function idempotencyOf(
  { route }: Tool,
  { params, headers }: ReturnType<typeof validateInput>,
): Idempotency | undefined {
  if (!Object.hasOwn((route.headers ?? {}) as object, 'idempotency-key')) return undefined;
  const key = (headers as Record<string, unknown>)['idempotency-key'];
  if (typeof key !== 'string') return undefined;
  return { path: idempotencyPathOf(route, params), key };
}

/**
 * Returns the error for invalid arguments. An invalid id gives not_found, as in the path of a REST request. A missing
 * id, or an id that is neither a string nor a number, gives a validation error.
 */
function refusalOfCall(
  { places, route }: Tool,
  given: Arguments,
  unknown: string[],
  error?: RequestValidationError,
): DomainError {
  const missing: ValidationIssue[] = [];
  for (const [name, { part, field }] of places) {
    if (part !== 'params' || ['string', 'number'].includes(typeof given[name])) continue;
    missing.push({ path: ['params', field], code: 'invalid_type', message: 'Must be the id, as a whole number' });
  }
  if (missing.length === 0 && error?.pathParams) return new DomainError('not_found');
  const others = error && new RequestValidationError(null, error.headers, error.query, error.body);
  const invalid = others ? (refusalOf(others, route).issues ?? []) : [];
  const undeclared = unknown.length > 0 ? [unknownFields(['query'], unknown, [...places.keys()])] : [];
  return new DomainError('validation_failed', { issues: [...missing, ...invalid, ...undeclared] });
}

/**
 * Converts validation issues of a REST route's input to issues of a tool call. The paths of the converted issues name
 * the arguments of the tool.
 */
export function issuesOfCall({ places }: Tool, issues: ValidationIssue[]): ValidationIssue[] {
  const names = new Map([...places].map(([name, { part, field }]) => [`${part}.${field}`, name]));
  return issues.map(({ path: [part, field, ...deeper], ...issue }) => {
    if (part === 'headers') return { ...issue, path: ['_meta', idempotencyMetaKey] };
    if (field === undefined) return { ...issue, path: ['arguments'] };
    return { ...issue, path: ['arguments', names.get(`${part}.${field}`) ?? field, ...deeper] };
  });
}
