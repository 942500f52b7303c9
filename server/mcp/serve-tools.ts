import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { errors } from '../../contract/errors.ts';
import { useTools } from '../../contract/tools.ts';
import type { Config } from '../config.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { DomainError } from '../domain/domain-error.ts';
import { authorize } from '../http/admit.ts';
import { authenticate, chargeAddress } from '../http/authenticate.ts';
import { noteErrors } from '../http/error-handler.ts';
import { issuerOf, resourceMetadataUrlOf } from '../http/public-addresses.ts';
import { type Endpoints, refuseUndeclaredQuery } from '../http/ts-rest.ts';
import { keyedErrorOf, toJsonRpcError } from './json-rpc-error.ts';
import { isId, isMessage, isObject, type Message, type ProtocolAnswer } from './message.ts';
import { buildProtocol } from './protocol.ts';
import { buildToolRunner } from './run-tool.ts';
import { readCall, type ToolCall } from './tool-call.ts';
import { buildTools, type Tool } from './tools.ts';

/**
 * Serves POST /api/v1/mcp. A call of a tool goes the way of a request for its route: it is identified and charged in one
 * round trip, admitted, validated, and answered by the same endpoint. Only here the body is read first, since it says what
 * is called; it is no larger than any other body, and nothing is done about it before the token is known.
 */
export function serveTools(server: ServerDependencies, endpoints: Endpoints) {
  const tools = buildTools();
  const speak = buildProtocol(tools);
  const runTool = buildToolRunner(server, endpoints);
  const isAllowed = allowsOrigin(server.config);
  const refuse = refuseInJsonRpc(server);

  /** Answers a message. What could not be read is refused when everything else that may refuse it has not. */
  async function answer(request: FastifyRequest, reply: FastifyReply, unreadable?: Error): Promise<ProtocolAnswer> {
    if (!isAllowed(request.headers.origin)) {
      await chargeAddress(server, request, reply);
      throw new DomainError('origin_not_allowed');
    }
    const message = isMessage(request.body) ? request.body : undefined;
    const call = message && callIn(message, tools);
    const metadata = call?.tool.metadata;
    request.toolName = metadata?.tool.name ?? null;
    const principal = await authenticate(server, request, reply, {
      bucket: metadata?.auth === 'board' ? metadata.bucket : undefined,
      idempotency: call?.idempotency,
      acceptsOauth: true,
    });
    if (!call) authorize(server, request, principal, useTools.metadata, {});
    if (unreadable) throw unreadable;
    refuseUndeclaredQuery(useTools, request.query);
    if (!message) throw new DomainError('invalid_message');
    return speak({
      message,
      headers: request.headers,
      runTool: call && (() => runTool(call, principal, request, reply)),
    });
  }

  const begun = new WeakSet<FastifyRequest>();

  async function handle(request: FastifyRequest, reply: FastifyReply, unreadable?: Error) {
    // What fails when the answer is under way must not have the request charged a second time.
    if (begun.has(request)) return refuse(unreadable, request, reply);
    begun.add(request);
    try {
      const spoken = await answer(request, reply, unreadable);
      const { status, contentType, body } = spoken;
      reply.status(status);
      if (status < 400) return contentType ? reply.type(contentType).send(body) : reply.send();
      const refusal = keyedErrorOf(spoken);
      request.errorKey = refusal.error.key;
      return reply.send(refusal);
    } catch (error) {
      return refuse(error, request, reply);
    }
  }

  return async (app: FastifyInstance) => {
    app.route({
      method: useTools.method,
      url: useTools.path,
      config: { tsRestRoute: useTools },
      handler: (request, reply) => handle(request, reply),
      // The handler answers its own errors: these are of the reading of the body, or of the sending of the answer.
      errorHandler: (error, request, reply) => handle(request, reply, error),
    });
  };
}

/**
 * Whether a web page of an origin may use the tools. Only browsers send an origin. The check stops DNS rebinding: a page
 * whose own name resolves to a server inside the network cannot use the tools there.
 */
export function allowsOrigin(config: Pick<Config, 'BASE_URL' | 'CORS_ORIGINS'>) {
  const allowed = [issuerOf(config), ...config.CORS_ORIGINS];
  return (origin: string | undefined): boolean =>
    origin === undefined || allowed.includes(origin) || allowed.includes('*');
}

/** Answers an error of the API in the form of JSON-RPC, with the status that it always has. */
function refuseInJsonRpc({ config, reporter }: ServerDependencies) {
  const note = noteErrors(reporter);
  const challenge = `Bearer resource_metadata="${resourceMetadataUrlOf(config)}", scope="mcp"`;
  return (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const refusal = note(error, request, reply);
    if (refusal.key === 'unauthorized') {
      const hasToken = request.headers.authorization !== undefined;
      reply.header('WWW-Authenticate', hasToken ? `${challenge}, error="invalid_token"` : challenge);
    }
    const retryAfter = reply.getHeader('Retry-After');
    return reply.status(errors[refusal.key].status).send(toJsonRpcError(refusal, request.body, retryAfter));
  };
}

/** The call of a tool in a message; undefined for everything else, which needs no operation and charges no bucket. */
function callIn({ jsonrpc, id, method, params }: Message, tools: ReadonlyMap<string, Tool>): ToolCall | undefined {
  if (jsonrpc !== '2.0' || method !== 'tools/call' || !isId(id) || !isObject(params)) return undefined;
  const { name, arguments: given = {}, _meta: meta = {} } = params;
  const tool = typeof name === 'string' ? tools.get(name) : undefined;
  return tool && isObject(given) && isObject(meta) ? readCall(tool, given, meta) : undefined;
}
