import { type InferEntity, p } from '@mikro-orm/core';
import { accountKey, bigint, creationTime, defineTable } from './columns.ts';

/** An OpenID Connect provider of an account. People sign in to the account there. */
export const IdentityProvider = defineTable('IdentityProvider', 'identity_providers', {
  ...accountKey,
  /** A random text in the URL of the sign-in, so that nobody can list the providers of a server. */
  key: p.text(),
  /** The name on the button, such as the name of a company. */
  name: p.text(),
  issuer: p.text(),
  clientId: p.text(),
  /** The client secret, encrypted with the application key. */
  clientSecret: p.blob(),
  /** Whether all people of the provider may join the account. Otherwise the account's joinRule decides. */
  admitsEverybody: p.boolean().default(false),
  createdAt: creationTime(),
});
export type IdentityProvider = InferEntity<typeof IdentityProvider>;

/**
 * A person at a provider of an account, or in the application that embeds the account's boards. The identity signs the
 * person in as its user, in this account alone.
 */
export const Identity = defineTable('Identity', 'identities', {
  ...accountKey,
  /** Null for the application that embeds the account's boards. */
  providerId: bigint().nullable(),
  /** The name of the person at the provider (the claim `sub`). It never changes. */
  subject: p.text(),
  userId: bigint(),
  /** The verified e-mail address that the provider last asserted. Null if it asserted none. */
  address: p.text().nullable(),
  createdAt: creationTime(),
  lastUsedAt: creationTime(),
});
