const minute = 60;
const day = 24 * 60 * minute;

/** How long things last, in seconds. */

/** Opaque and looked up at every call, so that revocation is immediate: a shorter life would only cause more refreshes. */
export const accessTokenSeconds = 60 * minute;
export const codeSeconds = minute;

/** Each redemption gives another one: a client that is not used for so long has to ask for consent anew. */
export const refreshTokenSeconds = 30 * day;

/** From the request to the answer of the consent page, with a password that has to be set first. */
export const interactionSeconds = 60 * minute;

/** The provider's own end of a grant. What counts is the row, which lives as long as what was last issued. */
export const grantSeconds = 3650 * day;

/** How long a client stays that registered and was given nothing: whoever tries something out may come back next week. */
export const unusedClientSeconds = 7 * day;

/** How long it stays after its last token: clients remember that they are registered, and few of them ask again. */
export const usedClientSeconds = 365 * day;
