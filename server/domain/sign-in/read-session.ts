import type { Queryable } from '../../database/database.ts';
import { statement } from '../../database/statement.ts';
import type { Role } from '../../entities/membership.ts';
import { maySignIn } from './may-sign-in.ts';

/** An account whose pages a user may see something of. */
export interface AccountOfUser {
  id: number;
  slug: string;
  name: string;
  plan: string;
  role: Role;
}

/** Who is signed in. */
export interface SignedInUser {
  id: number;
  name: string;
  email: string;
  deletion_requested_at: string | null;
  /** Of the newest notifications, how many are not read. */
  unread_count: number;
  /** By name. */
  accounts: AccountOfUser[];
}

/** So many of the newest notifications are looked at: every page counts them, however many there are. */
export const newestNotifications = 50;

interface SessionRow extends SignedInUser {
  is_noted: boolean;
}

/**
 * In which accounts the user is a member, is not blocked, and of which nothing is erased yet. Only the index of the user's
 * notifications has the order in which they are counted: by their ids alone the planner might go through those of
 * everybody, in search of those of somebody who has none.
 */
const selectSession = statement<SessionRow>(
  'select_session',
  `select u.id, u.name, u.email, u.deletion_requested_at, s.last_seen_at > $2::timestamptz - interval '1 minute' as is_noted,
    coalesce((
      select json_agg(json_build_object(
        'id', a.id, 'slug', a.slug, 'name', a.name, 'plan', a.plan, 'role', m.role
      ) order by lower(a.name), a.slug)
      from memberships m join accounts a on a.id = m.account_id
      where m.user_id = u.id and a.erasure_began_at is null
        and not exists (select from user_blocks b where b.account_id = a.id and b.user_id = u.id)
    ), '[]') as accounts,
    (
      select count(*) from (
        select n.read_at from notifications n where n.user_id between u.id and u.id
        order by n.user_id, n.id desc limit ${newestNotifications}
      ) newest
      where newest.read_at is null
    ) as unread_count
  from sessions s join users u on u.id = s.user_id
  where s.token_hash = $1 and s.expires_at > $2 and s.last_seen_at > $3 and ${maySignIn}`,
);

const noteSession = statement<never>(
  'note_session_use',
  `update sessions set last_seen_at = $2::timestamptz where token_hash = $1 and last_seen_at <= $2::timestamptz - interval '1 minute'`,
);

/** Who is signed in by a session, where it is not over. Notes that it is used, to the minute. */
export async function readSession(
  db: Queryable,
  tokenHash: Buffer,
  { now, idleMinutes }: { now: Date; idleMinutes: number },
): Promise<SignedInUser | undefined> {
  const idleSince = new Date(now.getTime() - idleMinutes * 60_000);
  const [row] = await db.query(selectSession, [tokenHash, now, idleSince]);
  if (!row) return undefined;
  const { is_noted, ...user } = row;
  if (!is_noted) await db.query(noteSession, [tokenHash, now]);
  return user;
}
