const minute = 60;
const day = 24 * 60 * minute;

/* All lifetimes in this file are in seconds. */

/** How long a client stays registered if no user has given the client a grant. */
export const unusedClientSeconds = 7 * day;

/**
 * How long a client stays registered after it got its last token. This time is long, because few clients can repeat
 * their registration.
 */
export const usedClientSeconds = 365 * day;

/** The lifetimes of oidc-provider's records. */
export const lifetimes = {
  /**
   * The lifetime of an access token. Every request looks the token up in the database, so revocation is immediate. A
   * shorter lifetime would only cause more refreshes.
   */
  AccessToken: 60 * minute,
  AuthorizationCode: minute,
  /**
   * The lifetime of a grant. oidc-provider requires a lifetime, but this one never matters, because a grant ends with
   * its last token.
   */
  Grant: 3650 * day,
  IdToken: 60 * minute,
  /** How long a user may take to answer an authorization request. The user may have to set a password first. */
  Interaction: 60 * minute,
  /**
   * The lifetime of a refresh token. Each refresh issues a new one. A client that does not refresh in this time must
   * ask for consent again.
   */
  RefreshToken: 30 * day,
  RegistrationAccessToken: unusedClientSeconds,
  Session: 60 * minute,
};
