import type { CallToolResult } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { adviceFor } from '../../contract/advice.ts';
import type { ErrorKey } from '../../contract/errors.ts';
import type { ServerDependencies } from '../dependencies.ts';
import type { DomainError } from '../domain/domain-error.ts';
import { authorize } from '../http/admit.ts';
import { refusalFor } from '../http/error-handler.ts';
import type { Principal } from '../http/find-tokens.ts';
import { replayedHeader } from '../http/operation-runner.ts';
import { type Endpoints, validateAnswer } from '../http/ts-rest.ts';
import { issuesOfCall, type ToolCall } from './tool-call.ts';
import type { Tool } from './tools.ts';

type Endpoint = (input: Record<string, unknown>) => Promise<{ status: number; body: unknown }>;

export function buildToolRunner(server: ServerDependencies, endpoints: Endpoints) {
  return async (
    call: ToolCall,
    principal: Principal,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<CallToolResult> => {
    const { operationId, route, metadata } = call.tool;
    try {
      authorize(server, request, principal, metadata, call.query);
      const input = call.takeInput();
      const endpoint = endpoints[operationId] as Endpoint;
      const answer = await endpoint({ ...input, request, reply, appRoute: route });
      return resultOf(validateAnswer(route, answer), reply.hasHeader(replayedHeader));
    } catch (error) {
      const refusal = refusalFor(error);
      if (keysOfTransport.has(refusal.key)) throw error;
      request.errorKey = refusal.key;
      return refusalResultOf(call.tool, refusal);
    }
  };
}

/** Errors that get their HTTP status instead of a tool result. Clients and proxies need the status. */
const keysOfTransport: ReadonlySet<ErrorKey> = new Set<ErrorKey>([
  'unauthorized',
  'rate_limited',
  'internal_error',
  'service_unavailable',
]);

/** Returns a result as structured content, and as text for clients that read only text. */
export function resultOf(body: unknown, isReplayed: boolean): CallToolResult {
  return {
    content: [{ type: 'text', text: JSON.stringify(body) }],
    structuredContent: body as Record<string, unknown>,
    ...(isReplayed ? { _meta: { 'idea-board/idempotency-replayed': true } } : {}),
  };
}

/**
 * Returns the tool result of a failed operation: the error of the API, then advice. The result has no structured
 * content. Clients would validate it against the output schema and throw an error.
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
