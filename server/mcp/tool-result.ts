import type { CallToolResult } from '@modelcontextprotocol/server';
import { adviceFor } from '../../contract/advice.ts';
import type { DomainError } from '../domain/domain-error.ts';
import { issuesOfCall } from './tool-call.ts';
import type { Tool } from './tools.ts';

/** What an operation answered, for programs and as text for models of clients that read nothing else. */
export function resultOf(body: unknown, isReplayed: boolean): CallToolResult {
  return {
    content: [{ type: 'text', text: JSON.stringify(body) }],
    structuredContent: body as Record<string, unknown>,
    ...(isReplayed ? { _meta: { 'idea-board/idempotency-replayed': true } } : {}),
  };
}

/**
 * What an operation was refused with: the error as the API has it, then what to do about it. There is no structured
 * content: clients hold that against the schema of what a tool answers, and throw.
 */
export function refusalResultOf(tool: Tool, { key, message, issues }: DomainError): CallToolResult {
  const error = { key, message, ...(issues ? { issues: issuesOfCall(tool, issues) } : {}) };
  return {
    isError: true,
    content: [
      { type: 'text', text: JSON.stringify({ error }) },
      { type: 'text', text: adviceFor(key) },
    ],
  };
}
