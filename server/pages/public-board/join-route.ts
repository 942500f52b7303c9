import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { openPublicBoard } from '../../domain/boards/read-board.ts';
import { joinAccount, readStanding } from '../../domain/members/join-account.ts';
import { requestSignInLink } from '../../domain/sign-in/sign-in-links.ts';
import { fieldOf, type Problem } from '../shell/form.ts';
import { Refusal } from '../shell/refusal.ts';
import type { Route, Visit } from '../shell/visit.ts';
import { signInPath } from '../sign-in/next-path.ts';
import { buildThrottle } from '../sign-in/throttle.ts';
import { boardPath } from './present-idea.ts';

/** An onRequest hook that redirects visitors without a session to the sign-in page, and back to the board. */
export async function requireSessionToJoin(request: FastifyRequest, reply: FastifyReply) {
  if (request.browserSession) return;
  return reply.redirect(signInPath(boardPath(fieldOf(request.params, 'slug')), { notice: 'expired' }), 303);
}

/**
 * Makes the signed-in person a member of the board's account, if the account lets their address join. An unconfirmed
 * address first gets a mail with a sign-in link, which confirms the address.
 */
export function joinRoute(server: ServerDependencies): Route<undefined> {
  const { database, audit } = server;
  const throttle = buildThrottle(server);
  return { path: '/b/:slug/join', run: join, again: refuse };

  async function join(visit: Visit<undefined>) {
    const slug = visit.word('slug');
    const { actor } = await openPublicBoard(database, slug);
    const user = { accountId: actor.accountId, userId: visit.user.id };
    if ((await readStanding(database, user)) === 'must_confirm') {
      await mailLink(visit, slug);
      return `${boardPath(slug)}?notice=confirm`;
    }
    await visit.administer(admin => joinAccount(admin, user));
    return boardPath(slug);
  }

  async function mailLink({ request, reply, user }: Visit<undefined>, board: string) {
    await throttle.chargeSignInLink(request, reply, user.email);
    await requestSignInLink(database, { email: user.email, next: boardPath(board), board });
    audit.record('sign_in.link_requested', { request_id: request.id, ip: request.ip, user_id: user.id });
  }

  function refuse(visit: Visit<undefined>, { status, message }: Problem): never {
    const back = { label: 'Back to the board', href: boardPath(visit.word('slug')) };
    throw new Refusal(status, 'This is not possible now', `${message}.`, back);
  }
}
