import { adviceFor } from '../../contract/advice.ts';
import type { ErrorKey } from '../../contract/errors.ts';
import { type JsonRpcError, jsonRpcCode } from '../../contract/tools.ts';
import type { DomainError } from '../domain/domain-error.ts';
import { isObject, type SdkError } from './message.ts';

/**
 * Converts an error of the API to a JSON-RPC error. `sent` is the body of the request. The JSON-RPC error includes
 * advice, because MCP clients pass the error to a language model unchanged.
 */
export function toJsonRpcError(
  { key, message, issues, details }: DomainError,
  sent: unknown,
  retryAfter: unknown,
): JsonRpcError {
  const found = { ...(issues ? { issues } : {}), ...(details ? { details } : {}) };
  const retry = retryAfter === undefined ? {} : { retry_after: Number(retryAfter) };
  return {
    jsonrpc: '2.0',
    id: messageIdOf(sent),
    error: {
      key,
      message,
      ...found,
      code: jsonRpcCode(key),
      data: { key, ...found, ...retry, advice: adviceFor(key) },
    },
  };
}

function messageIdOf(sent: unknown): JsonRpcError['id'] {
  const { id } = (sent ?? {}) as { id?: unknown };
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

/** Adds an error key of the API and advice to an error of the MCP SDK. Returns undefined for a result. */
export function keyedErrorOf(status: number, body: string): SdkError | undefined {
  const { id, error } = JSON.parse(body) as Partial<JsonRpcError>;
  if (!error) return undefined;
  // If `data` is not an object, it is an internal error message of the SDK. Clients do not get this internal message.
  const data: Record<string, unknown> = isObject(error.data) ? error.data : {};
  const isUnknown = error.code === jsonRpcCode('not_found') || data.key === 'not_found';
  const key: ErrorKey = isUnknown ? 'not_found' : 'invalid_message';
  const advice = isUnknown ? adviceOnUnknown : adviceFor(key);
  const keyOfHttp = status < 400 ? {} : { key };
  return { jsonrpc: '2.0', id: id ?? null, error: { ...error, ...keyOfHttp, data: { ...data, key, advice } } };
}

/** The advice for an unknown method or an unknown tool. */
const adviceOnUnknown = 'Use tools/call with one of the tools that tools/list names.';
