/**
 * The external identity (a person at a provider) that somebody signed in with. The session reaches only the account of
 * this identity, and ends when the identity is removed.
 */
export interface BoundTo {
  accountId: number;
  identityId: number;
}

/**
 * A user who has proven who they are. `set_at` is the time when the user set the password that was entered now. It is
 * null if the user signed in with a mailed link or a provider.
 */
export interface ProvenUser {
  id: number;
  set_at: string | null;
  /**
   * The external identity, if the user signed in through an identity provider. Undefined for an ordinary session, which
   * reaches all accounts of the user.
   */
  boundTo?: BoundTo | undefined;
}
