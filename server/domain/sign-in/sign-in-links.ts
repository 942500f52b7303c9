import { sql } from 'kysely';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { currentLanguage } from '../../text/language.ts';
import { admits, type JoinableAccount, readJoinable } from '../accounts/join-rule.ts';
import { findPublicBoard } from '../boards/read-board.ts';
import { canonicalAddress } from '../users/canonical-address.ts';
import { readMailRecipient } from '../users/find-user.ts';
import { readBlockingAccounts } from './blocking-accounts.ts';
import { hashOfSecret, makeSecret } from './secret-text.ts';
import { maySignIn } from './session.ts';

export const signInLinkMinutes = 30;

/** The payload of the job that mails a link. It contains either user_id or email, and the other field is null. */
export interface LinkRequest {
  user_id: number | null;
  /** The address of a person who is not a user yet. */
  email: string | null;
  /** The path of the page that opens after the sign-in. */
  next: string;
  /** The slug of the board where a new person wants to sign up. */
  board: string | null;
}

/**
 * Adds the job that mails a sign-in link. The job has only a few attempts, because a late link is useless. For an
 * unknown address, the payload also contains the canonical form of the address, so that an erasure can find the job.
 */
const leaveMail = query(
  'leave_sign_in_link_mail',
  (db, $: Arguments<{ email: string; canonicalEmail: string; next: string; board: string | null; language: string }>) =>
    db
      .with('asking', cte =>
        cte.selectNoFrom(from =>
          from.selectFrom('users as u').select('u.id').where('u.canonical_email', '=', $.canonicalEmail).as('user_id'),
        ),
      )
      .selectFrom('asking')
      .select([
        'user_id',
        sql`graphile_worker.add_job(
          'mail_sign_in_link',
          json_build_object(
            'user_id', user_id,
            'email', case when user_id is null then ${$.email}::text end,
            'canonical_email', case when user_id is null then ${$.canonicalEmail}::text end,
            'next', ${$.next}::text,
            'board', ${$.board}::text,
            'language', ${$.language}::text
          ),
          max_attempts => 5
        )`.as('job'),
      ]),
);

/**
 * Queues a mail with a sign-in link or a sign-up link. Does the same work for every address, so that neither the
 * response nor its duration reveals whether a user has the address. The worker later decides whether to mail a link,
 * and creates the link. So no job contains a link. Returns the user's id for the audit log.
 */
export async function requestSignInLink(
  db: Queryable,
  { email, next, board }: { email: string; next: string; board: string | undefined },
): Promise<number | undefined> {
  const canonicalEmail = canonicalAddress(email);
  const asked = { email, canonicalEmail, next, board: board ?? null, language: currentLanguage() };
  const [row] = await db.query(leaveMail, asked);
  return row?.user_id ?? undefined;
}

const selectOwner = query('select_owner_of_address', (db, $: Arguments<{ canonicalEmail: string }>) =>
  db
    .selectFrom('users as u')
    .select(['u.id', 'u.language'])
    .select(u => maySignIn(u).as('may_sign_in'))
    .where('u.canonical_email', '=', $.canonicalEmail),
);

interface NewLink {
  tokenHash: Buffer;
  userId: number | null;
  accountId: number | null;
  email: string;
  canonicalEmail: string;
  next: string;
  now: Date;
  expiresAt: Date;
}

const insertLink = query('insert_sign_in_link', (db, $: Arguments<NewLink>) =>
  db.insertInto('sign_in_links').values({
    token_hash: $.tokenHash,
    user_id: $.userId,
    account_id: $.accountId,
    email: $.email,
    canonical_email: $.canonicalEmail,
    next: $.next,
    created_at: $.now,
    expires_at: $.expiresAt,
  }),
);

export interface MailedLink {
  token: string;
  email: string;
  /** The user to sign in. Undefined if the link lets a new person sign up. */
  userId: number | undefined;
  /** The language of the user's profile. */
  language: string | null;
  /** The account that a new person joins. */
  account: JoinableAccount | undefined;
}

/**
 * Creates the link for a mail: a sign-in link for a user who may sign in. An unknown address gets a link to sign up if
 * the account of the board lets the address join. Returns undefined if the address gets no mail.
 */
export async function makeSignInLink(
  db: Queryable,
  { user_id, email: given, next, board }: LinkRequest,
  now: Date,
): Promise<MailedLink | undefined> {
  const email = user_id === null ? given : (await readMailRecipient(db, user_id))?.email;
  if (email === null || email === undefined) return undefined;
  const canonicalEmail = canonicalAddress(email);
  const [owner] = await db.query(selectOwner, { canonicalEmail });
  if (owner ? !owner.may_sign_in : user_id !== null) return undefined;
  const account = owner || board === null ? undefined : await findJoinable(db, board, canonicalEmail);
  if (!owner && !account) return undefined;
  const { text: token, hash: tokenHash } = makeSecret();
  const expiresAt = new Date(now.getTime() + signInLinkMinutes * 60_000);
  const [userId, accountId] = [owner?.id ?? null, account?.id ?? null];
  await db.query(insertLink, { tokenHash, userId, accountId, email, canonicalEmail, next, now, expiresAt });
  return { token, email, userId: owner?.id, language: owner?.language ?? null, account };
}

/** Returns the account of a public board if the account lets the address join. */
async function findJoinable(db: Queryable, slug: string, canonicalEmail: string): Promise<JoinableAccount | undefined> {
  const board = await findPublicBoard(db, slug);
  const account = board && (await readJoinable(db, board.accountId));
  return account && admits(account, canonicalEmail) ? account : undefined;
}

export function signInLinkUrl({ BASE_URL }: { BASE_URL: string }, token: string): string {
  return `${BASE_URL}/sign-in/link?token=${token}`;
}

const selectLink = query('select_sign_in_link', (db, $: Arguments<{ tokenHash: Buffer; now: Date }>) =>
  db
    .selectFrom('sign_in_links')
    .select(['user_id', 'account_id', 'email', 'canonical_email', 'next'])
    .where('token_hash', '=', $.tokenHash)
    .where('expires_at', '>', $.now),
);

export interface FollowedLink {
  hash: Buffer;
  email: string;
  next: string;
  /**
   * The id of the user who has the e-mail address now. Undefined if no user has it. In this case, the link lets a new
   * person sign up.
   */
  userId: number | undefined;
  /** The account that the person joins. Undefined for a sign-in link. */
  account: JoinableAccount | undefined;
}

/**
 * Reads a link from a mail if the link is still valid. The call does not use up the link. A link stops working if its
 * user gets another address or may no longer sign in. A link to sign up also stops working if its account no longer
 * lets the address join. The result may reveal whether a user has the address, because only the owner of the address
 * gets the link.
 */
export async function readSignInLink(db: Queryable, token: string, now: Date): Promise<FollowedLink | undefined> {
  const hash = hashOfSecret(token);
  const [link] = hash ? await db.query(selectLink, { tokenHash: hash, now }) : [];
  if (!hash || !link) return undefined;
  const { user_id, account_id, email, canonical_email: canonicalEmail, next } = link;
  const [owner] = await db.query(selectOwner, { canonicalEmail });
  if (owner && !owner.may_sign_in) return undefined;
  const followed = { hash, email, next, userId: owner?.id };
  if (account_id === null) return owner?.id === user_id ? { ...followed, account: undefined } : undefined;
  const account = await readJoinable(db, account_id);
  return account && admits(account, canonicalEmail) ? { ...followed, account } : undefined;
}

/**
 * Returns the user of a link from a mail that would still be valid if no account blocked the user, with the names of these
 * accounts. Only the owner of the mailbox has the link.
 */
export async function readBlockOfLink(
  db: Queryable,
  token: string,
  now: Date,
): Promise<{ userId: number; blockedIn: string[] } | undefined> {
  const hash = hashOfSecret(token);
  const [link] = hash ? await db.query(selectLink, { tokenHash: hash, now }) : [];
  const [owner] = link ? await db.query(selectOwner, { canonicalEmail: link.canonical_email }) : [];
  if (!owner || owner.may_sign_in) return undefined;
  return { userId: owner.id, blockedIn: await readBlockingAccounts(db, owner.id) };
}

const deleteLinks = query('delete_sign_in_links', (db, $: Arguments<{ userId: number }>) =>
  db.deleteFrom('sign_in_links').where(l => {
    const address = db.selectFrom('users as u').select('u.canonical_email').where('u.id', '=', $.userId);
    return l.or([l('user_id', '=', $.userId), l('canonical_email', '=', address)]);
  }),
);

/**
 * Deletes a user's sign-in links, and the links to sign up that the user's address got earlier. Such a link also signs
 * the user in. Call this function after a change of the user's password, before the user's sessions end. Somebody may
 * use a link at the same moment. Then either the link's session has already started and ends with the other sessions, or
 * the link no longer works.
 */
export async function endSignInLinks(db: Queryable, userId: number): Promise<void> {
  await db.query(deleteLinks, { userId });
}
