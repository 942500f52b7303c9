import { adviceFor } from '../../contract/advice.ts';
import { type ErrorKey, errors } from '../../contract/errors.ts';
import { type JsonRpcError, jsonRpcCode } from '../../contract/tools.ts';
import type { DomainError } from '../domain/domain-error.ts';
import { isObject, type ProtocolAnswer } from './message.ts';

/**
 * An error of the API in the form of JSON-RPC, as the answer to what was sent. Clients show it to a model as it is, so it
 * says what to do about it, as a refused call does.
 */
export function toJsonRpcError(
  { key, message, issues }: DomainError,
  sent: unknown,
  retryAfter: unknown,
): JsonRpcError {
  const found = issues ? { issues } : {};
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

/** The id of what was sent; null where it has none. */
function messageIdOf(sent: unknown): JsonRpcError['id'] {
  const { id } = (sent ?? {}) as { id?: unknown };
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

/** The error with which the protocol itself refused a message, with the key that every error of the API has. */
export function keyedErrorOf({ status, body }: ProtocolAnswer): JsonRpcError {
  const key = keyOfStatus(status);
  const { id, error } = JSON.parse(body) as Pick<JsonRpcError, 'id' | 'error'>;
  // Data that is no object is the text of what failed in the SDK, which is for nobody outside.
  const data = isObject(error.data) ? error.data : {};
  return { jsonrpc: '2.0', id: id ?? null, error: { ...error, key, data: { ...data, key } } };
}

function keyOfStatus(status: number): ErrorKey {
  if (status === errors.not_found.status) return 'not_found';
  if (status === errors.invalid_message.status) return 'invalid_message';
  throw new Error(`The protocol answered ${status}`);
}
