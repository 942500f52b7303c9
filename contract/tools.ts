import { z } from 'zod';
import { type ErrorBody, type ErrorKey, raisesWithin, type ValidationIssue } from './errors.ts';
import { c, NoQuery, noBody, type RouteMetadata } from './routes.ts';

const jsonrpc = z.literal('2.0');
const MessageId = z.union([z.string(), z.number()]);

const Message = z
  .looseObject({
    jsonrpc,
    id: MessageId.optional().describe('What the answer repeats; a message without it is a notification.'),
    method: z.string().describe('Such as `tools/list` or `tools/call`.'),
    params: z.looseObject({}).optional().describe('What the method takes.'),
  })
  .meta({
    title: 'ToolsMessage',
    description: 'One message of the Model Context Protocol.',
    examples: [
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'vote_idea', arguments: { id: 42, value: 'up' } },
      },
    ],
  });

const tallyExample = { score: 17, my_vote: 'up', up_count: 19, down_count: 2 };

const Answer = z
  .looseObject({
    jsonrpc,
    id: MessageId.nullable().describe('That of the message.'),
    result: z.looseObject({}).optional().describe('What the method answers, also where the operation was refused.'),
    error: z
      .looseObject({ code: z.int().describe('As JSON-RPC has it.'), message: z.string().describe('For people.') })
      .optional()
      .describe('Instead of a result: there is no such method or tool, or its parameters have another form.'),
  })
  .meta({
    title: 'ToolsAnswer',
    description: 'The answer to one message of the Model Context Protocol.',
    examples: [
      {
        jsonrpc: '2.0',
        id: 1,
        result: {
          content: [{ type: 'text', text: JSON.stringify(tallyExample) }],
          structuredContent: tallyExample,
        },
      },
    ],
  });

/** An error of the API in the form of JSON-RPC: whoever knows the API finds its key where it always is. */
export interface JsonRpcError {
  jsonrpc: '2.0';
  /** That of the message; null where it could not be read. */
  id: string | number | null;
  error: ErrorBody['error'] & {
    code: number;
    data: { key: ErrorKey; issues?: ValidationIssue[]; retry_after?: number; advice?: string; [more: string]: unknown };
  };
}

const raisesJsonRpc = raisesWithin.bind(null, {
  envelope: { jsonrpc, id: MessageId.nullable().describe('That of the message; null where it could not be read.') },
  error: {
    code: z.int().describe('As JSON-RPC has it.'),
    data: z.looseObject({ key: z.string() }).describe('The same, for clients that see nothing else of an error.'),
  },
});

const codes: Partial<Record<ErrorKey, number>> = {
  malformed_json: -32_700,
  invalid_message: -32_600,
  validation_failed: -32_600,
  not_found: -32_601,
  internal_error: -32_603,
};

/** The code of JSON-RPC that goes with a key: one of its own, else that of servers. */
export function jsonRpcCode(key: ErrorKey): number {
  return codes[key] ?? -32_000;
}

export const useTools = c.mutation({
  method: 'POST',
  path: '/api/v1/mcp',
  summary: 'Use the tools',
  description:
    'The endpoint of the Model Context Protocol for agents (Streamable HTTP without sessions; revision 2026-07-28, and those of 2025). Its tools are the operations of this document, which `tools/list` describes: a call is admitted, limited and charged as the operation is. Takes API tokens, and access tokens of OAuth 2.1. An operation that is refused is answered with 200 and a result whose `isError` is true and whose text is the error. What goes wrong before is answered with its status, and with the error in the form of JSON-RPC. An array of messages is refused.',
  query: NoQuery,
  body: Message,
  responses: {
    200: Answer,
    202: noBody,
    ...raisesJsonRpc(
      'malformed_json',
      'invalid_message',
      'unauthorized',
      'agent_api_unavailable',
      'origin_not_allowed',
      'not_found',
      'payload_too_large',
      'unsupported_media_type',
      'validation_failed',
      'rate_limited',
      'internal_error',
      'service_unavailable',
    ),
  },
  metadata: { tag: 'Tools', auth: 'tools' } as const satisfies RouteMetadata,
});
