import { readStanding } from '../../domain/members/join-account.ts';
import { ordinaryUserOf } from '../shell/session.ts';
import { readProviderButtons } from '../sign-in/provider-paths.ts';
import { type BoardVisit, boardOf } from './opened-board.ts';

/**
 * Returns the form to join the board's account, if the signed-in person may join. For a member who must sign in with an
 * identity provider of the account, returns the sign-in buttons. After the form or the sign-in, the browser returns to
 * `next`, which is the path of the board or of an idea.
 */
export async function presentJoin({ request, server }: BoardVisit, next: string) {
  const { database, config } = server;
  const person = ordinaryUserOf(request);
  const { member, read } = boardOf(request);
  if (!person || member) return undefined;
  const user = { accountId: read.actor.accountId, userId: person.id };
  const standing = await readStanding(database, user);
  // A member has signed in without an identity provider of the account, but the account requires one.
  if (standing === 'member') {
    const providers = await readProviderButtons(server, user.accountId);
    return providers.length > 0 ? { providers, next } : undefined;
  }
  const mustConfirm = standing === 'must_confirm';
  if (standing !== 'may_join' && !(mustConfirm && config.SMTP_URL !== undefined)) return undefined;
  return { action: `${next}/join`, mustConfirm };
}
