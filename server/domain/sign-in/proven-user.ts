/** The identity of an account that began a session. The session reaches only this account, and ends with the identity. */
export interface BoundTo {
  accountId: number;
  identityId: number;
}

/**
 * A user who has proven their identity. set_at is the time when the password was set that the user has entered. It is
 * null for a user who has used a mailed link or a provider.
 */
export interface ProvenUser {
  id: number;
  set_at: string | null;
  /** The identity with which the user signs in. Undefined for an ordinary session, which reaches all accounts. */
  boundTo?: BoundTo | undefined;
}
