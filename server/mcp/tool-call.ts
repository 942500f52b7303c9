import type { ValidationIssue } from '../../contract/errors.ts';
import { DomainError } from '../domain/domain-error.ts';
import type { Idempotency } from '../http/look-up-token.ts';
import { RequestValidationError, type RouteInput, refusalOf, validateInput } from '../http/ts-rest.ts';
import type { ArgumentPlace, Tool } from './tools.ts';

/**
 * The field of `_meta` that carries the Idempotency-Key of a tool call. A header would not work. Clients send their
 * configured headers with every call, so all calls would have the same key.
 */
const idempotencyMetaKey = 'idea-board/idempotency-key';

export interface ToolCall {
  tool: Tool;
  /** The query parameters before validation. Authorization needs them. */
  query: Record<string, unknown>;
  idempotency: Idempotency | undefined;
  /** Returns the validated input, or throws the validation error. */
  takeInput(): ReturnType<typeof validateInput>;
}

type Arguments = Readonly<Record<string, unknown>>;

/**
 * Maps the arguments of a tool call to the input of a REST route and validates the input. If the input is invalid,
 * `takeInput` throws the error, and this function throws nothing.
 */
export function readCall(tool: Tool, given: Arguments, meta: Arguments): ToolCall {
  const { params, query, body } = placeArguments(tool, { ...tool.metadata.tool.defaults, ...given });
  const headers = { 'idempotency-key': meta[idempotencyMetaKey] };
  const input: RouteInput = { params, headers, query, body };
  let validated: ReturnType<typeof validateInput>;
  try {
    validated = validateInput(tool.route, input);
  } catch (error) {
    const refusal = refusalOfCall(tool, given, error);
    const takeInput = () => {
      throw refusal;
    };
    return { tool, query, idempotency: undefined, takeInput };
  }
  return { tool, query, idempotency: idempotencyOf(tool, validated), takeInput: () => validated };
}

function placeArguments({ places, route }: Tool, given: Arguments) {
  const hasBody = [...places.values()].some(({ part }) => part === 'body');
  const members: Record<ArgumentPlace['part'], [string, unknown][]> = { params: [], query: [], body: [] };
  for (const [name, value] of Object.entries(given)) {
    // An unknown argument goes to the body or the query, so that their schema refuses it.
    const { part, field } = places.get(name) ?? { part: hasBody ? 'body' : 'query', field: name };
    members[part].push([field, value]);
  }
  // fromEntries makes an argument called `__proto__` an ordinary field. An assignment would set the prototype.
  return {
    params: route.pathParams ? Object.fromEntries(members.params) : undefined,
    query: Object.fromEntries(members.query),
    body: hasBody ? Object.fromEntries(members.body) : undefined,
  };
}

/** Returns the path and key of the equal REST request, so that the server treats both as the same request. */
function idempotencyOf(
  { route }: Tool,
  { params, headers }: ReturnType<typeof validateInput>,
): Idempotency | undefined {
  if (!Object.hasOwn((route.headers ?? {}) as object, 'idempotency-key')) return undefined;
  const key = (headers as Record<string, unknown>)['idempotency-key'];
  if (typeof key !== 'string') return undefined;
  const values = params as Record<string, unknown>;
  return { path: route.path.replace(/:(\w+)/g, (_, name: string) => String(values[name])), key };
}

/**
 * Returns the error for invalid arguments. An invalid id gives not_found, as in the path of a REST request. A missing
 * id, or an id that is neither a string nor a number, gives a validation error.
 */
function refusalOfCall({ places }: Tool, given: Arguments, error: unknown): unknown {
  if (!(error instanceof RequestValidationError)) return error;
  const missing: ValidationIssue[] = [];
  for (const [name, { part, field }] of places) {
    if (part !== 'params' || ['string', 'number'].includes(typeof given[name])) continue;
    missing.push({ path: ['params', field], code: 'invalid_type', message: 'Must be the id, as a whole number' });
  }
  if (missing.length === 0) return refusalOf(error);
  const others = refusalOf(new RequestValidationError(null, error.headers, error.query, error.body)).issues ?? [];
  return new DomainError('validation_failed', [...missing, ...others]);
}

/** Converts the paths of issues from the input of the REST route to the arguments of the tool. */
export function issuesOfCall({ places }: Tool, issues: ValidationIssue[]): ValidationIssue[] {
  const names = new Map([...places].map(([name, { part, field }]) => [`${part}.${field}`, name]));
  return issues.map(({ path: [part, field, ...deeper], ...issue }) => {
    if (part === 'headers') return { ...issue, path: ['_meta', idempotencyMetaKey] };
    if (field === undefined) return { ...issue, path: ['arguments'] };
    return { ...issue, path: ['arguments', names.get(`${part}.${field}`) ?? field, ...deeper] };
  });
}
