import type { Queryable } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { User } from '../../entities/user.ts';
import { t } from '../../text/catalogue.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { quote } from '../fields.ts';
import { hasReplacementAddress } from '../identities/own-address.ts';
import { canonicalAddress } from './canonical-address.ts';

export async function findUser(admin: Administration, email: string): Promise<User | undefined> {
  return (await admin.em.findOne(User, { canonicalEmail: canonicalAddress(email) })) ?? undefined;
}

/**
 * Finds a user by e-mail address or id. If two users have the same address, the database has the canonical form for
 * only one of them. The function finds this user.
 */
export async function requireUser(admin: Administration, addressOrId: string): Promise<User> {
  const user = /^[0-9]{1,15}$/.test(addressOrId)
    ? await admin.em.findOne(User, { id: Number(addressOrId), isPlaceholder: false })
    : await findUser(admin, addressOrId);
  if (!user) throw new AdministrationError('not_found', t('refusals.user.unknown', { user: quote(addressOrId) }));
  return user;
}

const selectUserLocked = query('lock_user_to_change', (db, $: Arguments<{ userId: number }>) =>
  db
    .selectFrom('users')
    .select('id')
    .where(u => u.and({ id: $.userId, erasure_began_at: null, is_placeholder: false }))
    .forNoKeyUpdate(),
);

/** Locks a user before a change of the user's data. Throws if the user is being erased or does not exist. */
export async function lockUser(admin: Administration, userId: number): Promise<User> {
  const [row] = await admin.query(selectUserLocked, { userId });
  if (!row) throw new AdministrationError('conflict', t('refusals.user.in_erasure'));
  return admin.em.findOneOrFail(User, row.id, { refresh: true });
}

const selectMailRecipient = query('select_mail_recipient', (db, $: Arguments<{ userId: number }>) =>
  db
    .selectFrom('users')
    .select(['email', 'language'])
    .where(u => u.and({ id: $.userId, erasure_began_at: null }))
    .where(u => u.not(hasReplacementAddress(u.ref('email'))))
    .where('email', 'is not', null)
    .$narrowType<{ email: string }>(),
);

/** The recipient of a mail about signing in. The language is null if the user has chosen none. */
export type MailRecipient = RowOf<typeof selectMailRecipient>;

/**
 * Returns the address and the language for mails about signing in. Returns undefined if the user is being erased or has
 * no sign-in address.
 */
export async function readMailRecipient(db: Queryable, userId: number): Promise<MailRecipient | undefined> {
  const [recipient] = await db.query(selectMailRecipient, { userId });
  return recipient;
}
