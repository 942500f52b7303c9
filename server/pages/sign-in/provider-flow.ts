import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import type { SignInProvider } from '../../domain/identities/providers.ts';
import { buildSecretBox } from '../../domain/secret-box.ts';
import type { SignInSecrets } from '../../openid/openid-client.ts';
import { cookieName, cookieOptions } from '../shell/session.ts';

/** A sign-in with an identity provider that a person began in this browser and has not completed yet. */
export interface ProviderFlow extends SignInSecrets {
  accountId: number;
  /** The key of the provider, which is part of the provider's sign-in URL. */
  key: string;
  /** The path of the page that opens after the sign-in. */
  next: string;
  /** The time when the sign-in expires, in milliseconds. */
  end: number;
}

/** A person has this number of minutes to sign in at the provider. */
const flowMinutes = 10;

const purpose = 'sign-in with a provider';

const makeSecret = () => randomBytes(32).toString('base64url');

/**
 * Stores a sign-in in a cookie while the person is at the provider. The cookie is encrypted, because it contains
 * secrets. With these secrets, the server checks that the provider's answer belongs to this browser.
 */
export function buildProviderFlows({ config, appKey, clock }: Pick<ServerDependencies, 'config' | 'appKey' | 'clock'>) {
  const box = buildSecretBox(appKey);
  const cookie = cookieName(config, 'provider');

  return {
    begin(reply: FastifyReply, { account_id: accountId, key }: SignInProvider, next: string): ProviderFlow {
      const end = clock.now().getTime() + flowMinutes * 60_000;
      const secrets = { state: makeSecret(), nonce: makeSecret(), verifier: makeSecret() };
      const flow = { accountId, key, next, end, ...secrets };
      reply.setCookie(cookie, box.sealUntil(flow, purpose, new Date(end)), {
        ...cookieOptions(config),
        maxAge: flowMinutes * 60,
      });
      return flow;
    },

    /**
     * Returns the sign-in in the browser's cookie and removes the cookie. Returns undefined if the sign-in has expired,
     * or if the given `state` belongs to another sign-in.
     */
    take(
      { cookies }: FastifyRequest,
      reply: FastifyReply,
      { accountId, state }: { accountId: number; state: string },
    ): ProviderFlow | undefined {
      const flow = box.openUntil<ProviderFlow>(cookies[cookie] ?? '', purpose, clock.now());
      reply.clearCookie(cookie, cookieOptions(config));
      if (flow?.accountId !== accountId) return undefined;
      const [expected, given] = [Buffer.from(flow.state), Buffer.from(state)];
      return expected.length === given.length && timingSafeEqual(expected, given) ? flow : undefined;
    },
  };
}
