import { sql } from 'kysely';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { t } from '../../text/catalogue.ts';
import { currentLanguage } from '../../text/language.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { canonicalAddress } from '../users/canonical-address.ts';
import { hashOfSecret, makeSecret } from './secret-text.ts';
import { maySignIn } from './session.ts';

export const passwordLinkMinutes = 30;

/**
 * Adds the job that mails a password link. The job has only a few attempts, because a late link is useless. Searches
 * all accounts, because an e-mail address belongs to no account.
 */
const leaveMail = query('leave_password_link_mail', (db, $: Arguments<{ email: string; language: string }>) =>
  db
    .with('asking', cte =>
      cte.selectNoFrom(from =>
        from
          .selectFrom('users as u')
          .select('u.id')
          .where('u.canonical_email', '=', $.email)
          .where(maySignIn)
          .as('user_id'),
      ),
    )
    .selectFrom('asking')
    .select([
      'user_id',
      sql`graphile_worker.add_job(
        'mail_password_link', json_build_object('user_id', user_id, 'language', ${$.language}::text), max_attempts => 5
      )`.as('job'),
    ]),
);

/**
 * Queues a mail with a password link to the user with this e-mail address. The function adds a job even for an unknown
 * address, so that neither the response nor its duration reveals whether the user exists. The worker creates the link,
 * so no job contains a link. Returns the user's id for the audit log.
 */
export async function requestPasswordLink(db: Queryable, email: string): Promise<number | undefined> {
  const [row] = await db.query(leaveMail, { email: canonicalAddress(email), language: currentLanguage() });
  return row?.user_id ?? undefined;
}

interface NewLink {
  tokenHash: Buffer;
  userId: number;
  now: Date;
  expiresAt: Date;
}

/**
 * Creates a password link. The returned email is never null. Only the placeholder for erased users has no email, and
 * nobody may sign in as the placeholder.
 */
const insertLink = query('insert_password_link', (db, $: Arguments<NewLink>) =>
  db
    .with('of_user', cte =>
      cte
        .selectFrom('users as u')
        .select(['u.id', 'u.email', 'u.name', 'u.language'])
        .where('u.id', '=', $.userId)
        .where(maySignIn)
        .forShare('u'),
    )
    .with('link', cte =>
      cte
        .insertInto('password_links')
        .columns(['token_hash', 'user_id', 'created_at', 'expires_at'])
        .expression(from =>
          from
            .selectFrom('of_user')
            .select([$.tokenHash.as('token_hash'), 'id', $.now.as('created_at'), $.expiresAt.as('expires_at')]),
        ),
    )
    .selectFrom('of_user')
    .select(['email', 'name', 'language'])
    .$narrowType<{ email: string }>(),
);

/** Creates a password link. Returns its token together with the user's data. Give the token only to this user. */
export async function insertPasswordLink(
  db: Queryable,
  userId: number,
  now: Date,
): Promise<{ token: string; email: string; name: string; language: string | null; expiresAt: Date } | undefined> {
  const { text: token, hash } = makeSecret();
  const expiresAt = new Date(now.getTime() + passwordLinkMinutes * 60_000);
  const [user] = await db.query(insertLink, { tokenHash: hash, userId, now, expiresAt });
  return user && { ...user, token, expiresAt };
}

/** Creates a password link that the operator of the server hands over to the user. */
export async function createPasswordLink(
  admin: Administration,
  userId: number,
): Promise<{ token: string; expiresAt: Date }> {
  const link = await insertPasswordLink(admin, userId, admin.now);
  if (!link) throw new AdministrationError('conflict', t('refusals.user.cannot_sign_in'));
  admin.audit.record('password.link_created', { user_id: userId });
  return link;
}

export function passwordLinkUrl({ BASE_URL }: { BASE_URL: string }, token: string): string {
  return `${BASE_URL}/admin/password?token=${token}`;
}

const selectLink = query('select_password_link', (db, $: Arguments<{ tokenHash: Buffer; now: Date }>) =>
  db
    .selectFrom('password_links as l')
    .innerJoin('users as u', 'u.id', 'l.user_id')
    .select(['u.id as user_id', 'u.email'])
    .where('l.token_hash', '=', $.tokenHash)
    .where('l.expires_at', '>', $.now)
    .where(maySignIn)
    .$narrowType<{ email: string }>(),
);

/** Returns the user of a password link that is still valid. The call does not use up the link. */
export async function readPasswordLink(
  db: Queryable,
  token: string,
  now: Date,
): Promise<{ hash: Buffer; userId: number; email: string } | undefined> {
  const hash = hashOfSecret(token);
  const [row] = hash ? await db.query(selectLink, { tokenHash: hash, now }) : [];
  return hash && row && { hash, userId: row.user_id, email: row.email };
}

const deleteLinks = query('delete_password_links', (db, $: Arguments<{ userId: number }>) =>
  db.deleteFrom('password_links').where('user_id', '=', $.userId),
);

/** Deletes a user's password links. Call this after a change of the user's password or e-mail address. */
export async function endPasswordLinks(db: Queryable, userId: number): Promise<void> {
  await db.query(deleteLinks, { userId });
}
