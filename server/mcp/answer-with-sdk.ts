import {
  createMcpHandler,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { instructions, serverInfo } from './introduction.ts';
import type { Exchange, Message, ProtocolAnswer } from './message.ts';
import type { Tool } from './tools.ts';

/** Has the SDK answer a message, each with a server of its own, in the era that the message is of. */
export async function answerWithSdk(
  definitions: Tool['definition'][],
  { message, headers, runTool }: Exchange,
): Promise<ProtocolAnswer> {
  // The SDK makes an answer of every error. Those of a tool go on to who answers errors.
  let failure: { error: unknown } | undefined;
  const run =
    runTool &&
    (() =>
      runTool().catch((error: unknown) => {
        failure = { error };
        throw error;
      }));
  const build = () => buildServer(definitions, run);
  const request = toWebRequest(headers);
  const response = (await isLegacyRequest(request, message))
    ? await answerLegacy(build(), request, message)
    : await createMcpHandler(build, { legacy: 'reject' }).fetch(request, { parsedBody: message });
  if (failure) throw failure.error;
  return { status: response.status, contentType: response.headers.get('content-type'), body: await response.text() };
}

/** How long a client may keep the list of the tools, which changes with the version of the server alone. */
const toolsTtlMs = 300_000;

function buildServer(definitions: Tool['definition'][], runTool: Exchange['runTool']): Server {
  const server = new Server(serverInfo, {
    capabilities: { tools: {} },
    instructions,
    cacheHints: { 'tools/list': { ttlMs: toolsTtlMs, cacheScope: 'public' } },
  });
  server.setRequestHandler('tools/list', ({ params }) => {
    if (params?.cursor !== undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is one page');
    return { tools: definitions };
  });
  server.setRequestHandler('tools/call', ({ params }) => {
    if (runTool) return runTool();
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${params.name}`);
  });
  return server;
}

/** The revisions of 2025, whose transport would open a session and answer with a stream. */
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

function toWebRequest(given: Exchange['headers']): Request {
  // Some clients name one type alone, which the SDK refuses; what they are answered with is JSON either way.
  const headers = new Headers({ 'content-type': 'application/json', accept: 'application/json, text/event-stream' });
  for (const name of protocolHeaders) {
    const value = given[name];
    if (typeof value === 'string') headers.set(name, value);
  }
  // The address is nobody's: the body is read already, and nothing else is looked up in it.
  return new Request('http://localhost/', { method: 'POST', headers });
}
