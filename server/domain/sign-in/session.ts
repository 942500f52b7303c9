import { type Expression, type ExpressionBuilder, type Kysely, sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { isBlocked } from '../members/authority.ts';
import { endChallenges } from './challenge.ts';
import type { BoundTo, ProvenUser } from './proven-user.ts';
import { makeSecret } from './secret-text.ts';

type OfUser = ExpressionBuilder<Tables & { u: Tables['users'] }, 'u'>;

/**
 * The condition that a user may sign in and stay signed in. The SQL alias of the user is `u`. The user is not the
 * placeholder for erased users and is not being erased. A user who is blocked in an account needs a membership in
 * another account that does not block the user. Users who requested their deletion may sign in to cancel the deletion.
 *
 * The condition checks the user's blocks and memberships in all accounts.
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

type PasswordUser = Pick<ProvenUser, 'id' | 'set_at'>;

/**
 * Selects the user if the user may sign in. Selects nothing if the password has changed since the server checked it.
 */
export function provenUsers(db: Kysely<Tables>, $: Arguments<PasswordUser>) {
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
  /** The time when the session ends, even if the user is still active. */
  expiresAt: Date;
  /** The hash of the browser's earlier session token. The earlier session ends, because others may know its token. */
  previous: Buffer | undefined;
  /**
   * The id of the embedding secret that signed the person's token. A session with an embedding secret opens only the
   * embedded pages of boards.
   */
  embeddingSecretId?: number | null;
}

const lockUserWithPassword = query('lock_user_with_password', (db, $: Arguments<PasswordUser & { set_at: string }>) =>
  provenUsers(db, $).forShare(['u', 'm']),
);

const lockUserWithLink = query('lock_user_with_link', (db, $: Arguments<{ id: number }>) =>
  db.selectFrom('users as u').select('u.id').where('u.id', '=', $.id).where(maySignIn).forShare('u'),
);

/**
 * Locks a user before a session starts. Returns false if the password has changed since the server checked it, or if
 * the user may not sign in.
 *
 * A password change and the start of an erasure lock the same rows and end all sessions. So after a password change, no
 * session can start with the old password. Password changes and erasures also end the sign-ins that wait for a code. A
 * change of the e-mail address also ends these sign-ins. Turning on two-factor sign-in also locks the user and ends the
 * other sessions.
 */
export async function lockProvenUser(db: Queryable, { id, set_at }: ProvenUser): Promise<boolean> {
  const locked =
    set_at === null ? await db.query(lockUserWithLink, { id }) : await db.query(lockUserWithPassword, { id, set_at });
  return locked.length > 0;
}

interface NewSession {
  userId: number;
  tokenHash: Buffer;
  now: Date;
  expiresAt: Date;
  accountId: number | null;
  identityId: number | null;
  embeddingSecretId: number | null;
  hasSecondFactor: boolean;
}

const insertSession = query('insert_session', (db, $: Arguments<NewSession>) =>
  db.insertInto('sessions').values({
    token_hash: $.tokenHash,
    user_id: $.userId,
    created_at: $.now,
    last_seen_at: $.now,
    expires_at: $.expiresAt,
    account_id: $.accountId,
    identity_id: $.identityId,
    embedding_secret_id: $.embeddingSecretId,
    has_second_factor: $.hasSecondFactor,
  }),
);

/** Starts a session and returns its token. The caller has locked the user in the same transaction. */
export async function openSession(
  db: Queryable,
  { userId, boundTo, hasSecondFactor }: { userId: number; boundTo: BoundTo | undefined; hasSecondFactor: boolean },
  { now, expiresAt, previous, embeddingSecretId = null }: SessionTerms,
): Promise<string> {
  const { text, hash: tokenHash } = makeSecret();
  const [accountId, identityId] = [boundTo?.accountId ?? null, boundTo?.identityId ?? null];
  const session = { userId, tokenHash, now, expiresAt, accountId, identityId, embeddingSecretId, hasSecondFactor };
  await db.query(insertSession, session);
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

/**
 * Ends all sessions of a user, and all sign-ins that wait for a code. If a sign-in is about to start its session, the
 * first statement waits for this sign-in. So the second statement also ends the new session.
 */
export async function endAllSessions(db: Queryable, userId: number): Promise<number> {
  await endChallenges(db, userId);
  return (await db.query(deleteAll, { userId })).length;
}

/** A page counts a user's unread notifications only among this number of the user's newest notifications. */
export const newestNotifications = 50;

type OfSession = ExpressionBuilder<Tables & { s: Tables['sessions']; u: Tables['users'] }, 's' | 'u'>;

export interface SessionArguments {
  tokenHash: Buffer;
  now: Date;
  idleSince: Date;
  isEmbedded: boolean;
}

/**
 * Selects the user of a session with the accounts that the session reaches. The SQL alias of the user is `u`. Leaves out
 * accounts that block the user or are being erased. Searches all accounts, because most sessions reach all accounts of
 * the user.
 *
 * A session that began with an external identity of an account reaches only this account. Such a session reaches
 * neither the operator's panel nor notifications from other accounts. It ends when the identity is removed. A session
 * on embedded boards also ends when the session's embedding secret is deleted.
 */
export function sessionRows(db: Kysely<Tables>, $: Arguments<SessionArguments>) {
  return db
    .selectFrom('sessions as s')
    .innerJoin('users as u', 'u.id', 's.user_id')
    .select(['u.id', 'u.name', 'u.email', 'u.language', 'u.deletion_requested_at', 's.has_second_factor'])
    .select(['s.account_id as only_account_id', 's.created_at as signed_in_at'])
    .select(u => [
      u('s.last_seen_at', '>', minuteBefore($.now)).$castTo<boolean>().as('is_noted'),
      u
        .and([u('u.is_operator', '=', true), u('s.account_id', 'is', null)])
        .$castTo<boolean>()
        .as('is_operator'),
      jsonArrayFrom(accountsOfUser(u)).as('accounts'),
      u
        .selectFrom(newestNotificationsOf(u).as('newest'))
        .select(newest => newest.fn.countAll<number>().as('count'))
        .where('newest.read_at', 'is', null)
        .where(newest => newest('newest.account_id', '=', newest.fn.any(openAccountsOf(u))))
        .$asScalar()
        .$notNull()
        .as('unread_count'),
    ])
    .where('s.token_hash', '=', $.tokenHash)
    .where('s.expires_at', '>', $.now)
    .where('s.last_seen_at', '>', $.idleSince)
    .where(s => s.or([s('s.account_id', 'is', null), s.exists(identityOfSession(s))]))
    .where(s =>
      s.or([
        s.and([s($.isEmbedded, '=', false), s('s.embedding_secret_id', 'is', null)]),
        s.and([s($.isEmbedded, '=', true), s.exists(secretOfSession(s))]),
      ]),
    )
    .where(maySignIn)
    .$narrowType<{ email: string }>();
}

const selectSession = query('select_session', (db, $: Arguments<SessionArguments>) => sessionRows(db, $));

function minuteBefore(now: Expression<string>) {
  return sql<string>`${now}::timestamptz - interval '1 minute'`;
}

function identityOfSession(s: OfSession) {
  return s
    .selectFrom('identities as i')
    .whereRef('i.account_id', '=', 's.account_id')
    .whereRef('i.id', '=', 's.identity_id');
}

function secretOfSession(s: OfSession) {
  return s
    .selectFrom('embedding_secrets as e')
    .whereRef('e.account_id', '=', 's.account_id')
    .whereRef('e.id', '=', 's.embedding_secret_id');
}

/**
 * Selects the accounts of the user that the session reaches. An account may require that its members sign in through
 * one of its identity providers. A session that began without a provider reaches such an account only if the user is an
 * owner.
 */
function accountsOfUser(u: OfSession) {
  return u
    .selectFrom('memberships as m')
    .innerJoin('accounts as a', 'a.id', 'm.account_id')
    .select(['a.id', 'a.slug', 'a.name', 'a.plan', 'a.requires_second_factor', 'm.role'])
    .whereRef('m.user_id', '=', 'u.id')
    .where('a.erasure_began_at', 'is', null)
    .where(a => a.not(isBlocked(a.ref('a.id'), a.ref('u.id'))))
    .where(a =>
      a.or([
        a('s.account_id', '=', a.ref('a.id')),
        a.and([a('s.account_id', 'is', null), a.or([a('a.requires_provider', '=', false), a('m.role', '=', 'owner')])]),
      ]),
    )
    .orderBy(a => a.fn('lower', ['a.name']))
    .orderBy('a.slug');
}

/** Selects the ids of the accounts that the user is a member of and that do not block the user, as an array. */
function openAccountsOf(u: OfSession) {
  const memberships = u
    .selectFrom('memberships as m')
    .select('m.account_id')
    .whereRef('m.user_id', '=', 'u.id')
    .where(m => m.not(isBlocked(m.ref('m.account_id'), m.ref('m.user_id'))));
  return sql<number[]>`array(${memberships})`;
}

/**
 * Selects a user's newest notifications. With `user_id = u.id`, PostgreSQL might scan all notifications by id, which is
 * slow if the user has none. With `between`, only the index of the user's notifications has the right order.
 */
function newestNotificationsOf(u: OfSession) {
  return u
    .selectFrom('notifications as n')
    .select(['n.read_at', 'n.account_id'])
    .where(n => n.between('n.user_id', n.ref('u.id'), n.ref('u.id')))
    .where(n => n.or([n('s.account_id', 'is', null), n('n.account_id', '=', n.ref('s.account_id'))]))
    .orderBy('n.user_id')
    .orderBy('n.id', 'desc')
    .limit(newestNotifications);
}

/**
 * `unread_count` is the number of unread notifications among the user's newest notifications. `accounts` is sorted by
 * name. `only_account_id` is null for an ordinary session. Otherwise the session began with a sign-in through a
 * provider of this account, and reaches only this account.
 */
export type SignedInUser = Omit<RowOf<typeof selectSession>, 'is_noted'>;

export type AccountOfUser = SignedInUser['accounts'][number];

const noteSession = query('note_session_use', (db, $: Arguments<{ tokenHash: Buffer; now: Date }>) =>
  db
    .updateTable('sessions')
    .set({ last_seen_at: $.now })
    .where('token_hash', '=', $.tokenHash)
    .where('last_seen_at', '<=', minuteBefore($.now)),
);

/** The session that a browser names, and the terms on which it has not ended. */
export interface SessionLookUp {
  tokenHash: Buffer;
  now: Date;
  idleMinutes: number;
  isEmbedded?: boolean;
}

/** Returns the user of a session, unless the session has ended. */
export async function readSession(db: Queryable, lookUp: SessionLookUp): Promise<SignedInUser | undefined> {
  return readSessionWith(db, lookUp, values => db.query(selectSession, values));
}

/**
 * Reads a session with a query that is based on sessionRows(). Updates the time of the last use at most once a minute.
 */
export async function readSessionWith<Row extends { is_noted: boolean }>(
  db: Queryable,
  { tokenHash, now, idleMinutes, isEmbedded = false }: SessionLookUp,
  select: (values: SessionArguments) => Promise<Row[]>,
): Promise<Omit<Row, 'is_noted'> | undefined> {
  const idleSince = new Date(now.getTime() - idleMinutes * 60_000);
  const [row] = await select({ tokenHash, now, idleSince, isEmbedded });
  if (!row) return undefined;
  const { is_noted, ...found } = row;
  if (!is_noted) await db.query(noteSession, { tokenHash, now });
  return found;
}
