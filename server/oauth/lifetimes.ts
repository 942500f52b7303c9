const minute = 60;
const day = 24 * 60 * minute;

/* All lifetimes are in seconds. */

/** How long a client without a grant stays registered. */
export const unusedClientSeconds = 7 * day;

/** How long a client stays registered after its last token. Clients remember their registration, and few register again. */
export const usedClientSeconds = 365 * day;

/** The lifetimes of the provider's records. */
export const lifetimes = {
  /** Each call looks up the token, so revocation is immediate. A shorter lifetime would only cause more refreshes. */
  AccessToken: 60 * minute,
  AuthorizationCode: minute,
  /** The provider needs a lifetime for a grant. The grant really ends with its last token. */
  Grant: 3650 * day,
  IdToken: 60 * minute,
  /** The time to answer an authorization request, which may include setting a password. */
  Interaction: 60 * minute,
  /** Each refresh issues a new token. A client that is unused for this time must ask for consent again. */
  RefreshToken: 30 * day,
  RegistrationAccessToken: unusedClientSeconds,
  Session: 60 * minute,
};
