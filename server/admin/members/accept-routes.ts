import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { AdministrationError, administrationIn } from '../../domain/administration.ts';
import { acceptInvitation, signUpByInvitation } from '../../domain/invitations/accept-invitation.ts';
import { invitationDays } from '../../domain/invitations/invite-member.ts';
import { type FollowedInvitation, readInvitation } from '../../domain/invitations/read-invitation.ts';
import { asRole } from '../../entities/membership.ts';
import { definePage, sendPage } from '../../pages/shell/page.ts';
import { fieldOf } from '../shell/form.ts';
import { formTokenOf, frameOf } from '../shell/frame.ts';
import { Refusal } from '../shell/refusal.ts';
import { administer, requireSession, sessionOf, sessionTerms, setSessionCookie } from '../shell/session.ts';
import { type ShownTime, shownAddress, shownName, showTime } from '../shell/show.ts';
import { buildKnownBrowsers } from '../sign-in/known-browser.ts';
import { passwordLengths, problemOfNewPassword } from '../sign-in/new-password.ts';

/** What whoever follows a link can do, by who they are. */
type Step =
  /** Signed in with the address. */
  | { accept: { path: string; formToken: string } }
  | { open: { path: string } }
  /** Signed in with another one. */
  | { signOut: { as: string; next: string; formToken: string } }
  /** The address has a user. */
  | { signIn: { path: string } }
  | { signUp: { path: string; name: string; minLength: number; maxLength: number } };

interface InvitationData {
  account: string;
  role: string;
  inviter: string;
  email: string;
  expires: ShownTime;
  step: Step;
  problem?: string | undefined;
}

const invitationPage = definePage<InvitationData>('admin/members/invitation');

interface PathOfLink {
  Params: { token: string };
}

/**
 * Following the link of an invitation, for anybody who has it. The page tells whether the address has a user: whoever has
 * the link reads the mail of the address, or was trusted with it by the inviter.
 */
export function serveInvitationLinks(app: FastifyInstance, server: ServerDependencies) {
  const { database, clock, config, audit, passwords } = server;
  const knownBrowsers = buildKnownBrowsers(server);

  app.get<PathOfLink>('/admin/invitations/:token', async (request, reply) => {
    return show(request, reply, await requireLink(request.params.token));
  });

  app.post<PathOfLink>('/admin/invitations/:token/accept', { onRequest: requireSession }, async (request, reply) => {
    const invitation = await requireLink(request.params.token);
    const { user } = sessionOf(request);
    // They have signed in as somebody else since: the page says so.
    if (user.id !== invitation.user_id) return show(request, reply, invitation, {}, 409);
    await orOver(administer(server, request, admin => acceptInvitation(admin, invitation.hash, user.id)));
    return reply.redirect(pathOf(invitation), 303);
  });

  app.post<PathOfLink>(
    '/admin/invitations/:token/sign-up',
    { config: { isForVisitors: true } },
    async (request, reply) => {
      const invitation = await requireLink(request.params.token);
      const { hash, email, user_id: userId } = invitation;
      // Somebody has made a user with the address since: the page says to sign in.
      if (userId !== null) return show(request, reply, invitation, {}, 409);
      const name = fieldOf(request.body, 'name');
      const password = fieldOf(request.body, 'password');
      const wrong = await problemOfNewPassword(password, fieldOf(request.body, 'password_again'), email);
      if (wrong !== undefined) return show(request, reply, invitation, { name, problem: wrong }, 422);
      const credential = await passwords.hash(password);
      const terms = sessionTerms(request, config, clock.now());
      const signingUp = database.transaction(transaction =>
        signUpByInvitation(
          actor => administrationIn(transaction, { audit, actor, now: terms.now }),
          hash,
          { name, credential },
          terms,
        ),
      );
      try {
        const session = await orOver(signingUp);
        audit.record('sign_in.succeeded', { request_id: request.id, ip: request.ip, user_id: session.userId });
        setSessionCookie(reply, config, session.token, terms.expiresAt);
        knownBrowsers.remember(request, reply, email);
        return reply.redirect(pathOf(invitation), 303);
      } catch (error) {
        if (!(error instanceof AdministrationError)) throw error;
        // What is wrong with the name, or a user who was made a moment ago.
        const again = await requireLink(request.params.token);
        const status = error.reason === 'conflict' ? 409 : 422;
        return show(request, reply, again, { name, problem: error.message }, status);
      }
    },
  );

  async function requireLink(token: string) {
    const invitation = await readInvitation(database, token, clock.now());
    if (!invitation) throw linkIsOver();
    return { ...invitation, path: `/admin/invitations/${token}` };
  }

  function show(
    request: FastifyRequest,
    reply: FastifyReply,
    invitation: FollowedInvitation & { path: string },
    { name = '', problem }: { name?: string; problem?: string } = {},
    status = 200,
  ) {
    const account = shownName(invitation.account);
    const title = `Join ${account}`;
    const data: InvitationData = {
      account,
      role: asRole[invitation.role],
      inviter: invitation.inviter === null ? 'The operator' : shownName(invitation.inviter),
      email: shownAddress(invitation.email),
      expires: showTime(new Date(invitation.expires_at)),
      step: stepOf(request, invitation, name),
      problem,
    };
    const frame = request.browserSession ? frameOf(request, undefined, title) : { title };
    return sendPage(reply, invitationPage(frame, data), status);
  }
}

function stepOf(request: FastifyRequest, invitation: FollowedInvitation & { path: string }, name: string): Step {
  const { path, user_id: userId, is_member: isMember } = invitation;
  const user = request.browserSession?.user;
  if (user && user.id !== userId)
    return { signOut: { as: shownAddress(user.email), next: path, formToken: formTokenOf(request) } };
  if (user && isMember) return { open: { path: pathOf(invitation) } };
  if (user) return { accept: { path: `${path}/accept`, formToken: formTokenOf(request) } };
  if (userId !== null) return { signIn: { path: `/admin/sign-in?next=${encodeURIComponent(path)}` } };
  return { signUp: { path: `${path}/sign-up`, name, ...passwordLengths } };
}

/** Where whoever has joined goes on. */
function pathOf({ account_slug }: FollowedInvitation): string {
  return `/admin?${new URLSearchParams({ account: account_slug, notice: 'joined' })}`;
}

/** Another request may have been faster with the same link. */
async function orOver<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof AdministrationError && error.reason === 'not_found') throw linkIsOver();
    throw error;
  }
}

function linkIsOver() {
  return new Refusal(
    404,
    'This invitation does not work any more',
    `A link works once, and within ${invitationDays} days, unless the invitation is taken back. Whoever invited you can make another one. If you have joined already, sign in.`,
  );
}
