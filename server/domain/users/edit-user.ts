import { type Arguments, query } from '../../database/query.ts';
import { type MailFrequency, User } from '../../entities/user.ts';
import { t } from '../../text/catalogue.ts';
import type { Language } from '../../text/language.ts';
import { type Administration, AdministrationError, explainViolations, noteFields } from '../administration.ts';
import { checkEmail, checkName } from '../fields.ts';
import { makeReplacementAddress } from '../identities/own-address.ts';
import { addLastSummaries } from '../notifications/summaries.ts';
import { endChallenges } from '../sign-in/challenge.ts';
import { endPasswordLinks } from '../sign-in/password-links.ts';
import { canonicalAddress } from './canonical-address.ts';
import { findUser } from './find-user.ts';

export async function createUser(admin: Administration, input: { email: string; name: string }): Promise<User> {
  const email = checkEmail(input.email);
  const user = admin.em.create(User, {
    email,
    canonicalEmail: canonicalAddress(email),
    name: checkName(input.name, 100),
    createdAt: admin.now,
  });
  await explainViolations(emailTaken(email), () => admin.em.flush());
  admin.audit.record('user.created', { user_id: user.id, email });
  return user;
}

/**
 * Creates a user who can sign in only through an identity provider of an account, or through the application that
 * embeds its boards. The user gets no sign-in address, because the e-mail address that a provider reports may belong to
 * somebody else.
 */
export async function createIdentityUser(
  admin: Administration,
  { name, notificationEmail }: { name: string; notificationEmail: string | null },
): Promise<User> {
  const email = makeReplacementAddress();
  const user = admin.em.create(User, {
    email,
    canonicalEmail: email,
    name: checkName(name, 100),
    notificationEmail: notificationEmail === null ? null : checkEmail(notificationEmail),
    createdAt: admin.now,
  });
  await admin.em.flush();
  admin.audit.record('user.created', { user_id: user.id });
  return user;
}

export async function findOrCreateUser(admin: Administration, input: { email: string; name?: string }): Promise<User> {
  const { name } = input;
  const email = checkEmail(input.email);
  const user = await findUser(admin, email);
  if (user) return user;
  if (name === undefined) {
    throw new AdministrationError('invalid', t('refusals.user.unknown_without_name', { email }));
  }
  return createUser(admin, { email, name });
}

/** Whether createUser failed because another transaction has just created a user with the same address. */
export function isAddressTaken(error: unknown): boolean {
  const { constraint } = ((error as Error).cause ?? {}) as { constraint?: unknown };
  return error instanceof AdministrationError && typeof constraint === 'string' && constraint in emailTaken('');
}

function emailTaken(email: string) {
  const message = t('refusals.user.address_taken', { email });
  return { users_canonical_email_key: message, users_email_key: message };
}

interface UserChanges {
  name?: string;
  email?: string;
  /** The e-mail address for notifications. Null removes the address. */
  notificationEmail?: string | null;
  /** The language of pages and mails. Null leaves the choice to the user's browser. */
  language?: Language | null;
  /** Whether the user gets notifications of mentions. */
  wantsMentions?: boolean;
  mailFrequency?: MailFrequency;
}

export async function updateUser(admin: Administration, user: User, changes: UserChanges): Promise<void> {
  const { notificationEmail, language, wantsMentions, mailFrequency } = changes;
  const changedFields = noteFields(user, [
    'name',
    'email',
    'notificationEmail',
    'language',
    'wantsMentions',
    'mailFrequency',
  ]);
  if (changes.name !== undefined) user.name = checkName(changes.name, 100);
  if (changes.email !== undefined) user.email = checkEmail(changes.email);
  if (notificationEmail !== undefined) {
    user.notificationEmail = notificationEmail === null ? null : checkEmail(notificationEmail);
  }
  if (language !== undefined) user.language = language;
  if (wantsMentions !== undefined) user.wantsMentions = wantsMentions;
  if (mailFrequency === 'immediately' && user.mailFrequency !== 'immediately') {
    await addLastSummaries(admin, user.id, user.mailFrequency);
  }
  if (mailFrequency !== undefined) user.mailFrequency = mailFrequency;
  const { email: address } = changes;
  await explainViolations(emailTaken(user.email ?? ''), async () => {
    await admin.em.flush();
    if (address === undefined) return;
    // Stores the canonical form in a second statement. While the first statement changes the address, a trigger for the
    // previous version of the server may clear the canonical form.
    await admin.em.nativeUpdate(User, { id: user.id }, { canonicalEmail: canonicalAddress(address) });
  });
  const changed = changedFields();
  if (changed.length === 0) return;
  const email = changed.includes('email') && user.email ? { email: user.email } : {};
  // Deletes the old password links. The server mailed them to the old address, and another person may read the mail of
  // this address.
  if (changed.includes('email')) {
    await endPasswordLinks(admin, user.id);
    // Ends sign-ins that wait for a code, because a link to the old address may have started such a sign-in.
    await endChallenges(admin, user.id);
  }
  admin.audit.record('user.updated', { user_id: user.id, changed, ...email });
}

const setFirstLanguage = query('set_first_language_of_user', (db, $: Arguments<{ userId: number; language: string }>) =>
  db
    .updateTable('users as u')
    .set({ language: $.language })
    .where('u.id', '=', $.userId)
    .where('u.language', 'is', null)
    .where('u.erasure_began_at', 'is', null)
    .returning('u.id'),
);

/**
 * Sets the language of pages and mails if the user has chosen none, so that later mails are in the language of the
 * pages.
 */
export async function keepLanguage(admin: Administration, userId: number, language: Language): Promise<void> {
  const [changed] = await admin.query(setFirstLanguage, { userId, language });
  if (changed) admin.audit.record('user.updated', { user_id: userId, changed: ['language'] });
}
