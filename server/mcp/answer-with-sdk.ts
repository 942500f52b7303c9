import {
  createMcpHandler,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import leven from 'leven';
import { serverInfo } from './introduction.ts';
import { keyedErrorOf } from './json-rpc-error.ts';
import type { Message, ProtocolAnswer, ProtocolRequest } from './message.ts';
import type { Tool } from './tools.ts';

/** The instructions and the tools that a client may see. */
export interface Offer {
  instructions: string;
  definitions: Tool['definition'][];
}

/**
 * Answers a message in the MCP protocol version of the message. For each message, creates a new server of the MCP SDK.
 */
export async function answerWithSdk(
  offer: Offer,
  { message, headers, runTool }: ProtocolRequest,
): Promise<ProtocolAnswer> {
  // Keeps the error of the tool, and throws it again after the answer, because the SDK turns every error into an
  // answer.
  let failure: { error: unknown } | undefined;
  const run =
    runTool &&
    (() =>
      runTool().catch((error: unknown) => {
        failure = { error };
        throw error;
      }));
  const build = () => buildServer(offer, run);
  const request = toWebRequest(headers);
  const response = (await isLegacyRequest(request, message))
    ? await answerLegacy(build(), request, message)
    : await createMcpHandler(build, { legacy: 'reject' }).fetch(request, { parsedBody: message });
  if (failure) throw failure.error;
  const { status } = response;
  const [contentType, body] = [response.headers.get('content-type'), await response.text()];
  const refusal = contentType === 'application/json' ? keyedErrorOf(status, body) : undefined;
  return { status, contentType, body, refusal };
}

function buildServer({ instructions, definitions }: Offer, runTool: ProtocolRequest['runTool']): Server {
  const server = new Server(serverInfo, {
    capabilities: { tools: {} },
    instructions,
    // Clients must not cache the list of tools, because the list depends on the grants of the token, which can change
    // at any time.
    cacheHints: { 'tools/list': { ttlMs: 0, cacheScope: 'private' } },
  });
  server.setRequestHandler('tools/list', ({ params }) => {
    if (params?.cursor !== undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is one page');
    return { tools: definitions };
  });
  server.setRequestHandler('tools/call', ({ params }) => {
    if (runTool) return runTool();
    throw unknownTool(params.name, definitions);
  });
  return server;
}

/**
 * The maximum length of an unknown tool name in an error message, and the number of similar names that the message
 * suggests.
 */
const maxUnknownLength = 50;
const suggestions = 3;

function unknownTool(name: string, definitions: Tool['definition'][]): ProtocolError {
  const unknown = name.slice(0, maxUnknownLength);
  const known = definitions.map(one => one.name);
  const similar = known.toSorted((a, b) => leven(a, unknown) - leven(b, unknown)).slice(0, suggestions);
  const message = `Unknown tool: ${unknown}. Similar tools: ${similar.join(', ')}`;
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message, { key: 'not_found' });
}

/**
 * Answers a message with an MCP protocol version before 2026. By default, the SDK would open a session and an event
 * stream for each of these messages.
 */
async function answerLegacy(server: Server, request: Request, message: Message): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: undefined,
    enableJsonResponse: true,
  });
  await server.connect(transport);
  try {
    return await transport.handleRequest(request, { parsedBody: message });
  } finally {
    await server.close();
  }
}

const protocolHeaders = ['mcp-protocol-version', 'mcp-method', 'mcp-name'];

function toWebRequest(given: ProtocolRequest['headers']): Request {
  // The SDK requires an Accept header that lists JSON and event streams. The client's own Accept header makes no
  // difference, because the answer is always JSON.
  const headers = new Headers({ 'content-type': 'application/json', accept: 'application/json, text/event-stream' });
  for (const name of protocolHeaders) {
    const value = given[name];
    if (typeof value === 'string') headers.set(name, value);
  }
  // The SDK requires a URL but does not use it. The request has no body, because the server has already read the body.
  return new Request('http://localhost/', { method: 'POST', headers });
}
