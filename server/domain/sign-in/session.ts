import { type Expression, type ExpressionBuilder, type Kysely, sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { isBlocked } from '../members/authority.ts';
import { makeSecret } from './secret-text.ts';

type OfUser = ExpressionBuilder<Tables & { u: Tables['users'] }, 'u'>;

/**
 * The condition that a user u may sign in and stay signed in. The user is not the placeholder and is not being erased.
 * A user whom an account blocks must be a member of an account that does not block them. Users who requested their
 * deletion may sign in to cancel the deletion.
 *
 * The condition has no filter on one account, because it checks all accounts of the user.
 */
export function maySignIn(u: OfUser) {
  const isBlockedAnywhere = u.exists(u.selectFrom('user_blocks as b').whereRef('b.user_id', '=', 'u.id'));
  const hasOpenAccount = u.exists(
    u
      .selectFrom('memberships as m')
      .whereRef('m.user_id', '=', 'u.id')
      .where(m => m.not(isBlocked(m.ref('m.account_id'), m.ref('m.user_id')))),
  );
  return u.and([
    u('u.is_placeholder', '=', false),
    u('u.erasure_began_at', 'is', null),
    u.or([u.not(isBlockedAnywhere), hasOpenAccount]),
  ]);
}

/** A user whose password was compared and is right. set_at is the time when this password was set. */
export interface ProvenUser {
  id: number;
  set_at: string | null;
}

/** Selects a user who may sign in, or nothing if the password has changed since it was compared. */
export function provenUsers(db: Kysely<Tables>, $: Arguments<ProvenUser>) {
  return db
    .selectFrom('users as u')
    .innerJoin('sign_in_methods as m', join => join.onRef('m.user_id', '=', 'u.id').on('m.kind', '=', 'password'))
    .select('u.id')
    .where('u.id', '=', $.id)
    .where('m.updated_at', '=', $.set_at)
    .where(maySignIn);
}

export interface SessionTerms {
  now: Date;
  /** The time when the session ends even if the user is active. */
  expiresAt: Date;
  /** The hash of the browser's earlier session token. The earlier session ends, because others may know its token. */
  previous: Buffer | undefined;
}

interface NewSession {
  tokenHash: Buffer;
  now: Date;
  expiresAt: Date;
}

/** Inserts a session for the user that `users` selects and locks. */
function insertOf(db: Kysely<Tables>, $: Arguments<NewSession>, users: Expression<{ id: number }>) {
  return db
    .with('user_as_before', () => users)
    .insertInto('sessions')
    .columns(['token_hash', 'user_id', 'created_at', 'last_seen_at', 'expires_at'])
    .expression(from =>
      from
        .selectFrom('user_as_before')
        .select([
          $.tokenHash.as('token_hash'),
          'id',
          $.now.as('created_at'),
          $.now.as('last_seen_at'),
          $.expiresAt.as('expires_at'),
        ]),
    )
    .returning('user_id');
}

const insertSession = query('insert_session', (db, $: Arguments<ProvenUser & NewSession>) =>
  insertOf(db, $, provenUsers(db, $).forShare(['u', 'm'])),
);

const insertSessionByLink = query('insert_session_by_link', (db, $: Arguments<{ id: number } & NewSession>) =>
  insertOf(db, $, db.selectFrom('users as u').select('u.id').where('u.id', '=', $.id).where(maySignIn).forShare('u')),
);

/**
 * Starts a session and returns its token. Returns undefined if the password has changed since it was compared, or if
 * the user may not sign in.
 *
 * A password change and the start of an erasure lock the same rows and end all sessions. So no session with the old
 * password can start after them.
 */
export function startSession(db: Queryable, user: ProvenUser, terms: SessionTerms): Promise<string | undefined> {
  return start(db, terms, session => db.query(insertSession, { ...user, ...session }));
}

/**
 * Starts a session for a user who has used a mailed link, and returns its token. Returns undefined if the user may not
 * sign in. The caller's transaction must first lock the user and then delete the link. A password change and the start
 * of an erasure take these locks in the same order, and end all sessions. So no session by an older link can start
 * after them.
 */
export function startSessionByLink(db: Queryable, id: number, terms: SessionTerms): Promise<string | undefined> {
  return start(db, terms, session => db.query(insertSessionByLink, { id, ...session }));
}

async function start(
  db: Queryable,
  { now, expiresAt, previous }: SessionTerms,
  insert: (session: NewSession) => Promise<unknown[]>,
): Promise<string | undefined> {
  const { text, hash: tokenHash } = makeSecret();
  const [session] = await insert({ tokenHash, now, expiresAt });
  if (!session) return undefined;
  if (previous) await endSession(db, previous);
  return text;
}

const deleteOne = query('delete_session', (db, $: Arguments<{ tokenHash: Buffer }>) =>
  db.deleteFrom('sessions').where('token_hash', '=', $.tokenHash).returning('user_id'),
);

export async function endSession(db: Queryable, tokenHash: Buffer): Promise<boolean> {
  return (await db.query(deleteOne, { tokenHash })).length > 0;
}

const deleteAll = query('delete_sessions_of_user', (db, $: Arguments<{ userId: number }>) =>
  db.deleteFrom('sessions').where('user_id', '=', $.userId).returning('user_id'),
);

export async function endAllSessions(db: Queryable, userId: number): Promise<number> {
  return (await db.query(deleteAll, { userId })).length;
}

/** Pages show the number of unread notifications among this many of the user's newest notifications. */
export const newestNotifications = 50;

/**
 * Reads the user of a session with the user's accounts. Leaves out accounts that block the user or are being erased.
 * Has no filter on one account, because a session belongs to a user and not to an account.
 */
const selectSession = query('select_session', (db, $: Arguments<{ tokenHash: Buffer; now: Date; idleSince: Date }>) =>
  db
    .selectFrom('sessions as s')
    .innerJoin('users as u', 'u.id', 's.user_id')
    .select(['u.id', 'u.name', 'u.email', 'u.is_operator', 'u.deletion_requested_at'])
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

function accountsOfUser(u: OfUser) {
  return u
    .selectFrom('memberships as m')
    .innerJoin('accounts as a', 'a.id', 'm.account_id')
    .select(['a.id', 'a.slug', 'a.name', 'a.plan', 'm.role'])
    .whereRef('m.user_id', '=', 'u.id')
    .where('a.erasure_began_at', 'is', null)
    .where(a => a.not(isBlocked(a.ref('a.id'), a.ref('u.id'))))
    .orderBy(a => a.fn('lower', ['a.name']))
    .orderBy('a.slug');
}

/**
 * Selects a user's newest notifications. With `user_id = u.id`, PostgreSQL might scan all notifications by id, which is
 * slow if the user has none. With `between`, only the index of the user's notifications has the right order.
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

/** unread_count is the number of unread notifications among the newest ones. The accounts are sorted by name. */
export type SignedInUser = Omit<RowOf<typeof selectSession>, 'is_noted'>;

export type AccountOfUser = SignedInUser['accounts'][number];

const noteSession = query('note_session_use', (db, $: Arguments<{ tokenHash: Buffer; now: Date }>) =>
  db
    .updateTable('sessions')
    .set({ last_seen_at: $.now })
    .where('token_hash', '=', $.tokenHash)
    .where('last_seen_at', '<=', minuteBefore($.now)),
);

/**
 * Returns the user of a session, unless the session has ended. Updates the time of the last use at most once a minute.
 */
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
