import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { errors } from '../../contract/errors.ts';
import { type Grant, grants } from '../../contract/grants.ts';
import { useTools } from '../../contract/tools.ts';
import type { Config } from '../config.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { DomainError } from '../domain/domain-error.ts';
import { authorize, usableGrant, withoutWriting } from '../http/admit.ts';
import { authenticate, chargeAddress } from '../http/authenticate.ts';
import type { UsageCounter } from '../http/count-usage.ts';
import { noteErrors } from '../http/error-handler.ts';
import type { Principal } from '../http/find-tokens.ts';
import { issuerOf, resourceMetadataUrlOf } from '../http/public-addresses.ts';
import { type Endpoints, refuseUndeclaredQuery } from '../http/ts-rest.ts';
import { instructionsFor, serverInfo } from './introduction.ts';
import { toJsonRpcError } from './json-rpc-error.ts';
import { isId, isMessage, isObject, type Message, type ProtocolAnswer, type ProtocolRequest } from './message.ts';
import { eraOfPlainCall, writePlainResult } from './plain-call.ts';
import { buildToolRunner } from './run-tool.ts';
import { readCall, type ToolCall } from './tool-call.ts';
import { definitionsFor, tools } from './tools.ts';

/**
 * Serves POST /api/v1/mcp. A tool call takes the same steps as a REST request: authentication and rate limits in one
 * round trip, authorization, validation, and the endpoint. Only the order differs: the server reads the body first,
 * because the body names the tool. The body has the usual size limit. Before the server authenticates the token, it
 * only parses and validates the body.
 */
export function serveTools(server: ServerDependencies, endpoints: Endpoints, usage: UsageCounter) {
  const runTool = buildToolRunner(server, endpoints, usage);
  const isAllowed = allowsOrigin(server.config);
  const refuse = refuseInJsonRpc(server);

  /** Answers one message. There are no sessions, so any server can answer any message. */
  async function answerMessage(
    protocolRequest: ProtocolRequest,
    { principal, isReadOnly }: { principal: Principal; isReadOnly: boolean },
  ): Promise<ProtocolAnswer> {
    const { message, runTool: run } = protocolRequest;
    const era = run && eraOfPlainCall(protocolRequest);
    if (era) {
      const body = writePlainResult(await run(), message.id, era, serverInfo);
      return { status: 200, contentType: 'application/json', body };
    }
    // Loads the SDK on demand, because it takes 13 MB of memory and a server without MCP clients does not need it.
    const { answerWithSdk } = await import('./answer-with-sdk.ts');
    // A blocked issuer may only read, so the list leaves out the tools that need a capability.
    const capabilities = principal.issuer.isBlocked ? [] : principal.capabilities;
    const definitions = definitionsFor(highestGrant(principal), capabilities);
    const offer = { instructions: instructionsFor({ isReadOnly }), definitions };
    return answerWithSdk(offer, protocolRequest);
  }

  /**
   * Answers a request. If the body is unreadable, the server checks the origin, the token and the plan before it
   * reports the unreadable body.
   */
  async function answerRequest(
    request: FastifyRequest,
    reply: FastifyReply,
    unreadable?: Error,
  ): Promise<ProtocolAnswer> {
    if (!isAllowed(request.headers.origin)) {
      await chargeAddress(server, request, reply);
      throw new DomainError('origin_not_allowed');
    }
    const message = isMessage(request.body) ? request.body : undefined;
    const { board, readonly } = request.query as { board?: unknown; readonly?: unknown };
    const call = message && callIn(message, board);
    const metadata = call?.tool.metadata;
    request.toolName = metadata?.tool.name ?? null;
    const isReadOnly = readonly === 'true';
    const authenticated = await authenticate(server, request, reply, {
      bucket: metadata?.auth === 'board' ? metadata.bucket : undefined,
      idempotency: call?.idempotency,
      acceptsOauth: true,
    });
    const principal = isReadOnly ? withoutWriting(authenticated) : authenticated;
    if (!call) authorize(server, request, principal, useTools.metadata, {});
    if (unreadable) throw unreadable;
    refuseUndeclaredQuery(useTools, request.query);
    if (!message) throw new DomainError('invalid_message');
    const protocolRequest = {
      message,
      headers: request.headers,
      runTool: call && (() => runTool(call, principal, request, reply)),
    };
    return answerMessage(protocolRequest, { principal, isReadOnly });
  }

  const handled = new WeakSet<FastifyRequest>();

  async function handle(request: FastifyRequest, reply: FastifyReply, unreadable?: Error) {
    // An answer can fail while the server sends it. In this case, the request must not count against the rate limit a
    // second time.
    if (handled.has(request)) return refuse(unreadable, request, reply);
    handled.add(request);
    try {
      const { status, contentType, body, refusal } = await answerRequest(request, reply, unreadable);
      reply.status(status);
      if (refusal) {
        request.errorKey = refusal.error.data.key;
        return reply.send(refusal);
      }
      return contentType ? reply.type(contentType).send(body) : reply.send();
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
      // The handler itself answers errors of tool calls. This function handles only errors that occur while the server
      // reads the body or sends the answer.
      errorHandler: (error, request, reply) => handle(request, reply, error),
    });
  };
}

/** Returns the highest grant that the principal can use now on at least one board. */
function highestGrant(principal: Principal): Grant {
  const usable = principal.boards.map(board => usableGrant(principal, board));
  return grants.findLast(grant => usable.includes(grant)) ?? 'read';
}

/**
 * Returns a function that checks whether web pages of an origin may use the tools. Browsers send an Origin header, and
 * other MCP clients usually send none. The check prevents DNS rebinding: a page could resolve its own host name to a
 * server in the private network.
 */
export function allowsOrigin(config: Pick<Config, 'BASE_URL' | 'CORS_ORIGINS'>) {
  const allowed = [issuerOf(config), ...config.CORS_ORIGINS];
  return (origin: string | undefined): boolean =>
    origin === undefined || allowed.includes(origin) || allowed.includes('*');
}

function refuseInJsonRpc({ config, reporter }: ServerDependencies) {
  const note = noteErrors(reporter);
  const challenge = `Bearer resource_metadata="${resourceMetadataUrlOf(config)}", scope="mcp"`;
  return (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const refusal = note(error, request, reply);
    // The server has refused the coding of the body before it refuses the token or the plan.
    if (refusal.key !== 'unsupported_media_type') reply.removeHeader('Accept-Encoding');
    if (refusal.key === 'unauthorized') {
      const hasToken = request.headers.authorization !== undefined;
      reply.header('WWW-Authenticate', hasToken ? `${challenge}, error="invalid_token"` : challenge);
    }
    const retryAfter = reply.getHeader('Retry-After');
    return reply.status(errors[refusal.key].status).send(toJsonRpcError(refusal, request.body, retryAfter));
  };
}

/**
 * Returns the tool call in a JSON-RPC message. Returns undefined for any other message: such a message runs no
 * operation and does not count against the token's rate limits. A call without the argument `board` gets the board of
 * the address.
 */
function callIn({ jsonrpc, id, method, params }: Message, board: unknown): ToolCall | undefined {
  if (jsonrpc !== '2.0' || method !== 'tools/call' || !isId(id) || !isObject(params)) return undefined;
  const { name, arguments: given = {}, _meta: meta = {} } = params;
  const tool = typeof name === 'string' ? tools.get(name) : undefined;
  if (!tool || !isObject(given) || !isObject(meta)) return undefined;
  const onBoard = typeof board === 'string' && tool.places.has('board') ? { board } : {};
  return readCall(tool, { ...onBoard, ...given }, meta);
}
