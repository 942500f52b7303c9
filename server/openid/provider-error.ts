/**
 * Why a request to an identity provider failed:
 * - unreachable: the provider did not answer in time, or its IP address is not allowed.
 * - denied: the person or the provider refused the sign-in.
 * - issuer: the provider's metadata names another issuer than the admin entered.
 * - invalid: the answer of the provider is invalid, such as an expired ID token.
 */
export type ProviderErrorReason = 'unreachable' | 'denied' | 'issuer' | 'invalid';

/** The failure of a request to a provider. The message is for the log. The page shows a text for `reason` instead. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  readonly reason: ProviderErrorReason;

  constructor(reason: ProviderErrorReason, message: string) {
    super(message);
    this.reason = reason;
  }
}
