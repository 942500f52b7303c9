import { admits, readJoinable } from '../accounts/join-rule.ts';
import type { Administration } from '../administration.ts';
import type { UserInAccount } from '../members/authority.ts';
import { insertMember } from '../members/change-members.ts';

interface Newcomer {
  accountId: number;
  /** The e-mail address of the person, if the provider has verified one. Otherwise null. */
  address: string | null;
  /**
   * Whether the provider lets everybody join the account, even people whom the account's own setting does not let join.
   */
  isAdmitted: boolean;
}

/**
 * Whether a person who signs in through an identity provider of the account may become a member. The caller has locked
 * the account.
 */
export async function mayJoinWithIdentity(
  admin: Administration,
  { accountId, address, isAdmitted }: Newcomer,
): Promise<boolean> {
  const account = await readJoinable(admin, accountId);
  if (!account) return false;
  return isAdmitted || (address !== null && admits(account, address));
}

/**
 * Makes a user who signed in through an identity provider of the account a member. The role is always `member`. The
 * caller has locked the account.
 */
export async function joinWithIdentity(admin: Administration, member: UserInAccount): Promise<void> {
  await insertMember(admin, member, 'member');
  admin.audit.record('member.joined', { account_id: member.accountId, user_id: member.userId });
}
