import type { ServerDependencies } from '../../dependencies.ts';
import { joinAccount, readStanding } from '../../domain/members/join-account.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { requestSignInLink } from '../../domain/sign-in/sign-in-links.ts';
import { t } from '../../text/catalogue.ts';
import type { Problem } from '../shell/form.ts';
import { Refusal } from '../shell/refusal.ts';
import type { Route } from '../shell/visit.ts';
import { buildThrottle } from '../sign-in/throttle.ts';
import { type BoardVisit, boardOf, boardPath } from './opened-board.ts';

/**
 * Makes the signed-in person a member of the board's account, if people with the person's e-mail address may join the
 * account. A person with an unconfirmed address first gets a mail with a sign-in link, which confirms the address.
 */
export function joinRoute(server: ServerDependencies): Route<AccountOfUser | undefined> {
  const { database, audit } = server;
  const throttle = buildThrottle(server);
  // A refused form leaves the browser on this path, so a person may open the path again with GET.
  return { path: '/b/:slug/join', show: visit => boardPath(boardOf(visit.request).slug), run: join, again: refuse };

  async function join(visit: BoardVisit) {
    const { slug, read } = boardOf(visit.request);
    const user = { accountId: read.actor.accountId, userId: visit.user.id };
    if ((await readStanding(database, user)) === 'must_confirm') {
      await mailLink(visit, slug);
      return `${boardPath(slug)}?notice=confirm`;
    }
    await visit.administer(admin => joinAccount(admin, user));
    return boardPath(slug);
  }

  async function mailLink({ request, reply, user }: BoardVisit, board: string) {
    await throttle.chargeSignInLink(request, reply, user.email);
    await requestSignInLink(database, { email: user.email, next: boardPath(board), board });
    audit.record('sign_in.link_requested', { request_id: request.id, ip: request.ip, user_id: user.id });
  }

  function refuse(visit: BoardVisit, { status, message }: Problem): never {
    const back = { label: t('boards.back_to_board'), href: boardPath(visit.word('slug')) };
    throw new Refusal(status, t('shell.refusal.conflict'), `${message}.`, back);
  }
}
