import { readSignInAddress } from '../../domain/users/find-user.ts';
import type { TaskDependencies } from '../dependencies.ts';
import { mailOne } from './mail-one.ts';
import { writePasswordNoticeMail } from './password-notice-mail.ts';

/** The task that tells a user, at the address with which they sign in, that another password was set. */
export function mailPasswordNotice(deps: TaskDependencies) {
  const kind = { name: 'password-notice', plural: 'notices of another password' };
  return mailOne<{ user_id: number }>(deps, kind, async ({ user_id: userId }) => {
    const to = await readSignInAddress(deps.database, userId);
    return to === undefined ? undefined : { ...writePasswordNoticeMail(deps.config), to, userId };
  });
}
