import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { AdministrationError, administrationIn } from '../../domain/administration.ts';
import { acceptInvitation, signUpByInvitation } from '../../domain/invitations/accept-invitation.ts';
import { invitationDays } from '../../domain/invitations/invite-member.ts';
import { type FollowedInvitation, readInvitation } from '../../domain/invitations/open-invitations.ts';
import { asRole } from '../../entities/membership.ts';
import { definePage, sendPage } from '../../pages/shell/page.ts';
import { fieldOf } from '../shell/form.ts';
import { formTokenOf, frameOf } from '../shell/frame.ts';
import { Refusal } from '../shell/refusal.ts';
import { administer, requireSession, sessionOf, sessionTerms, setSessionCookie } from '../shell/session.ts';
import { shownAddress, shownName, showTime } from '../shell/show.ts';
import { passwordLengths, readNewPassword } from '../sign-in/own-password.ts';
import { buildKnownBrowsers } from '../sign-in/throttle.ts';

const invitationPage = definePage<object>('admin/members/invitation');

interface PathOfLink {
  Params: { token: string };
}

/**
 * The link of an invitation, for everybody who has it. The page reveals whether the address has a user. Only the reader of
 * that address's mail has the link, or somebody whom the inviter trusted with it.
 */
export function serveInvitationLinks(app: FastifyInstance, server: ServerDependencies) {
  const { database, clock, config, audit, passwords } = server;
  const knownBrowsers = buildKnownBrowsers(server);

  app.get<PathOfLink>('/admin/invitations/:token', async (request, reply) => {
    return show(request, reply, await requireLink(request));
  });

  app.post<PathOfLink>('/admin/invitations/:token/accept', { onRequest: requireSession }, async (request, reply) => {
    const invitation = await requireLink(request);
    const { user } = sessionOf(request);
    // They have signed in as another user since. The page says so.
    if (user.id !== invitation.user_id) return show(request, reply, invitation, { status: 409 });
    await orOver(administer(server, request, admin => acceptInvitation(admin, invitation.hash, user.id)));
    return reply.redirect(pathOf(invitation), 303);
  });

  app.post<PathOfLink>(
    '/admin/invitations/:token/sign-up',
    { config: { isForVisitors: true } },
    async (request, reply) => {
      const invitation = await requireLink(request);
      // The address got a user since. The page says to sign in.
      if (invitation.user_id !== null) return show(request, reply, invitation, { status: 409 });
      const name = fieldOf(request.body, 'name');
      try {
        const { userId, token, expiresAt } = await signUp(request, invitation, name);
        audit.record('sign_in.succeeded', { request_id: request.id, ip: request.ip, user_id: userId });
        setSessionCookie(reply, config, token, expiresAt);
        knownBrowsers.remember(request, reply, invitation.email);
        return reply.redirect(pathOf(invitation), 303);
      } catch (error) {
        if (!(error instanceof AdministrationError)) throw error;
        // An invalid name or password, or a user who was made a moment ago.
        const status = error.reason === 'conflict' ? 409 : 422;
        return show(request, reply, await requireLink(request), { name, problem: error.message, status });
      }
    },
  );

  async function signUp(
    request: FastifyRequest,
    { hash, email }: Awaited<ReturnType<typeof requireLink>>,
    name: string,
  ) {
    const credential = await passwords.hash(await readNewPassword(request.body, email));
    const terms = sessionTerms(request, config, clock.now());
    const signingUp = database.transaction(transaction =>
      signUpByInvitation(
        actor => administrationIn(transaction, { audit, actor, now: terms.now }),
        hash,
        { name, credential },
        terms,
      ),
    );
    return { ...(await orOver(signingUp)), expiresAt: terms.expiresAt };
  }

  async function requireLink({ params: { token } }: FastifyRequest<PathOfLink>) {
    const invitation = await readInvitation(database, token, clock.now());
    if (!invitation) throw linkIsOver();
    return { ...invitation, path: `/admin/invitations/${token}` };
  }
}

function show(
  request: FastifyRequest,
  reply: FastifyReply,
  invitation: FollowedInvitation & { path: string },
  { name = '', problem, status = 200 }: { name?: string; problem?: string; status?: number } = {},
) {
  const account = shownName(invitation.account);
  const title = `Join ${account}`;
  const data = {
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

/** What the visitor can do, by who they are. */
function stepOf(request: FastifyRequest, invitation: FollowedInvitation & { path: string }, name: string) {
  const { path, user_id: userId, is_member: isMember } = invitation;
  const user = request.browserSession?.user;
  if (user && user.id !== userId) {
    return { signOut: { as: shownAddress(user.email), next: path, formToken: formTokenOf(request) } };
  }
  if (user && isMember) return { open: { path: pathOf(invitation) } };
  if (user) return { accept: { path: `${path}/accept`, formToken: formTokenOf(request) } };
  if (userId !== null) return { signIn: { path: `/admin/sign-in?next=${encodeURIComponent(path)}` } };
  return { signUp: { path: `${path}/sign-up`, name, ...passwordLengths } };
}

/** The page to open after joining. */
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
