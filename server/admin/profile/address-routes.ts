import type { ServerDependencies } from '../../dependencies.ts';
import { AdministrationError } from '../../domain/administration.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import {
  type AddressChange,
  type AddressField,
  addressLinkHours,
  buildAddressTokens,
  confirmAddress,
  isAddressWanted,
  requestAddress,
} from '../../domain/users/change-address.ts';
import { updateUser } from '../../domain/users/edit-user.ts';
import { lockUser } from '../../domain/users/find-user.ts';
import { FormProblem } from '../../pages/shell/form.ts';
import { Refusal } from '../../pages/shell/refusal.ts';
import { shownAddress } from '../../pages/shell/show.ts';
import type { Route } from '../../pages/shell/visit.ts';
import type { askForOwnPassword } from '../../pages/sign-in/own-password.ts';
import { buildThrottle } from '../../pages/sign-in/throttle.ts';
import { t } from '../../text/catalogue.ts';
import { type OwnVisit, profilePath, showProfile } from './profile-page.ts';

/**
 * Returns the routes that change the signed-in user's e-mail addresses. A new e-mail address takes effect only after
 * the same signed-in user has opened the mailed link and confirmed the address. So if the user mistypes the address,
 * the owner of the mistyped address gets no access.
 */
export function addressRoutes(
  server: ServerDependencies,
  askForPassword: ReturnType<typeof askForOwnPassword>,
): Route<AccountOfUser | undefined>[] {
  const { database, clock, config } = server;
  const tokens = buildAddressTokens(server.appKey);
  const throttle = buildThrottle(server);

  return [
    { path: '/admin/profile/email', run: setEmail, again: (visit, p) => showProfile(visit, p, 'email') },
    {
      path: '/admin/profile/notification-email',
      run: setNotificationEmail,
      again: (visit, p) => showProfile(visit, p, 'notifications'),
    },
    { path: '/admin/profile/confirm', show: showConfirmation },
    { path: '/admin/profile/confirm', run: confirm },
  ];

  async function setEmail(visit: OwnVisit) {
    await askForPassword(visit);
    return profilePath(visit, (await ask(visit, 'email', visit.field('email'))) ? 'email_asked' : 'saved');
  }

  async function setNotificationEmail(visit: OwnVisit) {
    const address = visit.field('notification_email').trim();
    if (address !== '') {
      return profilePath(visit, (await ask(visit, 'notification_email', address)) ? 'mail_asked' : 'saved');
    }
    await visit.administer(async admin =>
      updateUser(admin, await lockUser(admin, visit.user.id), { notificationEmail: null }),
    );
    return profilePath(visit, 'mail_ended');
  }

  async function showConfirmation(visit: OwnVisit) {
    const token = visit.parameter('token');
    const { address, field } = await requireChange(visit, token);
    const data = {
      address: shownAddress(address),
      isForSignIn: field === 'email',
      token,
    };
    return visit.page('profile/confirm-address', t('profile.confirm_address.title'), data);
  }

  async function confirm(visit: OwnVisit) {
    const change = await requireChange(visit, visit.field('token'));
    await visit
      .administer(admin => confirmAddress(admin, change))
      .catch(error => {
        // The error not_found means that another request has already used the confirmation link.
        throw error instanceof AdministrationError && error.reason === 'not_found' ? invalidLink() : error;
      });
    return profilePath(visit, change.field === 'email' ? 'email_changed' : 'mail_changed');
  }

  /** Mails a confirmation link to an e-mail address. Returns false if the user already has the address. */
  async function ask(visit: OwnVisit, field: AddressField, address: string): Promise<boolean> {
    const userId = visit.user.id;
    if (config.SMTP_URL === undefined) throw new FormProblem(409, t('profile.email.no_mail'));
    const charged = await throttle.chargeAddressLink(visit.request, visit.reply, userId, address);
    let isAsked = false;
    try {
      isAsked = await visit.administer(admin => requestAddress(admin, { userId, field, address }));
      return isAsked;
    } finally {
      // If the server sends no mail, the request does not count against the rate limit.
      if (!isAsked) await charged.giveBack();
    }
  }

  /**
   * Returns the change that a valid confirmation link confirms. Only the user who requested the change may use the
   * link.
   */
  async function requireChange({ user }: OwnVisit, token: string): Promise<AddressChange> {
    const change = tokens.read(token, clock.now());
    if (change?.userId !== user.id || !(await isAddressWanted(database, change))) throw invalidLink();
    return change;
  }
}

function invalidLink() {
  return new Refusal(
    404,
    t('profile.confirm_address.invalid.title'),
    t('profile.confirm_address.invalid.explanation', { count: addressLinkHours }),
    { label: t('profile.title'), href: '/admin/profile' },
  );
}
