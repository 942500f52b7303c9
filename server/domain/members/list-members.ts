import { plannedStatement, statement } from '../../database/statement.ts';
import { type Role, roles } from '../../entities/membership.ts';
import type { Administration } from '../administration.ts';

export interface MemberView {
  user_id: number;
  email: string;
  name: string;
  role: Role;
  is_blocked: boolean;
  created_at: string;
}

/** Which members are listed; all where nothing is said. */
export interface MemberFilter {
  /** With what the name or the address begins, whatever its case. */
  beginning?: string | undefined;
  role?: Role | undefined;
  isBlocked?: boolean | undefined;
}

/** Where a page begins: after this member. */
export interface MemberPlace {
  role: Role;
  userId: number;
}

const columns = 'u.id as user_id, u.email, u.name, m.role, b.user_id is not null as is_blocked, m.created_at';
const ofMember = 'b.account_id = m.account_id and b.user_id = m.user_id';

/**
 * The list of each role, one after the other: as one list they would have to be sorted. Planned for its values: so
 * PostgreSQL reads a list until the page is full where many members have a beginning, and begins with the users who have
 * it where few do.
 */
const listing = (blocks: string, condition = '') =>
  plannedStatement<MemberView>(`
    select user_id, email, name, role, is_blocked, created_at
    from (${roles
      .map(
        (role, index) => `(
          select ${index} as place, ${columns}
          from memberships m join users u on u.id = m.user_id ${blocks} join user_blocks b on ${ofMember}
          where m.account_id = $1 and m.role = '${role}' and m.user_id > ($2::bigint[])[${index + 1}] ${condition}
            and ($3::text is null or lower(u.email) like lower($3) or lower(u.name) like lower($3))
          order by m.user_id
          limit $4
        )`,
      )
      .join(' union all ')}) listed
    order by place, user_id
    limit $4`);

const selectMembers = listing('left');
const selectBlocked = listing('');
const selectUnblocked = listing('left', 'and b.user_id is null');

/** Lists members of an account: owners first, then admins, moderators and members, each from the oldest user on. */
export async function listMembers(
  admin: Administration,
  accountId: number,
  { beginning, isBlocked, limit, ...where }: MemberFilter & { after?: MemberPlace | undefined; limit: number },
): Promise<MemberView[]> {
  // PostgreSQL takes no NUL, and a lone surrogate is no character: no name has them.
  if (beginning !== undefined && (beginning.includes('\0') || !beginning.isWellFormed())) return [];
  const select = isBlocked === undefined ? selectMembers : isBlocked ? selectBlocked : selectUnblocked;
  const pattern = beginning === undefined ? null : `${beginning.replace(/[\\%_]/g, '\\$&')}%`;
  return admin.query(select, [accountId, beginsOf(where), pattern, limit]);
}

/** After which user the list of each role begins; null for a role that is not listed. */
function beginsOf({ role, after }: Pick<MemberFilter, 'role'> & { after?: MemberPlace | undefined }) {
  const reached = after ? roles.indexOf(after.role) : -1;
  return roles.map((one, index) => {
    if ((role !== undefined && one !== role) || index < reached) return null;
    return index === reached ? (after?.userId ?? 0) : 0;
  });
}

const selectMember = statement<MemberView>(
  'select_member',
  `select ${columns}
  from memberships m join users u on u.id = m.user_id left join user_blocks b on ${ofMember}
  where m.account_id = $1 and m.user_id = $2`,
);

export async function readMember(
  admin: Administration,
  { accountId, userId }: { accountId: number; userId: number },
): Promise<MemberView | undefined> {
  const [member] = await admin.query(selectMember, [accountId, userId]);
  return member;
}
