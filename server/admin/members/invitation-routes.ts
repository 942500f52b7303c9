import type { ServerDependencies } from '../../dependencies.ts';
import { AdministrationError } from '../../domain/administration.ts';
import { invitationDays, inviteMember } from '../../domain/invitations/invite-member.ts';
import { invitationUrl } from '../../domain/invitations/mailed-link.ts';
import {
  type InvitationView,
  listInvitations,
  requireInvitation,
  revokeInvitation,
} from '../../domain/invitations/open-invitations.ts';
import { mayManage } from '../../domain/members/authority.ts';
import { cutRows } from '../../domain/pagination.ts';
import { newFormId, type Problem, requireFirst } from '../../pages/shell/form.ts';
import { shownAddress, shownName, showTime } from '../../pages/shell/show.ts';
import type { Question, Route, Visit } from '../../pages/shell/visit.ts';
import { buildThrottle } from '../../pages/sign-in/throttle.ts';
import { t, textKeysIn } from '../../text/catalogue.ts';
import { presentRole, roleOf, roleOptions } from './present-role.ts';

const invitationsPerPage = 25;

const listPath = '/admin/members/invitations';

const notices = textKeysIn('members.invitations.notices');

export function invitationRoutes(server: ServerDependencies): Route[] {
  const { config } = server;
  const throttle = buildThrottle(server);
  const isMailed = config.SMTP_URL !== undefined;

  return [
    { path: listPath, show: showList, run: invite },
    { path: `${listPath}/:id/revoke`, ask: askToRevoke, run: revoke },
  ];

  /**
   * Without a mail server, the answer to the POST shows the invitation link. The link is not stored, so a redirect
   * could not show it.
   */
  async function invite(visit: Visit) {
    const accountId = visit.account.id;
    const email = visit.field('email');
    const invited = { userId: visit.user.id, accountId, email };
    const charged = await throttle.chargeInvitation(visit.request, visit.reply, invited);
    try {
      const role = roleOf(visit.field('role'));
      if (!role) throw new AdministrationError('invalid', t('members.role.unknown'));
      const invitation = await visit.administer(async admin => {
        await requireFirst(admin, visit.request.body);
        return inviteMember(admin, { accountId, email, role }, { isMailed });
      });
      if (invitation.token === undefined) return visit.path(listPath, { notice: 'invited' });
      const data = {
        email: shownAddress(invitation.email),
        role: t(`members.as_role.${role}`),
        url: invitationUrl(config, invitation.token),
        expires: showTime(invitation.expiresAt),
      };
      return visit.page('members/invitation-link', t('members.link.title'), data, { status: 201 });
    } catch (error) {
      // A refused invitation does not count against the rate limit.
      await charged.giveBack();
      throw error;
    }
  }

  async function showList(visit: Visit, problem?: Problem) {
    const { account } = visit;
    const beforeId = visit.number('before');
    const found = await visit.administer(admin =>
      listInvitations(admin, account.id, { beforeId, limit: invitationsPerPage + 1 }),
    );
    const { rows, hasMore } = cutRows(found, invitationsPerPage);
    const data = {
      invitations: rows.map(invitation => present(visit, invitation)),
      ...visit.pageLinks(listPath, 'before', hasMore && rows.at(-1)?.id),
      isMailed,
      days: invitationDays,
      formId: newFormId(),
      email: visit.field('email'),
      roles: roleOptions(account.role, problem ? visit.field('role') : 'member'),
    };
    return visit.page('members/invitations', t('members.invitations.title'), data, { notices, problem });
  }
}

async function askToRevoke(visit: Visit): Promise<Question> {
  const { email, role } = await visit.administer(admin => requireInvitation(admin, visit.account.id, visit.id()));
  return {
    heading: t('members.invitations.revoke.heading_html', { name: shownAddress(email) }),
    explanation: t('members.invitations.revoke.explanation', { role: t(`members.as_role.${role}`) }),
    button: t('members.invitations.revoke.button'),
    back: { label: t('members.invitations.revoke.keep'), href: visit.path(listPath) },
  };
}

async function revoke(visit: Visit) {
  await visit.administer(admin => revokeInvitation(admin, visit.account.id, visit.id()));
  return visit.path(listPath, { notice: 'revoked' });
}

function present(visit: Visit, { id, email, role, inviter, delivery, ...invitation }: InvitationView) {
  const { iso, text } = showTime(new Date(invitation.created_at));
  const expires = showTime(new Date(invitation.expires_at));
  return {
    id,
    formId: newFormId(),
    // The unchanged e-mail address, for the form that sends the invitation again. `shownEmail` is the same address as
    // text for people.
    email,
    shownEmail: shownAddress(email),
    role: { ...presentRole(role), value: role },
    invited:
      inviter === null
        ? t('members.invitations.by_operator_html', { iso, text })
        : t('members.invitations.by_html', { inviter: shownName(inviter), iso, text }),
    delivery: t(`members.invitations.deliveries.${delivery}_html`, { ...expires }),
    // An admin cannot create or revoke an invitation to a higher role than their own.
    revokePath: mayManage(visit.account.role, role) ? visit.path(`${listPath}/${id}/revoke`) : undefined,
  };
}
