import type { CallToolResult } from '@modelcontextprotocol/server';

/** A message of the protocol. Only its size is checked yet. */
export type Message = Record<string, unknown>;

export interface ProtocolRequest {
  message: Message;
  headers: Record<string, string | string[] | undefined>;
  /** Runs the called tool. Undefined if the message is no valid tool call. */
  runTool: (() => Promise<CallToolResult>) | undefined;
}

export interface ProtocolAnswer {
  status: number;
  contentType: string | null;
  body: string;
}

/** Far more than clients send: a call has a handful of values, and the description of a client a few dozen. */
const maxValues = 500;
const maxDepth = 32;

/**
 * Whether a body is an object with few values and little depth. The SDK validates a message recursively. Without this
 * check, 64 KiB of values would make it write 8 MB of errors, and 64 KiB of brackets would overflow the stack.
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

/** Whether an answer can repeat a value as the id of its message. */
export function isId(value: unknown): boolean {
  return typeof value === 'string' || Number.isSafeInteger(value);
}
