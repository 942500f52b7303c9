import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import type { ProvenUser } from './proven-user.ts';
import { makeSecret } from './secret-text.ts';

/** A person has this number of minutes to enter the code after the password or a mailed link. */
const challengeMinutes = 10;

interface NewChallenge {
  tokenHash: Buffer;
  userId: number;
  setAt: string | null;
  accountId: number | null;
  identityId: number | null;
  now: Date;
  expiresAt: Date;
}

const insertChallenge = query('insert_sign_in_challenge', (db, $: Arguments<NewChallenge>) =>
  db.insertInto('sign_in_challenges').values({
    token_hash: $.tokenHash,
    user_id: $.userId,
    password_set_at: $.setAt,
    account_id: $.accountId,
    identity_id: $.identityId,
    created_at: $.now,
    expires_at: $.expiresAt,
  }),
);

/** A sign-in that waits for a code. Only the browser that has the token can continue the sign-in. */
export interface Challenge {
  token: string;
  expiresAt: Date;
}

/** Makes a sign-in wait for a code. `set_at` is null if the sign-in has used no password. */
export async function makeChallenge(db: Queryable, { id, set_at, boundTo }: ProvenUser, now: Date): Promise<Challenge> {
  const { text: token, hash: tokenHash } = makeSecret();
  const expiresAt = new Date(now.getTime() + challengeMinutes * 60_000);
  const [accountId, identityId] = [boundTo?.accountId ?? null, boundTo?.identityId ?? null];
  await db.query(insertChallenge, { tokenHash, userId: id, setAt: set_at, accountId, identityId, now, expiresAt });
  return { token, expiresAt };
}

const selectChallenge = query('select_sign_in_challenge', (db, $: Arguments<{ tokenHash: Buffer; now: Date }>) =>
  db
    .selectFrom('sign_in_challenges as c')
    .innerJoin('users as u', 'u.id', 'c.user_id')
    .select(['u.id', 'u.email', 'c.password_set_at as set_at', 'c.account_id', 'c.identity_id'])
    .where('c.token_hash', '=', $.tokenHash)
    .where('c.expires_at', '>', $.now)
    .$narrowType<{ email: string }>(),
);

/** The user of a sign-in that waits for a code. */
export interface OpenChallenge extends ProvenUser {
  email: string;
  tokenHash: Buffer;
}

/** Returns the user of a sign-in that waits for a code, or undefined if the sign-in has ended or expired. */
export async function readChallenge(db: Queryable, tokenHash: Buffer, now: Date): Promise<OpenChallenge | undefined> {
  const [row] = await db.query(selectChallenge, { tokenHash, now });
  if (!row) return undefined;
  const { account_id: accountId, identity_id: identityId, ...user } = row;
  const boundTo = accountId === null || identityId === null ? undefined : { accountId, identityId };
  return { ...user, boundTo, tokenHash };
}

const deleteChallenge = query('take_sign_in_challenge', (db, $: Arguments<{ tokenHash: Buffer; now: Date }>) =>
  db
    .deleteFrom('sign_in_challenges')
    .where('token_hash', '=', $.tokenHash)
    .where('expires_at', '>', $.now)
    .returning('user_id'),
);

/** Deletes the row of a sign-in that waits for a code. Returns true only to the first of several parallel requests. */
export async function takeChallenge(db: Queryable, tokenHash: Buffer, now: Date): Promise<boolean> {
  return (await db.query(deleteChallenge, { tokenHash, now })).length > 0;
}

const deleteChallenges = query('delete_sign_in_challenges_of_user', (db, $: Arguments<{ userId: number }>) =>
  db.deleteFrom('sign_in_challenges').where('user_id', '=', $.userId),
);

export async function endChallenges(db: Queryable, userId: number): Promise<void> {
  await db.query(deleteChallenges, { userId });
}
