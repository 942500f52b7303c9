import { createHash, randomBytes } from 'node:crypto';

/** A secret that a cookie, a link or a token holds: 32 random bytes. The database has its hash alone. */
export interface Secret {
  text: string;
  hash: Buffer;
}

const secretForm = /^[A-Za-z0-9_-]{43}$/;

export function makeSecret(): Secret {
  const text = randomBytes(32).toString('base64url');
  return { text, hash: hashOf(text) };
}

/** The hash under which a secret is found; undefined for what is none. */
export function hashOfSecret(text: string): Buffer | undefined {
  return secretForm.test(text) ? hashOf(text) : undefined;
}

function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
