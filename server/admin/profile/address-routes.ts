import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { AdministrationError } from '../../domain/administration.ts';
import { type AddressChange, type AddressField, buildAddressTokens } from '../../domain/users/address-token.ts';
import {
  addressLinkHours,
  confirmAddress,
  isAddressWanted,
  requestAddress,
} from '../../domain/users/change-address.ts';
import { lockUser } from '../../domain/users/find-user.ts';
import { updateUser } from '../../domain/users/update-user.ts';
import { definePage, sendPage } from '../../pages/shell/page.ts';
import { fieldOf, problemOf } from '../shell/form.ts';
import { formTokenOf } from '../shell/frame.ts';
import { Refusal } from '../shell/refusal.ts';
import { administer, requireSession, sessionOf } from '../shell/session.ts';
import { shownAddress } from '../shell/show.ts';
import { askForOwnPassword } from '../sign-in/own-password.ts';
import { buildThrottle, describeWait } from '../sign-in/throttle.ts';
import { ownFrame, ownPath } from './own-pages.ts';
import { type ProfileWords, showProfile } from './show-profile.ts';

interface ConfirmationData {
  address: string;
  isForSignIn: boolean;
  action: string;
  token: string;
  profilePath: string;
  formToken: string;
}

const confirmationPage = definePage<ConfirmationData>('admin/profile/confirm-address');

/**
 * The addresses of whoever is signed in. A new one takes effect when they open the link that is mailed to it, signed in as
 * who asked: an address with a slip in it, which is somebody else's, gives that person nothing.
 */
export function serveAddresses(app: FastifyInstance, server: ServerDependencies) {
  const { database, clock, config } = server;
  const tokens = buildAddressTokens(server.appKey);
  const throttle = buildThrottle(server);
  const askForPassword = askForOwnPassword(server);

  app.post('/admin/profile/email', { onRequest: requireSession }, async (request, reply) => {
    const email = fieldOf(request.body, 'email');
    const refuse = (status: number, message: string) =>
      showProfile(server, request, reply, { problem: { message, form: 'email' }, given: { email } }, status);
    const asked = await askForPassword(request, reply);
    if ('problem' in asked) return refuse(asked.status, asked.problem);
    const outcome = await ask(request, reply, 'email', email);
    if ('message' in outcome) return refuse(outcome.status, outcome.message);
    const notice = outcome.isAsked ? 'email_asked' : 'saved';
    return reply.redirect(ownPath(request, '/admin/profile', { notice }), 303);
  });

  app.post('/admin/profile/notification-email', { onRequest: requireSession }, async (request, reply) => {
    const address = fieldOf(request.body, 'notification_email').trim();
    const done = (notice: string) => reply.redirect(ownPath(request, '/admin/profile', { notice }), 303);
    if (address === '') {
      await administer(server, request, async admin =>
        updateUser(admin, await lockUser(admin, sessionOf(request).user.id), { notificationEmail: null }),
      );
      return done('mail_ended');
    }
    const outcome = await ask(request, reply, 'notification_email', address);
    if (!('message' in outcome)) return done(outcome.isAsked ? 'mail_asked' : 'saved');
    const words: ProfileWords = {
      problem: { message: outcome.message, form: 'notifications' },
      given: { notificationEmail: address },
    };
    return showProfile(server, request, reply, words, outcome.status);
  });

  app.get('/admin/profile/confirm', { onRequest: requireSession }, async (request, reply) => {
    const token = fieldOf(request.query, 'token');
    const change = await requireChange(request, token);
    const data: ConfirmationData = {
      address: shownAddress(change.address),
      isForSignIn: change.field === 'email',
      action: ownPath(request, '/admin/profile/confirm'),
      token,
      profilePath: ownPath(request, '/admin/profile'),
      formToken: formTokenOf(request),
    };
    return sendPage(reply, confirmationPage(ownFrame(request, 'Confirm an address'), data));
  });

  app.post('/admin/profile/confirm', { onRequest: requireSession }, async (request, reply) => {
    const change = await requireChange(request, fieldOf(request.body, 'token'));
    await administer(server, request, admin => confirmAddress(admin, change)).catch(error => {
      // Another request was faster with the same link.
      throw error instanceof AdministrationError && error.reason === 'not_found' ? linkIsOver() : error;
    });
    const notice = change.field === 'email' ? 'email_changed' : 'mail_changed';
    return reply.redirect(ownPath(request, '/admin/profile', { notice }), 303);
  });

  /** Asks for an address, where it is another one; or answers why not. */
  async function ask(
    request: FastifyRequest,
    reply: FastifyReply,
    field: AddressField,
    address: string,
  ): Promise<{ isAsked: boolean } | { status: number; message: string }> {
    const { user } = sessionOf(request);
    if (config.SMTP_URL === undefined) return { status: 409, message: 'This server sends no mail' };
    const charged = await throttle.chargeAddressLink(request, reply, user.id, address);
    if ('retrySeconds' in charged) {
      return { status: 429, message: `There were too many requests: try again ${describeWait(charged.retrySeconds)}` };
    }
    try {
      const wanted = { userId: user.id, field, address };
      const isAsked = await administer(server, request, admin => requestAddress(admin, wanted));
      if (!isAsked) await charged.giveBack();
      return { isAsked };
    } catch (error) {
      await charged.giveBack();
      return problemOf(error);
    }
  }

  /** What a link is for, as long as it works, and for whoever asked for it alone. */
  async function requireChange(request: FastifyRequest, token: string): Promise<AddressChange> {
    const change = tokens.read(token, clock.now());
    const isOwn = change?.userId === sessionOf(request).user.id;
    if (!change || !isOwn || !(await isAddressWanted(database, change))) throw linkIsOver();
    return change;
  }
}

function linkIsOver() {
  return new Refusal(
    404,
    'This link does not work, or not any more',
    `A link confirms an address once, within ${addressLinkHours} hours, and for whoever asked for it: sign in as that one.`,
    { label: 'To your profile', href: '/admin/profile' },
  );
}
