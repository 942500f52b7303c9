import type { ServerDependencies } from '../../dependencies.ts';
import { joinAccount, readStanding } from '../../domain/members/join-account.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { requestSignInLink } from '../../domain/sign-in/sign-in-links.ts';
import { t } from '../../text/catalogue.ts';
import type { Problem } from '../shell/form.ts';
import { Refusal } from '../shell/refusal.ts';
import type { Route } from '../shell/visit.ts';
import { buildThrottle } from '../sign-in/throttle.ts';
import { type BoardVisit, boardOf, pageOfForm } from './opened-board.ts';

/**
 * Makes the signed-in person a member of the board's account, if people with the person's e-mail address may join the
 * account. A person with an unconfirmed address first gets a mail with a sign-in link, which confirms the address. The
 * forms are on the board and on the pages of its ideas, and the browser returns there.
 */
export function joinRoutes(server: ServerDependencies): Route<AccountOfUser | undefined>[] {
  const { database, audit } = server;
  const throttle = buildThrottle(server);
  return ['/b/:slug/join', '/b/:slug/ideas/:id/join'].map(path => ({
    path,
    // A refused form leaves the browser on this path, so a person may open the path again with GET.
    show: ({ request }) => pageOfForm(request),
    run: join,
    again: refuse,
  }));

  async function join(visit: BoardVisit) {
    const { slug, read } = boardOf(visit.request);
    const next = pageOfForm(visit.request);
    const user = { accountId: read.actor.accountId, userId: visit.user.id };
    if ((await readStanding(database, user)) === 'must_confirm') {
      await mailLink(visit, { board: slug, next });
      return `${next}?notice=confirm`;
    }
    await visit.administer(admin => joinAccount(admin, user));
    return next;
  }

  async function mailLink({ request, reply, user }: BoardVisit, { board, next }: { board: string; next: string }) {
    await throttle.chargeSignInLink(request, reply, user.email);
    await requestSignInLink(database, { email: user.email, next, board });
    audit.record('sign_in.link_requested', { request_id: request.id, ip: request.ip, user_id: user.id });
  }

  function refuse(_visit: BoardVisit, { status, message }: Problem): never {
    throw new Refusal(status, t('shell.refusal.conflict'), `${message}.`);
  }
}
