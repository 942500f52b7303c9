import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { type Administration, AdministrationError, administrationIn } from '../../domain/administration.ts';
import { acceptInvitation, signUpByInvitation } from '../../domain/invitations/accept-invitation.ts';
import { invitationDays } from '../../domain/invitations/invite-member.ts';
import { type FollowedInvitation, readInvitation } from '../../domain/invitations/open-invitations.ts';
import { hashOfSecret } from '../../domain/sign-in/secret-text.ts';
import { FormProblem, fieldOf, type Problem } from '../../pages/shell/form.ts';
import { Refusal } from '../../pages/shell/refusal.ts';
import {
  keepLanguageOfBrowser,
  ordinaryUserOf,
  requireSession,
  sessionTerms,
  setSessionCookie,
} from '../../pages/shell/session.ts';
import { shownAddress, shownName, showTime } from '../../pages/shell/show.ts';
import { serveRoutes, type Visit } from '../../pages/shell/visit.ts';
import { passwordLengths, readNewPassword } from '../../pages/sign-in/own-password.ts';
import { buildKnownBrowsers } from '../../pages/sign-in/throttle.ts';
import { t } from '../../text/catalogue.ts';

const path = '/admin/invitations/:token';

/**
 * Serves the page of an invitation link. The page reveals whether a user already has the invited e-mail address. This
 * is safe: only the owner of the mailbox, and people who got the link from the inviter, can open the page.
 */
export function serveInvitationLinks(app: FastifyInstance, server: ServerDependencies) {
  const { database, clock, config, audit, passwords } = server;
  const knownBrowsers = buildKnownBrowsers(server);

  const forVisitors = [
    { path, show },
    { path: `${path}/sign-up`, run: signUp, again: show },
  ];
  serveRoutes(app, server, () => undefined, forVisitors, []);
  serveRoutes(app, server, () => undefined, [{ path: `${path}/accept`, run: accept, again: show }], [requireSession]);

  async function accept(visit: Visit<undefined>) {
    const invitation = await requireInvitation(visit);
    // The visitor has signed in as another user since the page was loaded.
    if (ordinaryUserOf(visit.request)?.id !== invitation.user_id)
      throw new FormProblem(409, t('members.invitation.other_address'));
    const accepting = visit.administer(async admin => {
      await acceptInvitation(admin, invitation.hash, visit.user.id);
      await keepLanguageOfBrowser(admin, visit.request, visit.user.id);
    });
    await refuseExpired(accepting);
    return pathOf(invitation);
  }

  async function signUp(visit: Visit<undefined>) {
    const { request, reply } = visit;
    const { hash, email, user_id: existing, ...invitation } = await requireInvitation(visit);
    // A user with this e-mail address was created since the page was loaded.
    if (existing !== null) throw new FormProblem(409, t('members.invitation.has_user'));
    const name = visit.field('name');
    const credential = await passwords.hash(await readNewPassword(request.body, email));
    const terms = sessionTerms(request, config, clock.now());
    const signingUp = database.transaction(async transaction => {
      const adminAs = (actor: Administration['by']) => administrationIn(transaction, { audit, actor, now: terms.now });
      const signedUp = await signUpByInvitation(adminAs, hash, { name, credential }, terms);
      await keepLanguageOfBrowser(adminAs({ by: 'user', by_user_id: signedUp.userId }), request, signedUp.userId);
      return signedUp;
    });
    const { userId, token } = await refuseExpired(signingUp);
    audit.record('sign_in.succeeded', {
      request_id: request.id,
      ip: request.ip,
      user_id: userId,
      method: 'invitation',
    });
    setSessionCookie(reply, config, token, terms.expiresAt);
    await knownBrowsers.remember(request, reply, email);
    return pathOf(invitation);
  }

  async function show(visit: Visit<undefined>, problem?: Problem) {
    const invitation = await requireInvitation(visit);
    const account = shownName(invitation.account);
    const email = shownAddress(invitation.email);
    const role = t(`members.as_role.${invitation.role}`);
    const { inviter } = invitation;
    const data = {
      account,
      invited:
        inviter === null
          ? t('members.invitation.invited_by_operator_html', { email, account, role })
          : t('members.invitation.invited_html', { inviter: shownName(inviter), email, account, role }),
      email,
      expires: showTime(new Date(invitation.expires_at)),
      step: stepOf(visit, invitation),
    };
    return visit.page('members/invitation', t('members.invitation.title', { account }), data, { problem });
  }

  async function requireInvitation({ request }: Visit<undefined>) {
    const hash = hashOfSecret(fieldOf(request.params, 'token'));
    const invitation = hash && (await readInvitation(database, hash, clock.now()));
    if (!invitation) throw expiredLink();
    return { ...invitation, hash };
  }
}

/** Returns the visitor's next step: to sign out, to open the account, to accept, to sign in or to sign up. */
function stepOf(visit: Visit<undefined>, invitation: FollowedInvitation) {
  const { user_id: userId, is_member: isMember } = invitation;
  const here = `/admin/invitations/${fieldOf(visit.request.params, 'token')}`;
  const user = ordinaryUserOf(visit.request);
  if (user && user.id !== userId) return { signOut: { as: shownAddress(user.email), next: here } };
  if (user && isMember) return { open: { path: pathOf(invitation) } };
  if (user) return { accept: { path: `${here}/accept` } };
  if (userId !== null) return { signIn: { path: `/sign-in?next=${encodeURIComponent(here)}` } };
  return { signUp: { path: `${here}/sign-up`, name: visit.field('name'), ...passwordLengths } };
}

function pathOf({ account_slug }: Pick<FollowedInvitation, 'account_slug'>): string {
  return `/admin?${new URLSearchParams({ account: account_slug, notice: 'joined' })}`;
}

/** Shows the page for an expired link if another request has used the invitation since this request began. */
async function refuseExpired<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof AdministrationError && error.reason === 'not_found' ? expiredLink() : error;
  }
}

function expiredLink() {
  return new Refusal(
    404,
    t('members.invitation.invalid.title'),
    t('members.invitation.invalid.explanation', { count: invitationDays }),
  );
}
