const minute = 60;
const day = 24 * 60 * minute;

/* All lifetimes are in seconds. */

/** Each call looks up the token, so revocation is immediate. A shorter lifetime would only cause more refreshes. */
export const accessTokenSeconds = 60 * minute;
export const codeSeconds = minute;

/** Each refresh issues a new token. A client that is unused for this time must ask for consent again. */
export const refreshTokenSeconds = 30 * day;

/** The time to answer an authorization request, which may include setting a password. */
export const interactionSeconds = 60 * minute;

/** The provider needs a lifetime for a grant. The grant really ends with its last token. */
export const grantSeconds = 3650 * day;

/** How long a client without a grant stays registered. */
export const unusedClientSeconds = 7 * day;

/** How long a client stays registered after its last token. Clients remember their registration, and few register again. */
export const usedClientSeconds = 365 * day;
