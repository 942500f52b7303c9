import { administrationIn } from '../../domain/administration.ts';
import { invitationDays } from '../../domain/invitations/invite-member.ts';
import { invitationUrl, makeInvitationLink, noteDelivery } from '../../domain/invitations/mailed-link.ts';
import type { TaskDependencies } from '../dependencies.ts';
import { writeInvitationMail } from './invitation-mail.ts';
import { mailOne } from './mail-one.ts';

/**
 * The task that mails the link of an invitation. The link is made here, anew at each try: it is in the mail, its hash in
 * the database, and nowhere else. What was mailed is mailed no more: the link that somebody has goes on working.
 */
export function mailInvitation(deps: TaskDependencies) {
  const { config, database, clock, audit } = deps;
  const kind = { name: 'invitation', plural: 'invitations' };
  return mailOne<{ account_id: number; invitation_id: number }>(deps, kind, async payload => {
    const invitation = { accountId: payload.account_id, invitationId: payload.invitation_id };
    const link = await makeInvitationLink(database, invitation, clock.now());
    // It was accepted or revoked, or nobody may make it any more.
    if (!link) return undefined;
    const { email: to, tokenHash, token } = link;
    return {
      ...writeInvitationMail({ ...link, url: invitationUrl(config, token), days: invitationDays }),
      to,
      settle: outcome =>
        database.transaction(transaction => {
          const admin = administrationIn(transaction, { audit, actor: { by: 'server' }, now: clock.now() });
          return noteDelivery(admin, { ...invitation, tokenHash }, outcome === 'sent' ? 'mailed' : 'refused');
        }),
    };
  });
}
