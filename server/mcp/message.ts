import type { CallToolResult } from '@modelcontextprotocol/server';
import type { ErrorKey } from '../../contract/errors.ts';
import type { JsonRpcError } from '../../contract/tools.ts';

/**
 * A JSON-RPC message of the MCP protocol. isMessage has checked only how many values the message has and how deep they
 * are nested.
 */
export type Message = Record<string, unknown>;

export interface ProtocolRequest {
  message: Message;
  headers: Record<string, string | string[] | undefined>;
  /** Runs the tool that the message calls. Undefined unless the message is a valid call of an existing tool. */
  runTool: (() => Promise<CallToolResult>) | undefined;
}

export interface ProtocolAnswer {
  status: number;
  contentType: string | null;
  body: string;
  /** The error that replaces the body. Undefined for a result. */
  refusal?: SdkError | undefined;
}

/** An error of the MCP SDK with an error key of the API. The contract declares `error.key` only for HTTP errors. */
export type SdkError = Omit<JsonRpcError, 'error'> & {
  error: Omit<JsonRpcError['error'], 'key'> & { key?: ErrorKey };
};

/**
 * The maximum number of values in a message. A real tool call has about five values. The description that a client
 * sends of itself has a few dozen.
 */
const maxValues = 500;
const maxDepth = 32;

/**
 * Whether a body is an object with few values and little nesting. The SDK validates a message recursively. Without this
 * check, a body of 64 KiB could make the SDK write 8 MB of errors or overflow the stack.
 */
export function isMessage(body: unknown): body is Message {
  let left = maxValues;
  const isWithin = (value: unknown, depth: number): boolean => {
    left -= 1;
    if (left < 0 || depth > maxDepth) return false;
    return value === null || typeof value !== 'object' || Object.values(value).every(each => isWithin(each, depth + 1));
  };
  return isObject(body) && isWithin(body, 0);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** Whether a value is valid as the id of a message. The answer to the message contains the same id. */
export function isId(value: unknown): boolean {
  return typeof value === 'string' || Number.isSafeInteger(value);
}
