import { plannedStatement } from '../../database/statement.ts';
import type { Role } from '../../entities/membership.ts';
import { type Administration, AdministrationError } from '../administration.ts';

export interface UserView {
  id: number;
  email: string;
  name: string;
  notification_email: string | null;
  /** The accounts that the user is a member of or blocked in. */
  accounts: { slug: string; role: Role | null; is_blocked: boolean; block_reason: string | null }[];
  deletion_requested_at: string | null;
  /** When the erasure began, which then goes on to the end. */
  erasure_began_at: string | null;
  created_at: string;
}

const selectUsers = plannedStatement<UserView>(`
  select u.id, u.email, u.name, u.notification_email,
    coalesce((
      select json_agg(json_build_object(
        'slug', a.slug, 'role', m.role, 'is_blocked', b.user_id is not null, 'block_reason', b.reason
      ) order by a.slug)
      from (select * from memberships where user_id = u.id) m
      full join (select * from user_blocks where user_id = u.id) b on b.account_id = m.account_id
      join accounts a on a.id = coalesce(m.account_id, b.account_id)
    ), '[]') as accounts,
    u.deletion_requested_at, u.erasure_began_at, u.created_at
  from users u
  where not u.is_placeholder
    and ($1::bigint is null or u.id = $1)
    and ($2::bigint is null
      or exists (select from memberships m where m.account_id = $2 and m.user_id = u.id)
      or exists (select from user_blocks b where b.account_id = $2 and b.user_id = u.id))
  order by lower(u.email)
  limit $3`);

/** Lists users by address: all, or those who are members of an account or blocked in it. */
export function listUsers(admin: Administration, accountId: number | null, limit: number): Promise<UserView[]> {
  return admin.query(selectUsers, [null, accountId, limit]);
}

export async function readUser(admin: Administration, userId: number): Promise<UserView> {
  const [user] = await admin.query(selectUsers, [userId, null, 1]);
  if (!user) throw new AdministrationError('not_found', 'The user is gone');
  return user;
}
