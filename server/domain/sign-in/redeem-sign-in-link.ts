import { type Arguments, query } from '../../database/query.ts';
import { User } from '../../entities/user.ts';
import type { AuditActor } from '../../observability/audit-entries.ts';
import { t } from '../../text/catalogue.ts';
import { lockAccount } from '../accounts/find-account.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { joinAccount } from '../members/join-account.ts';
import { canonicalAddress } from '../users/canonical-address.ts';
import { createUser } from '../users/edit-user.ts';
import { lockUser } from '../users/find-user.ts';
import type { SessionTerms } from './session.ts';
import { type FollowedLink, readSignInLink } from './sign-in-links.ts';
import { type StartedSession, startSession } from './start-session.ts';

/** Only the first of several parallel requests deletes the link. For the other requests, the link no longer exists. */
const takeLink = query('take_sign_in_link', (db, $: Arguments<{ tokenHash: Buffer; now: Date }>) =>
  db
    .deleteFrom('sign_in_links')
    .where('token_hash', '=', $.tokenHash)
    .where('expires_at', '>', $.now)
    .returning('canonical_email'),
);

/**
 * Signs in the owner of the mailbox that received the link, confirms the user's address, and makes the user a member of
 * the link's account. If the link is a link to sign up, the function first creates the user, unless a user with the
 * address already exists. The audit log names the server as the creator of the user.
 *
 * A user with a second factor becomes a member only after they have entered the code of the second factor. The link
 * works only once, even if the user never enters the code.
 *
 * If two links create a user with the same address at the same time, the second call throws an error that
 * isAddressTaken recognizes. The caller then calls again, and the second link signs in the user that the first link
 * created.
 */
export async function redeemSignInLink(
  adminAs: (actor: AuditActor) => Administration,
  token: string,
  { name }: { name: string },
  terms: SessionTerms,
): Promise<{ userId: number; email: string; next: string } & StartedSession> {
  const server = adminAs({ by: 'server' });
  const { hash, email, next, userId: existing, account } = await lockLink(server, token);
  const [taken] = await server.query(takeLink, { tokenHash: hash, now: server.now });
  if (!taken) throw expired();
  const userId = existing ?? (await createUser(server, { email, name })).id;
  const admin = adminAs({ by: 'user', by_user_id: userId });
  await admin.em.nativeUpdate(User, { id: userId }, { confirmedEmail: canonicalAddress(email) });
  // startSession locks the user. Password changes and erasures take the same lock before they delete the links and end
  // the sessions. So no new session remains after a password change or an erasure.
  const started = await startSession(admin, { id: userId, set_at: null }, terms);
  if (!started) throw expired();
  // A user with a second factor does not join here, because the user has not entered a code yet. After the user has
  // entered the code, the page of the board offers to join.
  if (account && 'token' in started) await joinAccount(admin, { accountId: account.id, userId });
  return { userId, email, next, ...started };
}

/**
 * Locks the account and the user of a link, and returns the link. All changes of members take the locks in this order.
 * The function reads the link before and after it takes the locks. Between the two reads, another transaction may have
 * changed the account, the user or the link.
 */
async function lockLink(admin: Administration, token: string): Promise<FollowedLink> {
  const known = await readSignInLink(admin, token, admin.now);
  if (!known) throw expired();
  if (known.account) await lockAccount(admin, known.account.id);
  if (known.userId !== undefined) await lockUser(admin, known.userId);
  const link = await readSignInLink(admin, token, admin.now);
  if (!link || (known.userId !== undefined && link.userId !== known.userId)) throw expired();
  // Between the two reads of the link, another transaction created a user with this address, who is not locked yet.
  if (link.userId !== undefined && known.userId === undefined) await lockUser(admin, link.userId);
  return link;
}

function expired() {
  return new AdministrationError('not_found', t('refusals.link.used_or_expired'));
}
