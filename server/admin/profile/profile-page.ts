import { findHolds } from '../../domain/erasure/request-deletion.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { readUser } from '../../domain/users/list-users.ts';
import type { Problem } from '../../pages/shell/form.ts';
import type { NavigationLink } from '../../pages/shell/page.ts';
import { showErasure, shownAddress } from '../../pages/shell/show.ts';
import type { Visit } from '../../pages/shell/visit.ts';
import { passwordLengths } from '../../pages/sign-in/own-password.ts';

/** The visit of a profile page. These pages need no account, so users without an account can also open them. */
export type OwnVisit = Visit<AccountOfUser | undefined>;

const ownPages = [
  { label: 'Profile', href: '/admin/profile' },
  { label: 'Notifications', href: '/admin/profile/notifications' },
  { label: 'Followed ideas', href: '/admin/profile/following' },
];

export function ownNavigation(visit: OwnVisit, current: string): NavigationLink[] {
  return ownPages.map(({ label, href }) => ({ label, href: visit.path(href), isCurrent: href === current }));
}

const notices = {
  saved: 'Your profile is saved.',
  email_asked: 'We sent a link to the new address. Open it to sign in with this address from then on.',
  email_changed: 'You now sign in with the new address.',
  mail_asked: 'We sent a link to the address. Open it to get your notifications there.',
  mail_changed: 'Your notifications now go to this address.',
  mail_ended: 'You get no more mail. Your notifications are on the page Notifications.',
  password_changed: 'Your password is changed. You are signed out in every other browser.',
};

/** Shows the profile. A refused form keeps the values that the user entered. */
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
    wantsMentions: user.wants_mentions,
    // Whether the server can mail the link that confirms a new e-mail address.
    isMailed: config.SMTP_URL !== undefined,
    ...passwordLengths,
    hasSecondFactor: visit.user.has_second_factor,
    erasedFrom: showErasure(user.deletion_requested_at, config.USER_DELETION_GRACE_HOURS),
    holds,
  };
  return visit.page('profile/profile', 'Your profile', data, { notices, problem });
}

export function profilePath(visit: OwnVisit, notice: keyof typeof notices): string {
  return visit.path('/admin/profile', { notice });
}
