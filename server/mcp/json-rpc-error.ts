import { adviceFor } from '../../contract/advice.ts';
import { type ErrorKey, errors } from '../../contract/errors.ts';
import { type JsonRpcError, jsonRpcCode } from '../../contract/tools.ts';
import type { DomainError } from '../domain/domain-error.ts';
import { isObject, type ProtocolAnswer } from './message.ts';

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

/** Adds an error key of the API to an error of the MCP SDK. */
export function keyedErrorOf({ status, body }: ProtocolAnswer): JsonRpcError {
  const key = keyOfStatus(status);
  const { id, error } = JSON.parse(body) as Pick<JsonRpcError, 'id' | 'error'>;
  // If `data` is not an object, it is an internal error message of the SDK. Clients do not get this internal message.
  const data = isObject(error.data) ? error.data : {};
  return { jsonrpc: '2.0', id: id ?? null, error: { ...error, key, data: { ...data, key } } };
}

function keyOfStatus(status: number): ErrorKey {
  if (status === errors.not_found.status) return 'not_found';
  if (status === errors.invalid_message.status) return 'invalid_message';
  throw new Error(`The protocol answered ${status}`);
}
