import type { CallToolResult } from '@modelcontextprotocol/server';

/** A message of the protocol that is one JSON object; what is in it is the protocol's to judge. */
export type Message = Record<string, unknown>;

export interface Exchange {
  message: Message;
  /** The headers of the request, by their names in lower case. */
  headers: Record<string, string | string[] | undefined>;
  /** Runs the tool for which the request was admitted; undefined where it called none. */
  runTool: (() => Promise<CallToolResult>) | undefined;
}

/** An answer of the protocol. */
export interface ProtocolAnswer {
  status: number;
  contentType: string | null;
  body: string;
}

/** Far more than any client sends: a call has a handful of values, and what a client tells of itself a few dozen. */
const maxValues = 500;
const maxDepth = 32;

/**
 * Whether something is an object of the size of a message. The SDK goes through a message value by value, and down into it
 * by recursion: without this, 64 KiB of values cost it 8 MB of complaints, and 64 KiB of brackets the whole stack.
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
