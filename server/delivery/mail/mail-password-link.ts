import { insertPasswordLink, passwordLinkMinutes, passwordLinkUrl } from '../../domain/sign-in/password-links.ts';
import type { TaskDependencies } from '../dependencies.ts';
import { mailOne } from './mail-one.ts';
import { writePasswordLinkMail } from './password-link-mail.ts';

/**
 * The task that mails a link to whoever asked for one. The link is made here: it is in the mail, its hash in the
 * database, and nowhere else. A try that fails leaves a link behind that nobody has, until it expires.
 */
export function mailPasswordLink(deps: TaskDependencies) {
  const { config, database, clock } = deps;
  const kind = { name: 'password', plural: 'links to set a password' };
  return mailOne<{ user_id: number | null }>(deps, kind, async ({ user_id: userId }) => {
    // Nobody has the address that was given, or they were erased since.
    const link = userId === null ? undefined : await insertPasswordLink(database, userId, clock.now());
    if (userId === null || !link) return undefined;
    const url = passwordLinkUrl(config, link.token);
    return { ...writePasswordLinkMail({ url, minutes: passwordLinkMinutes }), to: link.email, userId };
  });
}
