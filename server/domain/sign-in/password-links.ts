import type { Queryable } from '../../database/database.ts';
import { plannedStatement, statement } from '../../database/statement.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { canonicalAddress } from '../users/canonical-address.ts';
import { maySignIn } from './may-sign-in.ts';
import { hashOfSecret, makeSecret } from './secret-text.ts';

/** How long a link works. */
export const passwordLinkMinutes = 30;

/**
 * Leaves it to a worker to mail a link to whoever has the address. What is done is the same for an address that nobody
 * has, so that neither the answer nor its time tells; and the link is made when it is sent, so that no job holds one.
 * Answers whose address it is, for the audit log.
 */
export async function requestPasswordLink(db: Queryable, email: string): Promise<number | undefined> {
  const [row] = await db.query(leaveMail, [canonicalAddress(email)]);
  return row?.user_id ?? undefined;
}

/** A few tries: a link that comes much later than it was asked for is of no use. */
const leaveMail = plannedStatement<{ user_id: number | null }>(`
  with asking as (
    select (select u.id from users u where u.canonical_email = $1 and ${maySignIn}) as user_id
  )
  select user_id,
    graphile_worker.add_job('mail_password_link', json_build_object('user_id', user_id), max_attempts => 5) as job
  from asking`);

const insertLink = statement<{ email: string; name: string }>(
  'insert_password_link',
  `with of_user as (
    select u.id, u.email, u.name from users u where u.id = $2 and ${maySignIn} for share of u
  ), link as (
    insert into password_links (token_hash, user_id, created_at, expires_at) select $1, id, $3, $4 from of_user
  )
  select email, name from of_user`,
);

/** Makes a link for a user who may sign in, to be given to nobody else. Answers its token, and whose it is. */
export async function insertPasswordLink(
  db: Queryable,
  userId: number,
  now: Date,
): Promise<{ token: string; email: string; name: string; expiresAt: Date } | undefined> {
  const { text: token, hash } = makeSecret();
  const expiresAt = new Date(now.getTime() + passwordLinkMinutes * 60_000);
  const [user] = await db.query(insertLink, [hash, userId, now, expiresAt]);
  return user && { ...user, token, expiresAt };
}

/** Makes a link for the operator to hand over. */
export async function createPasswordLink(
  admin: Administration,
  userId: number,
): Promise<{ token: string; expiresAt: Date }> {
  const link = await insertPasswordLink(admin, userId, admin.now);
  if (!link) throw new AdministrationError('conflict', 'The user cannot sign in: they are blocked, or being erased');
  admin.audit.record('password.link_created', { user_id: userId });
  return link;
}

/** Where a link leads. */
export function passwordLinkUrl({ BASE_URL }: { BASE_URL: string }, token: string): string {
  return `${BASE_URL}/admin/password?token=${token}`;
}

const selectLink = statement<{ user_id: number; email: string }>(
  'select_password_link',
  `select u.id as user_id, u.email from password_links l join users u on u.id = l.user_id
  where l.token_hash = $1 and l.expires_at > $2 and ${maySignIn}`,
);

/** Whose password a link sets; undefined when it was used, is over, or is none. To look at it does not use it up. */
export async function readPasswordLink(
  db: Queryable,
  token: string,
  now: Date,
): Promise<{ hash: Buffer; userId: number; email: string } | undefined> {
  const hash = hashOfSecret(token);
  const [row] = hash ? await db.query(selectLink, [hash, now]) : [];
  return hash && row && { hash, userId: row.user_id, email: row.email };
}

const deleteLinks = plannedStatement<never>('delete from password_links where user_id = $1');

/** Ends the links that are on their way: the password was set, or the address to which they were mailed is another one. */
export async function endPasswordLinks(db: Queryable, userId: number): Promise<void> {
  await db.query(deleteLinks, [userId]);
}
