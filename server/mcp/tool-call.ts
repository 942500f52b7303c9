import type { ValidationIssue } from '../../contract/errors.ts';
import { DomainError } from '../domain/domain-error.ts';
import type { Charges } from '../http/look-up-token.ts';
import { RequestValidationError, type RouteInput, refusalOf, validateInput } from '../http/ts-rest.ts';
import type { ArgumentPlace, Tool } from './tools.ts';

/**
 * The key in `_meta` under which a call is done once, as under the Idempotency-Key of a request. It is no header here:
 * clients send the headers that they are configured with on every call, and one key for all calls would make them one.
 */
const idempotencyMetaKey = 'idea-board/idempotency-key';

/** A call of a tool, as its route takes it. */
export interface ToolCall {
  tool: Tool;
  /** As it was given: admission looks at it before it is validated. */
  query: Record<string, unknown>;
  idempotency: Charges['idempotency'];
  /** The validated input; throws the refusal where it is not valid. */
  takeInput(): ReturnType<typeof validateInput>;
}

type Arguments = Readonly<Record<string, unknown>>;

/** Puts the arguments of a call where its route has them, and validates them there. Refuses nothing yet. */
export function readCall(tool: Tool, given: Arguments, meta: Arguments): ToolCall {
  const { params, query, body } = placeArguments(tool, given);
  const headers = { 'idempotency-key': meta[idempotencyMetaKey] };
  const input: RouteInput = { params, headers, query, body };
  let validated: ReturnType<typeof validateInput>;
  try {
    validated = validateInput(tool.route, input);
  } catch (error) {
    const refusal = refusalOfCall(tool, given, error);
    const refuse = () => {
      throw refusal;
    };
    return { tool, query, idempotency: undefined, takeInput: refuse };
  }
  return { tool, query, idempotency: idempotencyOf(tool, validated), takeInput: () => validated };
}

function placeArguments({ places, route }: Tool, given: Arguments) {
  const hasBody = [...places.values()].some(({ part }) => part === 'body');
  const members: Record<ArgumentPlace['part'], [string, unknown][]> = { params: [], query: [], body: [] };
  for (const [name, value] of Object.entries(given)) {
    // An unknown argument goes where a schema refuses it.
    const { part, field } = places.get(name) ?? { part: hasBody ? 'body' : 'query', field: name };
    members[part].push([field, value]);
  }
  return {
    params: route.pathParams ? fieldsOf(members.params) : undefined,
    query: fieldsOf(members.query),
    body: hasBody ? fieldsOf(members.body) : undefined,
  };
}

/** Unlike an assignment, this makes an argument called `__proto__` a field, not the prototype. */
function fieldsOf(members: [string, unknown][]): Record<string, unknown> {
  return Object.fromEntries(members);
}

/** The path and the key of the request that the call is: sent there under the same key, it is the same request. */
function idempotencyOf({ route }: Tool, { params, headers }: ReturnType<typeof validateInput>): Charges['idempotency'] {
  if (!Object.hasOwn((route.headers ?? {}) as object, 'idempotency-key')) return undefined;
  const key = (headers as Record<string, unknown>)['idempotency-key'];
  if (typeof key !== 'string') return undefined;
  const values = params as Record<string, unknown>;
  return { path: route.path.replace(/:(\w+)/g, (_, name: string) => String(values[name])), key };
}

/**
 * An id that is no id names nothing, as in a path. One that is not given at all, or is not even a word, could not be in a
 * path, and is a fault of the call.
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

/** Names the arguments, where an issue names what they became. */
export function issuesOfCall({ places }: Tool, issues: ValidationIssue[]): ValidationIssue[] {
  const names = new Map([...places].map(([name, { part, field }]) => [`${part}.${field}`, name]));
  return issues.map(({ path: [part, field, ...deeper], ...issue }) => {
    if (part === 'headers') return { ...issue, path: ['_meta', idempotencyMetaKey] };
    if (field === undefined) return { ...issue, path: ['arguments'] };
    return { ...issue, path: ['arguments', names.get(`${part}.${field}`) ?? field, ...deeper] };
  });
}
