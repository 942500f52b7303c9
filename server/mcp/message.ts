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

export function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
