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
  const block =
    (await admin.em.findOne(UserBlock, { accountId, userId })) ??
    admin.em.create(UserBlock, { accountId, userId, createdAt: admin.now });
  if (checked !== undefined) block.reason = checked;
  await admin.em.flush();
}

/** Ends a block. Without one nothing changes. */
export async function unblockUser(admin: Administration, { accountId, userId }: Blocking) {
  await admin.em.nativeDelete(UserBlock, { accountId, userId });
}
