import type { InferResult, Kysely } from 'kysely';
import type { Tables } from '../../database/tables.ts';
import { type Role, roles } from '../../entities/membership.ts';
import type { Administration } from '../administration.ts';
import { beginsWith, mayBegin } from '../search-by-beginning.ts';

export type MemberView = InferResult<ReturnType<typeof membersOf>>[number];

function membersOf(db: Kysely<Tables>, accountId: number) {
  return db
    .selectFrom('memberships as m')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .leftJoin('user_blocks as b', join => join.on('b.account_id', '=', accountId).onRef('b.user_id', '=', 'm.user_id'))
    .where('m.account_id', '=', accountId)
    .select(m => [
      'm.user_id',
      'u.email',
      'u.name',
      'm.role',
      m('b.user_id', 'is not', null).$castTo<boolean>().as('is_blocked'),
      'm.created_at',
    ])
    .$narrowType<{ email: string }>();
}

export interface MemberFilter {
  /** Lists only members whose name or e-mail address begins with this text. Upper and lower case do not matter. */
  beginning?: string | undefined;
  role?: Role | undefined;
  isBlocked?: boolean | undefined;
}

/** The position of the last member on the previous page. */
export interface MemberPlace {
  role: Role;
  userId: number;
}

/**
 * Lists members of an account: owners first, then admins, moderators and members. Within a role, the user with the
 * smallest id comes first.
 *
 * The query is a union of one query for each role. With a single query, PostgreSQL would have to sort all members.
 */
export async function listMembers(
  { db }: Administration,
  accountId: number,
  { after, limit, ...filter }: MemberFilter & { after?: MemberPlace | undefined; limit: number },
): Promise<MemberView[]> {
  if (filter.beginning !== undefined && !mayBegin(filter.beginning)) return [];
  const reached = after ? roles.indexOf(after.role) : -1;
  const [first, ...others] = roles.flatMap((role, index) => {
    if ((filter.role !== undefined && role !== filter.role) || index < reached) return [];
    const list = matching(membersOf(db, accountId), filter)
      .select(m => m.lit(index).as('place'))
      .where('m.role', '=', role)
      .where('m.user_id', '>', index === reached ? (after?.userId ?? 0) : 0)
      .orderBy('m.user_id')
      .limit(limit);
    return [db.selectFrom(list.as('of_role')).selectAll()];
  });
  if (!first) return [];
  return db
    .selectFrom(others.reduce((lists, list) => lists.unionAll(list), first).as('listed'))
    .select(['user_id', 'email', 'name', 'role', 'is_blocked', 'created_at'])
    .orderBy('place')
    .orderBy('user_id')
    .limit(limit)
    .execute();
}

function matching(members: ReturnType<typeof membersOf>, { beginning, isBlocked }: MemberFilter) {
  const chosen = isBlocked === undefined ? members : members.where('b.user_id', isBlocked ? 'is not' : 'is', null);
  if (beginning === undefined) return chosen;
  return chosen.where(m => {
    return m.or([beginsWith(m.fn('lower', ['u.email']), beginning), beginsWith(m.fn('lower', ['u.name']), beginning)]);
  });
}

export function readMember(
  { db }: Administration,
  { accountId, userId }: { accountId: number; userId: number },
): Promise<MemberView | undefined> {
  return membersOf(db, accountId).where('m.user_id', '=', userId).executeTakeFirst();
}
