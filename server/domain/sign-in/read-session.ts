import { type Expression, type ExpressionBuilder, sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { maySignIn } from './may-sign-in.ts';

/** Every page counts the unread notifications, so the count looks at this many of the newest alone. */
export const newestNotifications = 50;

/**
 * Reads the user with the accounts where they are an unblocked member and no erasure has begun. The session names no
 * account, so the statement starts without one.
 */
const selectSession = query('select_session', (db, $: Arguments<{ tokenHash: Buffer; now: Date; idleSince: Date }>) =>
  db
    .selectFrom('sessions as s')
    .innerJoin('users as u', 'u.id', 's.user_id')
    .select(['u.id', 'u.name', 'u.email', 'u.deletion_requested_at'])
    .select(u => [
      u('s.last_seen_at', '>', minuteBefore($.now)).as('is_noted'),
      jsonArrayFrom(accountsOfUser(u)).as('accounts'),
      u
        .selectFrom(newestNotificationsOf(u).as('newest'))
        .select(newest => newest.fn.countAll<number>().as('count'))
        .where('newest.read_at', 'is', null)
        .$asScalar()
        .$notNull()
        .as('unread_count'),
    ])
    .where('s.token_hash', '=', $.tokenHash)
    .where('s.expires_at', '>', $.now)
    .where('s.last_seen_at', '>', $.idleSince)
    .where(maySignIn)
    .$narrowType<{ email: string }>(),
);

function minuteBefore(now: Expression<string>) {
  return sql<string>`${now}::timestamptz - interval '1 minute'`;
}

type OfUser = ExpressionBuilder<Tables & { u: Tables['users'] }, 'u'>;

function accountsOfUser(u: OfUser) {
  return u
    .selectFrom('memberships as m')
    .innerJoin('accounts as a', 'a.id', 'm.account_id')
    .select(['a.id', 'a.slug', 'a.name', 'a.plan', 'm.role'])
    .whereRef('m.user_id', '=', 'u.id')
    .where('a.erasure_began_at', 'is', null)
    .where(a =>
      a.not(
        a.exists(
          a.selectFrom('user_blocks as b').whereRef('b.account_id', '=', 'a.id').whereRef('b.user_id', '=', 'u.id'),
        ),
      ),
    )
    .orderBy(a => a.fn('lower', ['a.name']))
    .orderBy('a.slug');
}

/**
 * With `user_id = u.id`, the planner might walk all notifications by id, which is slow for a user who has none. With
 * `between`, only the index of the user's notifications has the order.
 */
function newestNotificationsOf(u: OfUser) {
  return u
    .selectFrom('notifications as n')
    .select('n.read_at')
    .where(n => n.between('n.user_id', n.ref('u.id'), n.ref('u.id')))
    .orderBy('n.user_id')
    .orderBy('n.id', 'desc')
    .limit(newestNotifications);
}

/** A signed-in user. unread_count is how many of the newest notifications are unread; accounts are sorted by name. */
export type SignedInUser = Omit<RowOf<typeof selectSession>, 'is_noted'>;

/** An account that a user may open in the administration. */
export type AccountOfUser = SignedInUser['accounts'][number];

const noteSession = query('note_session_use', (db, $: Arguments<{ tokenHash: Buffer; now: Date }>) =>
  db
    .updateTable('sessions')
    .set({ last_seen_at: $.now })
    .where('token_hash', '=', $.tokenHash)
    .where('last_seen_at', '<=', minuteBefore($.now)),
);

/** Returns the user of a session that has not ended. Records the use of the session, to the minute. */
export async function readSession(
  db: Queryable,
  tokenHash: Buffer,
  { now, idleMinutes }: { now: Date; idleMinutes: number },
): Promise<SignedInUser | undefined> {
  const idleSince = new Date(now.getTime() - idleMinutes * 60_000);
  const [row] = await db.query(selectSession, { tokenHash, now, idleSince });
  if (!row) return undefined;
  const { is_noted, ...user } = row;
  if (!is_noted) await db.query(noteSession, { tokenHash, now });
  return user;
}
