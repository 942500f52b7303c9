import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { AdministrationError } from '../../domain/administration.ts';
import { invitationDays, inviteMember } from '../../domain/invitations/invite-member.ts';
import { type InvitationView, listInvitations, requireInvitation } from '../../domain/invitations/list-invitations.ts';
import { invitationUrl } from '../../domain/invitations/mailed-link.ts';
import { revokeInvitation } from '../../domain/invitations/revoke-invitation.ts';
import { mayManage } from '../../domain/members/may-manage.ts';
import type { AccountOfUser } from '../../domain/sign-in/read-session.ts';
import { asRole } from '../../entities/membership.ts';
import { definePage, type Link, sendPage } from '../../pages/shell/page.ts';
import { fieldOf, idIn, noticeIn, numberIn, problemOf } from '../shell/form.ts';
import { askFor, formTokenOf, frameOf } from '../shell/frame.ts';
import { administer, nameAccount, pathIn, requireAdminAccount, requireSession, sessionOf } from '../shell/session.ts';
import { type ShownTime, shownAddress, shownName, showTime } from '../shell/show.ts';
import { buildThrottle, describeWait } from '../sign-in/throttle.ts';
import { choicesOf, presentRole, type RoleChoice, roleOf, type ShownRole } from './present-role.ts';

interface ShownInvitation {
  id: number;
  /** As it was typed, to be sent again. */
  email: string;
  shownEmail: string;
  role: ShownRole & { value: string };
  inviter: string;
  delivery: string;
  created: ShownTime;
  expires: ShownTime;
  /** Undefined where whoever looks may not make such an invitation. */
  revokePath: string | undefined;
}

interface ListData {
  accountName: string;
  invitations: ShownInvitation[];
  firstPage: Link | undefined;
  nextPage: Link | undefined;
  invitePath: string;
  membersPath: string;
  isMailed: boolean;
  days: number;
  email: string;
  roles: RoleChoice[];
  formToken: string;
  notice?: string | undefined;
  problem?: string | undefined;
}

interface LinkData {
  email: string;
  role: string;
  url: string;
  expires: ShownTime;
  listPath: string;
}

const listPage = definePage<ListData>('admin/members/invitations');
const linkPage = definePage<LinkData>('admin/members/invitation-link', { hasCopyButtons: true });

const invitationsPerPage = 25;

const listPath = '/admin/members/invitations';

/** Inviting people to an account, and taking it back, for its owners and admins. */
export function serveInvitationPages(app: FastifyInstance, server: ServerDependencies) {
  const { config } = server;
  const throttle = buildThrottle(server);
  const isMailed = config.SMTP_URL !== undefined;
  const onRequest = [requireSession, nameAccount];

  app.get(listPath, { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const notices = {
      invited: 'The invitation is on its way.',
      revoked: 'The invitation is revoked: its link works no more.',
    };
    return showList(request, reply, account, { notice: noticeIn(request, notices) });
  });

  // A link that is to be handed over answers the POST itself, as the plaintext of a token does: nothing stores it.
  app.post(listPath, { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const email = fieldOf(request.body, 'email');
    const given = { email, role: fieldOf(request.body, 'role') };
    const userId = sessionOf(request).user.id;
    const charged = await throttle.chargeInvitation(request, reply, { userId, accountId: account.id, email });
    if ('retrySeconds' in charged) {
      const problem = `There were too many invitations. Try again ${describeWait(charged.retrySeconds)}`;
      return showList(request, reply, account, { given, problem }, 429);
    }
    try {
      const role = roleOf(given.role);
      if (!role) throw new AdministrationError('invalid', 'Choose a role');
      const invitation = await administer(server, request, admin =>
        inviteMember(admin, { accountId: account.id, email, role }, { isMailed }),
      );
      if (invitation.token === undefined) {
        return reply.redirect(pathIn(request, account, listPath, { notice: 'invited' }), 303);
      }
      const data: LinkData = {
        email: shownAddress(invitation.email),
        role: asRole[role],
        url: invitationUrl(config, invitation.token),
        expires: showTime(invitation.expiresAt),
        listPath: pathIn(request, account, listPath),
      };
      return sendPage(reply, linkPage(frameOf(request, account, 'The link of the invitation'), data), 201);
    } catch (error) {
      // What nobody was sent costs nothing.
      await charged.giveBack();
      const { status, message: problem } = problemOf(error);
      return showList(request, reply, account, { given, problem }, status);
    }
  });

  app.get(`${listPath}/:id/revoke`, { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const id = idIn(request);
    const invitation = await administer(server, request, admin => requireInvitation(admin, account.id, id));
    return askFor(request, reply, account, {
      title: 'Revoke an invitation',
      verb: 'Revoke the invitation of',
      name: shownAddress(invitation.email),
      explanation: `They were invited as ${asRole[invitation.role]}. The link that they have works no more then.`,
      action: pathIn(request, account, `${listPath}/${id}/revoke`),
      button: 'Revoke the invitation',
      isDangerous: true,
      back: { label: 'Keep it', href: pathIn(request, account, listPath) },
    });
  });

  app.post(`${listPath}/:id/revoke`, { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    await administer(server, request, admin => revokeInvitation(admin, account.id, idIn(request)));
    return reply.redirect(pathIn(request, account, listPath, { notice: 'revoked' }), 303);
  });

  async function showList(
    request: FastifyRequest,
    reply: FastifyReply,
    account: AccountOfUser,
    {
      given = { email: '', role: 'member' },
      ...words
    }: { given?: { email: string; role: string }; notice?: string | undefined; problem?: string },
    status = 200,
  ) {
    const beforeId = numberIn(request, 'before');
    const found = await administer(server, request, admin =>
      listInvitations(admin, account.id, { beforeId, limit: invitationsPerPage + 1 }),
    );
    const invitations = found.slice(0, invitationsPerPage);
    const last = found.length > invitationsPerPage ? invitations.at(-1) : undefined;
    const before = last && { before: String(last.id) };
    const data: ListData = {
      accountName: shownName(account.name),
      invitations: invitations.map(invitation => present(request, account, invitation)),
      firstPage: beforeId === undefined ? undefined : { label: 'First page', href: pathIn(request, account, listPath) },
      nextPage: before && { label: 'More invitations', href: pathIn(request, account, listPath, before) },
      invitePath: pathIn(request, account, listPath),
      membersPath: pathIn(request, account, '/admin/members'),
      isMailed,
      days: invitationDays,
      email: given.email,
      roles: choicesOf(account.role, given.role),
      formToken: formTokenOf(request),
      ...words,
    };
    return sendPage(reply, listPage(frameOf(request, account, 'Invitations'), data), status);
  }
}

const deliveries: Record<InvitationView['delivery'], string> = {
  by_hand: 'To be handed over',
  waiting: 'About to be mailed',
  mailed: 'Mailed',
  refused: 'Refused by the mail server, so the address may be wrong',
};

function present(request: FastifyRequest, account: AccountOfUser, invitation: InvitationView): ShownInvitation {
  const { id, email, role, inviter, delivery, created_at, expires_at } = invitation;
  return {
    id,
    email,
    shownEmail: shownAddress(email),
    role: { ...presentRole(role), value: role },
    inviter: inviter === null ? 'the operator' : shownName(inviter),
    delivery: deliveries[delivery],
    created: showTime(new Date(created_at)),
    expires: showTime(new Date(expires_at)),
    revokePath: mayManage(account.role, role) ? pathIn(request, account, `${listPath}/${id}/revoke`) : undefined,
  };
}
