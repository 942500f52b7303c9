import { UserBlock } from '../../entities/user-block.ts';
import type { Administration } from '../administration.ts';
import { checkText } from '../fields.ts';

interface Blocking {
  accountId: number;
  userId: number;
}

/** Keeps a user from writing in an account. Blocking again changes the reason, where one is given. */
export async function blockUser(admin: Administration, { accountId, userId }: Blocking, reason?: string) {
  const checked = reason === undefined ? undefined : checkText(reason, 0, 500, 'reason');
  const known = await admin.em.findOne(UserBlock, { accountId, userId });
  const block = known ?? admin.em.create(UserBlock, { accountId, userId, createdAt: admin.now });
  if (checked !== undefined) block.reason = checked;
  await admin.em.flush();
  if (!known) admin.audit.record('user.blocked', { account_id: accountId, user_id: userId });
}

/** Ends a block. Without one nothing changes. */
export async function unblockUser(admin: Administration, { accountId, userId }: Blocking) {
  const ended = await admin.em.nativeDelete(UserBlock, { accountId, userId });
  if (ended > 0) admin.audit.record('user.unblocked', { account_id: accountId, user_id: userId });
}
