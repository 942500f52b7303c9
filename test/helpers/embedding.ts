import { SignJWT } from 'jose';
import { updateAccount } from '../../server/domain/accounts/edit-account.ts';
import { requireAccountById } from '../../server/domain/accounts/find-account.ts';
import { createEmbeddingSecret } from '../../server/domain/embedding/secrets.ts';
import { buildSecretBox } from '../../server/domain/secret-box.ts';
import type { TestDatabase } from './database.ts';
import type { World } from './fixtures.ts';
import { type TestServer, testAppKey } from './server.ts';
import { administer } from './webhooks.ts';

type Db = Pick<TestDatabase, 'database'>;

/** The origin of the site that embeds boards in the tests. */
export const hostOrigin = 'https://app.example.com';

/**
 * Allows sites to embed the boards of an account. Returns a new secret for these sites. The sites use the secret to
 * sign the tokens of their users.
 */
export function letEmbed(db: Db, { accountId }: World, origins = [hostOrigin]): Promise<string> {
  return administer(db, async admin => {
    await updateAccount(admin, await requireAccountById(admin, accountId), { embeddingOrigins: origins });
    return createEmbeddingSecret(admin, buildSecretBox(testAppKey), accountId);
  });
}

export interface TokenInput {
  /** Claims that replace the default claims. The token does not contain a claim whose value is undefined. */
  claims?: Record<string, unknown>;
  algorithm?: string;
}

let count = 0;

/** Signs a token as the application that embeds the board does. By default, the token is valid for two minutes. */
export function signToken(
  { config, dependencies }: Pick<TestServer, 'config' | 'dependencies'>,
  secret: string,
  { claims = {}, algorithm = 'HS256' }: TokenInput = {},
): Promise<string> {
  const now = Math.floor(dependencies.clock.now().getTime() / 1000);
  const id = ++count;
  const given = {
    sub: `user-${id}`,
    email: `user-${id}@app.example.com`,
    name: `User ${id}`,
    aud: config.BASE_URL,
    iat: now,
    exp: now + 120,
    jti: String(id),
    ...claims,
  };
  const payload = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return new SignJWT(payload).setProtectedHeader({ alg: algorithm }).sign(new TextEncoder().encode(secret));
}
