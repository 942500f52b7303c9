import { type InferEntity, p } from '@mikro-orm/core';
import { accountKey, bigint, creationTime, defineTable } from './columns.ts';

/** An OpenID Connect provider of an account. People can sign in to this account with the provider. */
export const IdentityProvider = defineTable('IdentityProvider', 'identity_providers', {
  ...accountKey,
  /** A random text in the URL of the sign-in, so that nobody can list the providers of a server. */
  key: p.text(),
  /** The name of the provider on its button, such as the name of a company. */
  name: p.text(),
  issuer: p.text(),
  clientId: p.text(),
  /** The client secret, encrypted with the application key. */
  clientSecret: p.blob(),
  /**
   * Whether everybody who signs in with the provider may join the account. If false, the account's joinRule decides.
   */
  admitsEverybody: p.boolean().default(false),
  createdAt: creationTime(),
});
export type IdentityProvider = InferEntity<typeof IdentityProvider>;

/**
 * An external identity: a person at a provider of an account, or in the application that embeds the account's boards. A
 * sign-in with the identity signs in the user of the identity, but only in this account.
 */
export const Identity = defineTable('Identity', 'identities', {
  ...accountKey,
  /** The provider of the identity. Null if the identity comes from the application that embeds the account's boards. */
  providerId: bigint().nullable(),
  /** The id of the person at the provider (the claim `sub`). It never changes. */
  subject: p.text(),
  userId: bigint(),
  /** The verified e-mail address that the provider last reported. Null if it reported none. */
  address: p.text().nullable(),
  createdAt: creationTime(),
  lastUsedAt: creationTime(),
});
