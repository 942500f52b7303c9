import { findHolds } from '../../domain/erasure/request-deletion.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { readUser } from '../../domain/users/list-users.ts';
import { definePage, type NavigationLink } from '../../pages/shell/page.ts';
import type { Problem } from '../shell/form.ts';
import { shownAddress, userErasedFrom } from '../shell/show.ts';
import type { Visit } from '../shell/visit.ts';
import { passwordLengths } from '../sign-in/own-password.ts';

/**
 * A user's own pages belong to no account, so that users without one have them, and those whom the address's account
 * blocked. The frame shows an account if there is one.
 */
export type OwnVisit = Visit<AccountOfUser | undefined>;

const ownPages = [
  { label: 'Profile', href: '/admin/profile' },
  { label: 'Notifications', href: '/admin/profile/notifications' },
  { label: 'What you follow', href: '/admin/profile/following' },
];

/** The links between the user's own pages. */
export function ownNavigation(visit: OwnVisit, current: string): NavigationLink[] {
  return ownPages.map(({ label, href }) => ({ label, href: visit.path(href), isCurrent: href === current }));
}

const profilePage = definePage<object>('admin/profile/profile');

const notices = {
  saved: 'It is saved.',
  email_asked: 'A link is on its way to the new address. You sign in with it once you have opened the link.',
  email_changed: 'From now on you sign in with the new address.',
  mail_asked: 'A link is on its way to the address. Notifications go there once you have opened the link.',
  mail_changed: 'Notifications go to that address from now on.',
  mail_ended: 'Notifications are not mailed to you any more. You find them here.',
  password_changed: 'Your password is changed. In every other browser you are signed out.',
};

/** Shows the profile, after a refused form with the problem and what was entered. */
export async function showProfile(
  visit: OwnVisit,
  problem?: Problem,
  refusedForm?: 'name' | 'email' | 'notifications' | 'password',
) {
  const { config } = visit.server;
  const { user, holds } = await visit.administer(async admin => {
    const user = await readUser(admin, visit.user.id);
    return { user, holds: user.deletion_requested_at === null ? [] : await findHolds(admin, user.id) };
  });
  const data = {
    navigation: ownNavigation(visit, '/admin/profile'),
    refusedForm,
    name: refusedForm === 'name' ? visit.field('name') : user.name,
    email: shownAddress(user.email),
    newEmail: refusedForm === 'email' ? visit.field('email') : '',
    notificationEmail: user.notification_email === null ? undefined : shownAddress(user.notification_email),
    givenNotificationEmail:
      refusedForm === 'notifications' ? visit.field('notification_email').trim() : (user.notification_email ?? ''),
    // Addresses can only be confirmed with a mail server.
    isMailed: config.SMTP_URL !== undefined,
    ...passwordLengths,
    erasedFrom: userErasedFrom(user.deletion_requested_at, config),
    holds,
    paths: {
      name: visit.path('/admin/profile'),
      email: visit.path('/admin/profile/email'),
      notificationEmail: visit.path('/admin/profile/notification-email'),
      password: visit.path('/admin/profile/password'),
      delete: visit.path('/admin/profile/delete'),
    },
  };
  return visit.page(profilePage, 'Your profile', data, { notices, problem });
}

/** The path of the profile with a notice. */
export function profilePath(visit: OwnVisit, notice: keyof typeof notices): string {
  return visit.path('/admin/profile', { notice });
}
