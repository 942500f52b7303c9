import { findHolds } from '../../domain/erasure/request-deletion.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { readUser } from '../../domain/users/list-users.ts';
import { mailFrequencies } from '../../entities/user.ts';
import { optionsOf } from '../../pages/shell/choices.ts';
import type { Problem } from '../../pages/shell/form.ts';
import type { NavigationLink } from '../../pages/shell/page.ts';
import { showErasure, showList, shownAddress } from '../../pages/shell/show.ts';
import type { Visit } from '../../pages/shell/visit.ts';
import { passwordLengths } from '../../pages/sign-in/own-password.ts';
import { t, textKeysIn } from '../../text/catalogue.ts';
import { languageNames, languages } from '../../text/language.ts';

/** The request for a profile page. A user who is a member of no account can also open the profile pages. */
export type OwnVisit = Visit<AccountOfUser | undefined>;

const ownPages = [
  { key: 'profile.navigation.profile', href: '/admin/profile' },
  { key: 'profile.navigation.notifications', href: '/admin/profile/notifications' },
  { key: 'profile.navigation.following', href: '/admin/profile/following' },
  { key: 'identities.connections.title', href: '/admin/profile/connections' },
] as const;

export function ownNavigation(visit: OwnVisit, current: string): NavigationLink[] {
  return ownPages.map(({ key, href }) => ({ label: t(key), href: visit.path(href), isCurrent: href === current }));
}

const notices = textKeysIn('profile.notices');

/** Shows the profile. A refused form keeps the values that the user entered. */
export async function showProfile(
  visit: OwnVisit,
  problem?: Problem,
  refusedForm?: 'name' | 'language' | 'email' | 'notifications' | 'frequency' | 'password',
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
    languages: languageChoices(visit.user.language ?? ''),
    email: shownAddress(user.email),
    newEmail: refusedForm === 'email' ? visit.field('email') : '',
    notificationEmail: user.notification_email === null ? undefined : shownAddress(user.notification_email),
    givenNotificationEmail:
      refusedForm === 'notifications' ? visit.field('notification_email').trim() : (user.notification_email ?? ''),
    mailFrequencies: optionsOf(
      mailFrequencies.map(frequency => [frequency, t(`profile.mail_frequency.${frequency}`)]),
      user.mail_frequency,
    ),
    wantsMentions: user.wants_mentions,
    // Whether the server can send mail. Without mail, users cannot confirm a new e-mail address.
    isMailed: config.SMTP_URL !== undefined,
    ...passwordLengths,
    hasSecondFactor: visit.user.has_second_factor,
    erasedFrom: showErasure(user.deletion_requested_at, config.USER_DELETION_GRACE_HOURS),
    holds: showList(holds),
  };
  return visit.page('profile/profile', t('profile.title'), data, { notices, problem });
}

/**
 * Returns the options of the language field. Each language is named in that language, so that people find their own
 * language.
 */
function languageChoices(chosen: string) {
  const own = languages.map(code => [code, languageNames[code]] as const);
  return optionsOf([['', t('profile.language.of_browser')], ...own], chosen);
}

export function profilePath(visit: OwnVisit, notice: keyof typeof notices): string {
  return visit.path('/admin/profile', { notice });
}
