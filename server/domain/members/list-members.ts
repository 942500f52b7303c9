import { plannedStatement } from '../../database/statement.ts';
import type { Role } from '../../entities/membership.ts';
import type { Administration } from '../administration.ts';

export interface MemberView {
  user_id: number;
  email: string;
  name: string;
  role: Role;
  is_blocked: boolean;
  created_at: string;
}

const selectMembers = plannedStatement<MemberView>(`
  select u.id as user_id, u.email, u.name, m.role, b.user_id is not null as is_blocked, m.created_at
  from memberships m
  join users u on u.id = m.user_id
  left join user_blocks b on b.account_id = m.account_id and b.user_id = m.user_id
  where m.account_id = $1 and ($2::bigint is null or m.user_id = $2)
  order by array_position(array['owner', 'admin', 'moderator', 'member'], m.role), lower(u.email)
  limit $3`);

/** Lists the members of an account, owners first. */
export function listMembers(admin: Administration, accountId: number, limit: number): Promise<MemberView[]> {
  return admin.query(selectMembers, [accountId, null, limit]);
}

export async function readMember(
  admin: Administration,
  { accountId, userId }: { accountId: number; userId: number },
): Promise<MemberView | undefined> {
  const [member] = await admin.query(selectMembers, [accountId, userId, 1]);
  return member;
}
