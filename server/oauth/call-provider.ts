import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Client, Context, Provider } from 'oidc-provider';
import type { ServerDependencies } from '../dependencies.ts';
import { DomainError } from '../domain/domain-error.ts';
import { type Redemption, RedemptionError, redeem } from '../domain/oauth/redeem.ts';
import { adjustAuthorization, canBeStored } from './adjust-authorization.ts';
import { shownTarget } from './client-metadata.ts';
import { routes } from './metadata.ts';

/** An error in the format of OAuth (RFC 6749, section 5.2). */
export interface OauthErrorBody {
  error: string;
  error_description?: string;
}

/** The answer of the library oidc-provider. The headers of the answer are already set on the Fastify reply. */
type Outcome = { status: number; body: unknown } | { status: number; refusal: OauthErrorBody };

/** A request that oidc-provider is answering. */
interface ProviderCall {
  request: FastifyRequest;
  reply: FastifyReply;
  /**
   * The code or refresh token that the request redeems, and the tokens that the request issues. The server stores this
   * data after oidc-provider has answered.
   */
  redemption: Redemption;
  status?: number;
  body?: unknown;
  /** An error that the server shows to the user, because the server cannot redirect the user to the client. */
  refusal?: OauthErrorBody;
  failure?: unknown;
}

const calls = new WeakMap<IncomingMessage, ProviderCall>();

/**
 * Lets the library oidc-provider answer a request whose body the server has not read yet. Sends the answer through
 * Fastify's reply, so that it gets the same headers, error handling, log and metrics as all other answers.
 */
export async function callProvider(provider: Provider, request: FastifyRequest, reply: FastifyReply): Promise<Outcome> {
  // Stops if the client has disconnected before the whole body arrived. Otherwise oidc-provider would log a warning
  // about the incomplete body.
  if (request.raw.destroyed && !request.raw.complete) throw new DomainError('bad_request');
  const call: ProviderCall = { request, reply, redemption: { redeemed: [], issued: [] } };
  calls.set(request.raw, call);
  await provider.callback()(request.raw, reply.raw);
  takeHeaders(reply);
  if (call.failure !== undefined) throw failureOf(call.failure);
  const { status = 500, body, refusal } = call;
  return refusal ? { status, refusal } : { status, body };
}

/** PostgreSQL's class of error codes for rollbacks, such as after a deadlock. */
const rolledBack = /^40[0-9A-Z]{3}$/;

/**
 * Returns the error for the client. If PostgreSQL has rolled back the transaction, the error has the HTTP status 503,
 * so that the client retries.
 */
function failureOf(failure: unknown): unknown {
  const isRolledBack = rolledBack.test(String((failure as { code?: unknown }).code));
  return isRolledBack ? Object.assign(new DomainError('service_unavailable'), { cause: failure }) : failure;
}

/** The headers that the client gets from oidc-provider's answer. The server itself sets all other headers. */
const passedOn = new Set(['location', 'set-cookie', 'www-authenticate']);

function takeHeaders(reply: FastifyReply) {
  for (const [name, value] of Object.entries(reply.raw.getHeaders())) {
    reply.raw.removeHeader(name);
    if (passedOn.has(name) && value !== undefined) reply.header(name, value);
  }
}

export function noteRefusal(request: IncomingMessage, body: OauthErrorBody) {
  callOf(request).refusal = body;
}

export function clientOf(raw: IncomingMessage): { request_id: string; ip: string } {
  const { id, ip } = callOf(raw).request;
  return { request_id: id, ip };
}

export function callOf(raw: IncomingMessage): ProviderCall {
  const call = calls.get(raw);
  if (!call) throw new Error('The provider does not answer this request');
  return call;
}

/**
 * Returns the code or refresh token that a token request redeems, and the tokens that the request issues. Returns
 * undefined for other requests.
 */
export function redemptionIn(ctx: Context | undefined): Redemption | undefined {
  return ctx?.oidc.route === 'token' ? callOf(ctx.req).redemption : undefined;
}

/** Whether a token request asks for a resource other than the given resource of the refresh token. */
export function asksForAnother(ctx: Context | undefined, resource: unknown): boolean {
  const asked = ctx?.oidc.params?.resource;
  return asked !== undefined && asked !== resource;
}

interface Connection {
  server: Pick<ServerDependencies, 'audit' | 'clock' | 'database'>;
  issuer: string;
  /** Ends a grant because a refresh token was reused. */
  endGrant(ctx: Context, grantId: string): Promise<void>;
  /**
   * The name of oidc-provider's session cookie. The server never sends this cookie, because it stores no session of
   * oidc-provider.
   */
  sessionCookie: string;
}

/** Adjusts requests before oidc-provider handles them, and receives its answers, errors and events. */
export function connectProvider(provider: Provider, connection: Connection): void {
  const { server, issuer, sessionCookie } = connection;
  provider.use(async (ctx, next) => {
    const call = callOf(ctx.req);
    ctx.respond = false;
    try {
      if (!canBeStored(ctx)) throw new DomainError('validation_failed');
      if (ctx.path === routes.authorization) adjustAuthorization(ctx);
      await next();
      call.status = ctx.status;
      call.body = ctx.body;
      if (ctx.status < 400) await storeRedemption(connection, ctx);
      else reportFailedFetch(call);
    } catch (error) {
      call.failure = error;
    }
    dropCookie(ctx, sessionCookie);
  });
  provider.on('server_error', (ctx: Context, error: unknown) => {
    callOf(ctx.req).failure = error;
  });
  provider.on('registration_create.success', (ctx: Context, client: Client) => {
    const { host } = shownTarget(client.redirectUris[0] ?? issuer);
    server.audit.record('oauth.client_registered', { ...clientOf(ctx.req), client_id: client.clientId, target: host });
  });
}

/**
 * The value of the Retry-After header, in seconds, if the host of a client's metadata document does not answer. The
 * host may be restarting.
 */
const documentRetrySeconds = 30;

/**
 * Answers 503 if the metadata document of a client could not be fetched. Otherwise oidc-provider would answer
 * invalid_client, and the client would discard its tokens. Only the text of error_description distinguishes this error
 * from other errors with invalid_client.
 */
function reportFailedFetch(call: ProviderCall) {
  const { error_description: description } = (call.body ?? {}) as Partial<OauthErrorBody>;
  if (description !== 'client_id metadata document fetch failed') return;
  replaceAnswer(call, 503, 'temporarily_unavailable', description);
  call.reply.header('Retry-After', documentRetrySeconds);
}

function replaceAnswer(call: ProviderCall, status: number, error: string, description: string) {
  call.status = status;
  call.body = { error, error_description: description };
}

/**
 * The value of the Retry-After header, in seconds, if a refresh token was redeemed too often. It is short, because
 * parallel requests of the client have already received new tokens.
 */
const siblingRetrySeconds = 1;

/**
 * Marks the code or refresh token as redeemed and stores the issued tokens, in one transaction. If redeem() refuses the
 * redemption, stores no tokens and sends an error to the client.
 */
async function storeRedemption({ server: { clock, database }, endGrant }: Connection, ctx: Context) {
  const call = callOf(ctx.req);
  const { redemption } = call;
  const [issued] = redemption.issued;
  if (!issued) return;
  try {
    await database.transaction(transaction => redeem(transaction, redemption, clock.now()));
  } catch (error) {
    if (!(error instanceof RedemptionError)) throw error;
    if (error.reason === 'too_often') {
      const description = 'The refresh token was redeemed too often. Use the tokens that it has issued.';
      replaceAnswer(call, 429, 'temporarily_unavailable', description);
      call.reply.header('Retry-After', siblingRetrySeconds);
      return;
    }
    if (error.reason === 'reused') await endGrant(ctx, issued.grantId);
    // This is oidc-provider's own text for every invalid code or token, so the answer does not reveal the reason.
    replaceAnswer(call, 400, 'invalid_grant', 'grant request is invalid');
  }
}

/**
 * Overwrites the headers that influence oidc-provider's URLs and the security of its cookies, so that a client cannot
 * choose them. Makes oidc-provider answer in JSON. Removes the Origin header, because the server handles CORS itself.
 */
export function pinToIssuer({ raw }: FastifyRequest, issuer: string): void {
  const { host, protocol } = new URL(issuer);
  raw.headers.host = host;
  raw.headers['x-forwarded-proto'] = protocol.slice(0, -1);
  raw.headers.accept = 'application/json';
  delete raw.headers['x-forwarded-host'];
  delete raw.headers.origin;
  // Removes the scheme and the host of an absolute URL in the request line, because a client could name another host
  // there.
  raw.url = raw.url?.replace(/^https?:\/\/[^/?#]*/i, '') ?? '/';
}

function dropCookie({ res }: Context, name: string) {
  const cookies = res.getHeader('set-cookie');
  if (!Array.isArray(cookies)) return;
  const others = cookies.filter(cookie => !cookie.startsWith(`${name}=`) && !cookie.startsWith(`${name}.sig=`));
  if (others.length > 0) res.setHeader('set-cookie', others);
  else res.removeHeader('set-cookie');
}
