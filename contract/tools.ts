import { z } from 'zod';
import { type DetailsOf, type ErrorBody, type ErrorKey, raisesWithin, type ValidationIssue } from './errors.ts';
import { BoardParameter, c, noBody, type RouteMetadata } from './routes.ts';

const jsonrpc = z.literal('2.0');
const MessageId = z.union([z.string(), z.number()]);

const Message = z
  .looseObject({
    jsonrpc,
    id: MessageId.optional().describe('The response repeats this id. A message without an id is a notification.'),
    method: z.string().describe('For example `tools/list` or `tools/call`.'),
    params: z.looseObject({}).optional().describe('The parameters of the method.'),
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
    id: MessageId.nullable().describe('The id of the message.'),
    result: z.looseObject({}).optional().describe('The result of the method. A refused operation has a result, too.'),
    error: z
      .looseObject({ code: z.int().describe('The JSON-RPC error code.'), message: z.string().describe('For people.') })
      .optional()
      .describe('Replaces the result if the method or tool does not exist, or if its parameters are invalid.'),
  })
  .meta({
    title: 'ToolsAnswer',
    description: 'The response to one message of the Model Context Protocol.',
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

/** An API error in the format of JSON-RPC. The field with the error key has the same path as in a REST response. */
export interface JsonRpcError {
  jsonrpc: '2.0';
  /**
   * The id of the client's message. Null if the server could not read the message, or if the message has no valid id.
   */
  id: string | number | null;
  error: ErrorBody['error'] & {
    code: number;
    data: {
      key: ErrorKey;
      issues?: ValidationIssue[];
      details?: DetailsOf<ErrorKey>;
      retry_after?: number;
      advice?: string;
      [more: string]: unknown;
    };
  };
}

const raisesJsonRpc = raisesWithin.bind(null, {
  envelope: {
    jsonrpc,
    id: MessageId.nullable().describe('The id of the message; null if the message was unreadable.'),
  },
  error: {
    code: z.int().describe('The JSON-RPC error code.'),
    data: z.looseObject({ key: z.string() }).describe('The same facts, for clients that read only `data`.'),
  },
});

const codes: Partial<Record<ErrorKey, number>> = {
  malformed_json: -32_700,
  invalid_message: -32_600,
  validation_failed: -32_600,
  not_found: -32_601,
  internal_error: -32_603,
};

/** Returns the JSON-RPC error code for an error key. Most error keys have the code of a general server error. */
export function jsonRpcCode(key: ErrorKey): number {
  return codes[key] ?? -32_000;
}

export const useTools = c.mutation({
  method: 'POST',
  path: '/api/v1/mcp',
  summary: 'Use the tools',
  description:
    'The Model Context Protocol endpoint for agents (Streamable HTTP without sessions; revision 2026-07-28 and the revisions of 2025). Its tools are the operations of this document. `tools/list` describes those that the token can use. Each call has the same access rules and rate limits as its operation. Accepts API tokens and OAuth 2.1 access tokens. A refused operation returns 200 and a result with `isError: true` and the error as its text. An earlier failure returns its own status and the error in the form of JSON-RPC. Arrays of messages are refused.',
  query: z.strictObject({
    board: BoardParameter.board.describe(
      'The slug of the board for tool calls without the argument `board`. With it, an agent need not name the board in each call.',
    ),
    readonly: z
      .enum(['true', 'false'])
      .optional()
      .describe('With `true`, the token has at most the `read` grant on each board. The default is `false`.')
      .meta({ examples: ['true'] }),
  }),
  body: Message,
  responses: {
    200: Answer,
    202: noBody,
    ...raisesJsonRpc(
      'malformed_json',
      'invalid_message',
      'unauthorized',
      'network_not_allowed',
      'agent_api_unavailable',
      'origin_not_allowed',
      'not_found',
      'payload_too_large',
      'unsupported_media_type',
      'validation_failed',
      'rate_limited',
      'too_many_waits',
      'internal_error',
      'service_unavailable',
    ),
  },
  metadata: { tag: 'Tools', auth: 'tools' } as const satisfies RouteMetadata,
});
