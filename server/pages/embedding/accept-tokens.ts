import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { administrationIn } from '../../domain/administration.ts';
import { type Embedding, findEmbedding } from '../../domain/embedding/find-embedding.ts';
import { readToken, signInWithToken } from '../../domain/embedding/sign-in-with-token.ts';
import type { TokenProblem } from '../../domain/embedding/verify-token.ts';
import { buildConnectionTokens } from '../../domain/identities/connection-tokens.ts';
import { buildSecretBox } from '../../domain/secret-box.ts';
import { endSession, type SessionTerms } from '../../domain/sign-in/session.ts';
import { canonicalAddress } from '../../domain/users/canonical-address.ts';
import { t } from '../../text/catalogue.ts';
import { boardPath, embeddedPath } from '../boards/opened-board.ts';
import { fieldOf } from '../shell/form.ts';
import { Refusal } from '../shell/refusal.ts';
import { clearSessionCookie, sessionTerms, setSessionCookie } from '../shell/session.ts';
import { buildThrottle } from '../sign-in/throttle.ts';
import { connectionPath, outcomePath, type SignInProblem } from './sign-in-outcome.ts';

/**
 * Serves the sign-in with a signed token of the website that embeds the board. The website sends the token in a form,
 * or in the query of the frame's URL. An empty token ends the session, because it means that nobody is signed in on the
 * website.
 *
 * Returns an onRequest hook for the token in the query. The answer to a token is always a redirect to a URL without the
 * token. So the token is in no Referer header, and a reload does not send it again.
 */
export function acceptTokens(app: FastifyInstance, server: ServerDependencies) {
  const { database, config, clock, audit } = server;
  const secretBox = buildSecretBox(server.appKey);
  const connectionTokens = buildConnectionTokens(server.appKey);
  const throttle = buildThrottle(server);

  app.post('/b/:slug/embed', {
    config: { isForVisitors: true, isFromOtherSites: true },
    handler: async (request, reply) => {
      const embedding = await find(request);
      const { origin } = request.headers;
      if (origin === undefined || !embedding?.origins.includes(origin)) {
        audit.record('form.refused', { request_id: request.id, ip: request.ip, reason: 'origin' });
        const link = { label: t('embedding.open'), href: boardPath(slugOf(request)) };
        throw new Refusal(403, t('embedding.foreign_title'), t('embedding.foreign'), link);
      }
      return reply.redirect(await accept(request, reply, fieldOf(request.body, 'token'), embedding), 303);
    },
  });

  return async (request: FastifyRequest, reply: FastifyReply) => {
    const token = fieldOf(request.query, 'token');
    // Ignores HEAD requests: a program that makes link previews must not use up the token.
    if (request.method !== 'GET' || !Object.hasOwn(request.query as object, 'token')) return;
    const destination = request.headers['sec-fetch-dest'];
    // Accepts the token only in a frame. Otherwise a link on another website could sign the visitor in as somebody
    // else.
    const isFramed = destination === undefined || destination === 'iframe';
    const path = isFramed
      ? await accept(request, reply, token, await find(request))
      : outcomePath(slugOf(request), 'unframed');
    return reply.redirect(path, 303);
  };

  function find(request: FastifyRequest) {
    return findEmbedding(database, { board: slugOf(request), account: fieldOf(request.query, 'account') });
  }

  /** Signs the person in or out. Returns the path of the page that the frame shows next. */
  async function accept(
    request: FastifyRequest,
    reply: FastifyReply,
    token: string,
    embedding: Embedding | undefined,
  ): Promise<string> {
    const terms = sessionTerms(request, config, clock.now());
    const outcome = token === '' ? 'signed_out' : await signIn(request, token, embedding, terms);
    if (typeof outcome === 'object' && 'token' in outcome) {
      setSessionCookie(reply, config, outcome.token, terms.expiresAt);
      return outcomePath(slugOf(request), 'done');
    }
    // Ends the session in the browser, because the refused token may mean that another person uses the browser now. An
    // already used token does not end the session, because the browser may have loaded an old page again.
    if (outcome !== 'used') {
      if (terms.previous) await endSession(database, terms.previous);
      clearSessionCookie(reply, config);
    }
    if (outcome === 'signed_out') return embeddedPath(slugOf(request));
    return typeof outcome === 'string'
      ? outcomePath(slugOf(request), outcome)
      : connectionPath(slugOf(request), outcome.connection);
  }

  async function signIn(
    request: FastifyRequest,
    text: string,
    embedding: Embedding | undefined,
    terms: SessionTerms,
  ): Promise<{ token: string } | { connection: string } | SignInProblem> {
    // A missing board gets the same answer as a token with a wrong signature.
    if (!embedding) return 'signature';
    const { accountId } = embedding;
    const client = { request_id: request.id, ip: request.ip };
    const refuse = (reason: TokenProblem | 'blocked' | 'second_factor' | 'confirm') =>
      audit.record('sign_in.token_refused', { ...client, account_id: accountId, reason });
    const token = await readToken(database, secretBox, text, { accountId, audience: config.BASE_URL, now: terms.now });
    if (typeof token === 'string') {
      refuse(token);
      return token;
    }
    const outcome = await database.transaction(transaction =>
      signInWithToken(
        actor => administrationIn(transaction, { audit, actor, now: terms.now }),
        { ...token, accountId },
        terms,
        throttle.unconfirmedAddresses(request, accountId),
      ),
    );
    if (typeof outcome === 'object' && 'mustConfirm' in outcome) {
      refuse('confirm');
      const { userId, email } = outcome.mustConfirm;
      const { subject } = token.user;
      const connection = { accountId, providerId: null, subject, userId, canonicalEmail: canonicalAddress(email) };
      return { connection: connectionTokens.make(connection, new Date(terms.now.getTime() + connectMs)) };
    }
    if (typeof outcome === 'string' || !('token' in outcome)) {
      const problem = outcome === 'used' ? 'used' : 'challenge' in outcome ? 'second_factor' : 'blocked';
      refuse(problem);
      return problem;
    }
    audit.record('sign_in.succeeded', { ...client, user_id: outcome.userId, method: 'embedding' });
    return outcome;
  }
}

/** The time, in milliseconds, for a person to confirm that they are the existing user with the same e-mail address. */
const connectMs = 30 * 60_000;

function slugOf(request: FastifyRequest): string {
  return fieldOf(request.params, 'slug');
}
