import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Client, Context, Provider } from 'oidc-provider';
import type { ServerDependencies } from '../dependencies.ts';
import { DomainError } from '../domain/domain-error.ts';
import { type Redemption, RedemptionError, type RedemptionRefusal, redeem } from '../domain/oauth/redeem.ts';
import { adjustAuthorization, canBeKept } from './adjust-authorization.ts';
import { shownTarget } from './client-metadata.ts';
import { routes } from './metadata.ts';

/** An error as OAuth writes it (RFC 6749, section 5.2). */
export interface OauthErrorBody {
  error: string;
  error_description?: string;
}

/** What came of a request. The headers are on the reply. */
export type Outcome = { status: number; body: unknown } | { status: number; refusal: OauthErrorBody };

interface Exchange {
  request: FastifyRequest;
  reply: FastifyReply;
  /** What is kept when the answer is known. */
  redemption: Redemption;
  status?: number;
  body?: unknown;
  /** What a person has to be told who cannot be sent back to their client. */
  refusal?: OauthErrorBody;
  /** A failure of ours. */
  failure?: unknown;
}

const exchanges = new WeakMap<IncomingMessage, Exchange>();

/**
 * Has the provider answer a request, whose body nobody has read, and leaves the sending to the reply: so the headers, the
 * errors, the log and the figures are those of every other answer.
 */
export async function exchangeWith(provider: Provider, request: FastifyRequest, reply: FastifyReply): Promise<Outcome> {
  // The provider would warn about a body that it cannot read.
  if (request.raw.destroyed && !request.raw.complete) throw new DomainError('bad_request');
  const exchange: Exchange = { request, reply, redemption: { redeemed: [], issued: [] } };
  exchanges.set(request.raw, exchange);
  await provider.callback()(request.raw, reply.raw);
  takeHeaders(reply);
  if (exchange.failure !== undefined) throw failureOf(exchange.failure);
  const { status = 500, body, refusal } = exchange;
  return refusal ? { status, refusal } : { status, body };
}

/** PostgreSQL's class of transactions that it rolled back, such as to break a deadlock. */
const rolledBack = /^40[0-9A-Z]{3}$/;

/** What lost against other transactions, although it was tried again, was not done: whoever asks once more is answered. */
function failureOf(failure: unknown): unknown {
  const isRolledBack = rolledBack.test(String((failure as { code?: unknown }).code));
  return isRolledBack ? Object.assign(new DomainError('service_unavailable'), { cause: failure }) : failure;
}

/** What is passed on of the provider's headers: all else is the server's own affair. */
const passedOn = new Set(['location', 'set-cookie', 'www-authenticate']);

function takeHeaders(reply: FastifyReply) {
  for (const [name, value] of Object.entries(reply.raw.getHeaders())) {
    reply.raw.removeHeader(name);
    if (passedOn.has(name) && value !== undefined) reply.header(name, value);
  }
}

export function noteRefusal(request: IncomingMessage, body: OauthErrorBody) {
  exchangeOf(request).refusal = body;
}

/** Who sent a request, for the audit log. */
export function clientOf(raw: IncomingMessage): { request_id: string; ip: string } {
  const { id, ip } = exchangeOf(raw).request;
  return { request_id: id, ip };
}

export function exchangeOf(raw: IncomingMessage): Exchange {
  const exchange = exchanges.get(raw);
  if (!exchange) throw new Error('The request is not one that the provider answers');
  return exchange;
}

/** What the request changes that the provider answers just now, where it is one for tokens. */
export function redemptionIn(ctx: Context | undefined): Redemption | undefined {
  return ctx?.oidc.route === 'token' ? exchangeOf(ctx.req).redemption : undefined;
}

/** Whether the request for tokens names another resource than the one that a refresh token is for. */
export function asksForAnother(ctx: Context | undefined, resource: unknown): boolean {
  const asked = ctx?.oidc.params?.resource;
  return asked !== undefined && asked !== resource;
}

interface Connection {
  server: Pick<ServerDependencies, 'audit' | 'clock' | 'database'>;
  issuer: string;
  /** Ends a grant because a refresh token was reused. */
  endGrant(ctx: Context, grantId: string): Promise<void>;
  /** Of the provider's own sessions, which are not kept. */
  sessionCookie: string;
}

/** Connects the provider with the exchanges: what it is told of a request, and what it tells of it. */
export function connectProvider(provider: Provider, connection: Connection): void {
  const { server, issuer, sessionCookie } = connection;
  provider.use(async (ctx, next) => {
    const exchange = exchangeOf(ctx.req);
    ctx.respond = false;
    try {
      if (!canBeKept(ctx)) throw new DomainError('validation_failed');
      if (ctx.path === routes.authorization) adjustAuthorization(ctx);
      await next();
      exchange.status = ctx.status;
      exchange.body = ctx.body;
      if (ctx.status < 400) await keepRedemption(connection, ctx);
      else answerWithoutDocument(exchange);
    } catch (error) {
      exchange.failure = error;
    }
    dropCookie(ctx, sessionCookie);
  });
  provider.on('server_error', (ctx: Context, error: unknown) => {
    exchangeOf(ctx.req).failure = error;
  });
  provider.on('registration_create.success', (ctx: Context, client: Client) => {
    const { host } = shownTarget(client.redirectUris[0] ?? issuer);
    server.audit.record('oauth.client_registered', { ...clientOf(ctx.req), client_id: client.clientId, target: host });
  });
}

/** Soon enough for a host that is started anew. */
const documentRetrySeconds = 30;

/**
 * That a client's document cannot be had just now says nothing of the client, who takes an unknown client for the end of its
 * tokens, and would send its user here again. Of what the provider tells, only the words are different.
 */
function answerWithoutDocument(exchange: Exchange) {
  const { error_description: description } = (exchange.body ?? {}) as Partial<OauthErrorBody>;
  if (description !== 'client_id metadata document fetch failed') return;
  exchange.status = 503;
  exchange.body = { error: 'temporarily_unavailable', error_description: description };
  exchange.reply.header('Retry-After', documentRetrySeconds);
}

/** Soon enough for a client that sends many refreshes at once: another of them has brought it a token. */
const siblingRetrySeconds = 1;

/** Redeems and issues what the provider found in order, unless a parallel request or a reuse forbids it. */
async function keepRedemption({ server: { clock, database }, endGrant }: Connection, ctx: Context) {
  const exchange = exchangeOf(ctx.req);
  const { redemption } = exchange;
  const [issued] = redemption.issued;
  if (!issued) return;
  try {
    await database.transaction(transaction => redeem(transaction, redemption, clock.now()));
  } catch (error) {
    if (!(error instanceof RedemptionError)) throw error;
    if (error.reason === 'reused') await endGrant(ctx, issued.grantId);
    refuseRedemption(exchange, error.reason);
  }
}

function refuseRedemption(exchange: Exchange, reason: RedemptionRefusal) {
  if (reason === 'too_often') {
    exchange.status = 429;
    exchange.body = {
      error: 'temporarily_unavailable',
      error_description: 'The refresh token was redeemed too often. Use the tokens that it has issued.',
    };
    exchange.reply.header('Retry-After', siblingRetrySeconds);
    return;
  }
  exchange.status = 400;
  // The provider's words for any other code or token, so that the answer reveals nothing.
  exchange.body = { error: 'invalid_grant', error_description: 'grant request is invalid' };
}

/**
 * What a request says of where it was sent, in place of what it says itself: the provider makes addresses and secure
 * cookies from it. Its answers are JSON, and who may read them is not its to decide.
 */
export function pinToIssuer({ raw }: FastifyRequest, issuer: string): void {
  const { host, protocol } = new URL(issuer);
  raw.headers.host = host;
  raw.headers['x-forwarded-proto'] = protocol.slice(0, -1);
  raw.headers.accept = 'application/json';
  delete raw.headers['x-forwarded-host'];
  delete raw.headers.origin;
  // A request may name a whole address instead of a path.
  raw.url = raw.url?.replace(/^https?:\/\/[^/?#]*/i, '') ?? '/';
}

function dropCookie({ res }: Context, name: string) {
  const cookies = res.getHeader('set-cookie');
  if (!Array.isArray(cookies)) return;
  const others = cookies.filter(cookie => !cookie.startsWith(`${name}=`) && !cookie.startsWith(`${name}.sig=`));
  if (others.length > 0) res.setHeader('set-cookie', others);
  else res.removeHeader('set-cookie');
}
