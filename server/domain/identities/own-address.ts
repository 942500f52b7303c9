import { randomUUID } from 'node:crypto';
import { type Expression, expressionBuilder } from 'kysely';

/** Addresses with this domain receive no mail (RFC 2606), so nobody can prove that they own one. */
const ending = '@identity.invalid';

/**
 * Makes an address for a user who belongs to an identity alone. The address that a provider asserts is not the user's
 * address, because only the account trusts the provider. The owner of that address may be another user.
 */
export function makeReplacementAddress(): string {
  return randomUUID() + ending;
}

/** Whether a user has an e-mail address of their own. Without one, the user signs in only with an identity. */
export function hasOwnAddress({ email }: { email: string }): boolean {
  return !email.endsWith(ending);
}

/** The SQL condition that a user has no e-mail address of their own. */
export function hasReplacementAddress(email: Expression<string | null>) {
  return expressionBuilder()(email, 'like', `%${ending}`);
}
