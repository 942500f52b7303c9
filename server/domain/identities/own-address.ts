import { randomUUID } from 'node:crypto';
import { type Expression, expressionBuilder } from 'kysely';

/** E-mail addresses with this domain receive no mail (RFC 2606), so nobody can confirm such an address. */
const ending = '@identity.invalid';

/**
 * Makes an internal e-mail address for a user who can sign in only through an identity provider. The user does not get
 * the address that the provider reports. The reported address may belong to another user, and only one account trusts
 * the provider.
 */
export function makeReplacementAddress(): string {
  return randomUUID() + ending;
}

/**
 * Whether a user has an e-mail address of their own, and not only an internal replacement address. A user with a
 * replacement address can sign in only through an identity provider or the application that embeds the boards.
 */
export function hasOwnAddress({ email }: { email: string }): boolean {
  return !email.endsWith(ending);
}

/** The SQL condition that a user has only an internal replacement address. */
export function hasReplacementAddress(email: Expression<string | null>) {
  return expressionBuilder()(email, 'like', `%${ending}`);
}
