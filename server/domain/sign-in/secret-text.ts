import { hash, randomBytes } from 'node:crypto';

/** A secret in a cookie, a link or a token: 32 random bytes. The database stores only the hash of the secret. */
export interface Secret {
  text: string;
  hash: Buffer;
}

const secretForm = /^[A-Za-z0-9_-]{43}$/;

export function makeSecret(): Secret {
  const text = randomBytes(32).toString('base64url');
  return { text, hash: hashOf(text) };
}

/** Returns undefined if the text does not have the format of a secret. */
export function hashOfSecret(text: string): Buffer | undefined {
  return secretForm.test(text) ? hashOf(text) : undefined;
}

function hashOf(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
