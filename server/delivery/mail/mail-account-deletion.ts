import { readScheduledDeletion } from '../../domain/erasure/schedule-account-deletion.ts';
import type { TaskDependencies } from '../dependencies.ts';
import { writeAccountDeletionMail } from './account-deletion-mail.ts';
import { mailOne } from './mail-one.ts';

const dayMs = 24 * 3_600_000;

/** The task that tells an owner of an account that its deletion was scheduled: nobody, where it was called off since. */
export function mailAccountDeletion(deps: TaskDependencies) {
  const { config, database } = deps;
  const kind = { name: 'account-deletion', plural: 'notices of a deletion' };
  return mailOne<{ account_id: number; user_id: number }>(deps, kind, async ({ account_id, user_id: userId }) => {
    const deletion = await readScheduledDeletion(database, account_id, userId);
    if (!deletion) return undefined;
    const { email: to, name, slug, scheduled_at } = deletion;
    const erasedFrom = new Date(Date.parse(scheduled_at) + config.ACCOUNT_DELETION_GRACE_DAYS * dayMs);
    return { ...writeAccountDeletionMail({ name, slug, erasedFrom, config }), to, userId };
  });
}
