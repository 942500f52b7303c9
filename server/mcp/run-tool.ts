import type { CallToolResult } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorKey } from '../../contract/errors.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { admitCaller } from '../http/admit.ts';
import type { Principal } from '../http/authenticate.ts';
import { refusalFor } from '../http/error-handler.ts';
import { replayedHeader } from '../http/operate.ts';
import { type Endpoints, validateAnswer } from '../http/ts-rest.ts';
import type { ToolCall } from './tool-call.ts';
import { refusalResultOf, resultOf } from './tool-result.ts';

type Endpoint = (input: Record<string, unknown>) => Promise<{ status: number; body: unknown }>;

/** Runs a tool for the bearer of a token that is identified and charged. */
export function buildToolRunner(server: ServerDependencies, endpoints: Endpoints) {
  return async (
    call: ToolCall,
    principal: Principal,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<CallToolResult> => {
    const { operationId, route, metadata } = call.tool;
    try {
      admitCaller(server, request, principal, metadata, call.query);
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

/** What is wrong with the connection or the server is no result of a tool: its status tells clients and proxies of it. */
const keysOfTransport: ReadonlySet<ErrorKey> = new Set<ErrorKey>([
  'unauthorized',
  'rate_limited',
  'internal_error',
  'service_unavailable',
]);
