import type { FastifyInstance } from 'fastify';
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
import { asRole } from '../../entities/membership.ts';
import { definePage } from '../../pages/shell/page.ts';
import { FormProblem, type Problem } from '../shell/form.ts';
import { requireAdminAccount } from '../shell/session.ts';
import { shownAddress, shownName, showTime } from '../shell/show.ts';
import { pageLinks, serveRoutes, type Visit } from '../shell/visit.ts';
import { buildThrottle, describeWait } from '../sign-in/throttle.ts';
import { choicesOf, presentRole, roleOf } from './present-role.ts';

const listPage = definePage<object>('admin/members/invitations');
const linkPage = definePage<object>('admin/members/invitation-link', { hasCopyButtons: true });

const invitationsPerPage = 25;

const listPath = '/admin/members/invitations';

const notices = {
  invited: 'The invitation is on its way.',
  revoked: 'The invitation is revoked: its link works no more.',
};

/** Invitations to an account, for its owners and admins. */
export function serveInvitationPages(app: FastifyInstance, server: ServerDependencies) {
  const { config } = server;
  const throttle = buildThrottle(server);
  const isMailed = config.SMTP_URL !== undefined;

  serveRoutes(app, server, requireAdminAccount, [
    { path: listPath, show: showList, run: invite },
    {
      path: `${listPath}/:id/revoke`,
      ask: async visit => {
        const { account } = visit;
        const { email, role } = await visit.administer(admin => requireInvitation(admin, account.id, visit.id()));
        return {
          title: 'Revoke an invitation',
          verb: 'Revoke the invitation of',
          name: shownAddress(email),
          explanation: `They were invited as ${asRole[role]}. The link that they have works no more then.`,
          button: 'Revoke the invitation',
          isDangerous: true,
          back: { label: 'Keep it', href: visit.path(listPath) },
        };
      },
      run: async visit => {
        await visit.administer(admin => revokeInvitation(admin, visit.account.id, visit.id()));
        return visit.path(listPath, { notice: 'revoked' });
      },
    },
  ]);

  /** Without mail, the page with the link answers the POST itself, as for the plaintext of a token: nothing stores it. */
  async function invite(visit: Visit) {
    const accountId = visit.account.id;
    const email = visit.field('email');
    const invited = { userId: visit.user.id, accountId, email };
    const charged = await throttle.chargeInvitation(visit.request, visit.reply, invited);
    if ('retrySeconds' in charged) {
      throw new FormProblem(429, `There were too many invitations. Try again ${describeWait(charged.retrySeconds)}`);
    }
    try {
      const role = roleOf(visit.field('role'));
      if (!role) throw new AdministrationError('invalid', 'Choose a role');
      const invitation = await visit.administer(admin => inviteMember(admin, { accountId, email, role }, { isMailed }));
      if (invitation.token === undefined) return visit.path(listPath, { notice: 'invited' });
      const data = {
        email: shownAddress(invitation.email),
        role: asRole[role],
        url: invitationUrl(config, invitation.token),
        expires: showTime(invitation.expiresAt),
        listPath: visit.path(listPath),
      };
      return visit.page(linkPage, 'The link of the invitation', data, { status: 201 });
    } catch (error) {
      // A refused invitation does not count against the limit.
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
    const invitations = found.slice(0, invitationsPerPage);
    const last = found.length > invitationsPerPage ? invitations.at(-1) : undefined;
    const data = {
      accountName: shownName(account.name),
      invitations: invitations.map(invitation => present(visit, invitation)),
      ...pageLinks(parameters => visit.path(listPath, parameters), {
        first: beforeId !== undefined && 'First page',
        next: last && ['More invitations', { before: String(last.id) }],
      }),
      invitePath: visit.path(listPath),
      membersPath: visit.path('/admin/members'),
      isMailed,
      days: invitationDays,
      email: visit.field('email'),
      roles: choicesOf(account.role, problem ? visit.field('role') : 'member'),
    };
    return visit.page(listPage, 'Invitations', data, { notices, problem });
  }
}

const deliveries: Record<InvitationView['delivery'], string> = {
  by_hand: 'To be handed over',
  waiting: 'About to be mailed',
  mailed: 'Mailed',
  refused: 'Refused by the mail server, so the address may be wrong',
};

function present(visit: Visit, { id, email, role, inviter, delivery, ...invitation }: InvitationView) {
  return {
    id,
    // As it was typed, to be sent again.
    email,
    shownEmail: shownAddress(email),
    role: { ...presentRole(role), value: role },
    inviter: inviter === null ? 'the operator' : shownName(inviter),
    delivery: deliveries[delivery],
    created: showTime(new Date(invitation.created_at)),
    expires: showTime(new Date(invitation.expires_at)),
    // An admin cannot make or revoke an invitation of a higher role.
    revokePath: mayManage(visit.account.role, role) ? visit.path(`${listPath}/${id}/revoke`) : undefined,
  };
}
