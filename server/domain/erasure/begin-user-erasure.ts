import type { Database } from '../../database/database.ts';
import { plannedStatement, statement } from '../../database/statement.ts';
import { mailboxOf } from '../users/canonical-address.ts';
import { addCount, type RowCounts } from './batches.ts';
import type { ErasureOptions } from './erasure.ts';
import { findHolds } from './find-holds.ts';
import { forgetErrorsNaming, removeUserJobs } from './jobs.ts';
import { placeholderName } from './placeholder.ts';

interface LockedUser {
  email: string | null;
  canonical_email: string | null;
  name: string;
  notification_email: string | null;
  is_begun: boolean;
  is_due: boolean;
}

/** Before the user, as whoever gives a member another role locks them. */
const lockMemberships = statement<never>(
  'lock_memberships_for_erasure',
  'select from memberships where user_id = $1 order by account_id for update',
);

const lockUser = statement<LockedUser>(
  'lock_user_for_erasure',
  `select email, canonical_email, name, notification_email, erasure_began_at is not null as is_begun,
    coalesce(deletion_requested_at <= $2, false) as is_due
  from users where id = $1 and not is_placeholder for update`,
);

/**
 * The name goes at once from wherever it is read from here. An address must be there, and be nobody else's, so that the
 * same person may sign up anew; under .invalid there is none (RFC 2606).
 */
const clearProfile = statement<never>(
  'begin_user_erasure',
  `update users set erasure_began_at = $2, name = $3, email = 'erased-' || id || '@erased.invalid',
    canonical_email = 'erased-' || id || '@erased.invalid', avatar_url = null, notification_email = null
  where id = $1`,
);

/** What lets the person act, in person or by a token. */
const accesses = [
  accessOf('memberships', 'user_id = $1'),
  accessOf('sign_in_methods', 'user_id = $1'),
  accessOf('sessions', 'user_id = $1'),
  accessOf('password_links', 'user_id = $1'),
  accessOf('oauth_records', 'user_id = $1 or token_id = any (array(select id from api_tokens where issuer_id = $1))'),
];

function accessOf(table: string, condition: string) {
  return {
    table,
    removal: plannedStatement<{ count: number }>(`
      with removed as (delete from ${table} where ${condition} returning 1)
      select count(*)::int as count from removed`),
  };
}

/** To the person, wherever they were invited, and by the person. */
const removeInvitations = plannedStatement<{ count: number }>(`
  with removed as (delete from invitations where inviter_id = $1 or canonical_email = $2
    or (canonical_email is null and email = $3) returning 1)
  select count(*)::int as count from removed`);

const revokeTokens = plannedStatement<never>(
  'update api_tokens set revoked_at = $2 where issuer_id = $1 and revoked_at is null',
);

export type UserErasureBegin = { isResumed: boolean; counts: RowCounts } | { heldBy: string[] };

/**
 * Begins the erasure of a user who is due, or answers what holds it. Who locks the user first decides between it and
 * its cancelling, and between it and a role that would hold it. Undefined where there is nobody to erase any more.
 */
export function beginUserErasure(
  database: Database,
  userId: number,
  { now, dueBefore }: ErasureOptions,
): Promise<UserErasureBegin | undefined> {
  return database.transaction(async ({ query }) => {
    await query(lockMemberships, [userId]);
    const [user] = await query(lockUser, [userId, dueBefore]);
    if (!user || (!user.is_begun && !user.is_due)) return undefined;
    const counts: RowCounts = {};
    if (user.is_begun) return { isResumed: true, counts };
    // After the lock: whoever makes the user an owner has committed, or finds the erasure begun.
    const heldBy = await findHolds({ query }, userId);
    if (heldBy.length > 0) return { heldBy };

    await query(clearProfile, [userId, now, placeholderName]);
    await query(revokeTokens, [userId, now]);
    for (const { table, removal } of accesses) {
      const [removed] = await query(removal, [userId]);
      addCount(counts, table, removed?.count ?? 0);
    }
    addCount(counts, 'jobs', await removeUserJobs({ query }, userId));
    const [invitations] = await query(removeInvitations, [userId, user.canonical_email, user.email]);
    addCount(counts, 'invitations', invitations?.count ?? 0);
    const addresses = [user.email, user.notification_email].filter(address => address !== null);
    // A mail server may name the mailbox that it was told.
    await forgetErrorsNaming({ query }, [user.name, ...addresses, ...addresses.map(mailboxOf)]);
    return { isResumed: false, counts };
  });
}
