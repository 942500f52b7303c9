import { timingSafeEqual } from 'node:crypto';
import type { Client, Provider, Token } from 'oidc-provider';
import { hashOfClientSecret } from './adapter.ts';

/** Compares with the hash of a client's secret, which is what is stored. */
export function compareHashedSecrets({ Client }: Provider): void {
  Client.prototype.compareClientSecret = function compare(this: Client, given: string) {
    const [expected, actual] = [Buffer.from(this.clientSecret ?? ''), Buffer.from(hashOfClientSecret(given))];
    return expected.length === actual.length && timingSafeEqual(expected, actual);
  };
}

/**
 * Begins what the provider issues with what it is. So each is told apart from other tokens, is found in what should not
 * have it in it, and is taken out of every log by its form.
 */
export function prefixTokens(provider: Provider): void {
  const prefixes = {
    AccessToken: 'iba_',
    AuthorizationCode: 'ibc_',
    RefreshToken: 'ibr_',
    RegistrationAccessToken: 'ibg_',
  } as const;
  for (const [model, prefix] of Object.entries(prefixes)) {
    const { prototype } = provider[model as keyof typeof prefixes];
    const { generateTokenId } = prototype;
    prototype.generateTokenId = function generate(this: Token) {
      return prefix + generateTokenId.call(this);
    };
  }
}
