import { hash } from 'node:crypto';
import { parseTokenText } from '../domain/tokens/token-text.ts';

/** What a request shows of who sends it, and as what it may count. */
export interface Bearer {
  authorization: string | undefined;
  /** Whether an access token of OAuth identifies its bearer, as it does for the tools alone (Authentication, 9). */
  acceptsOauth: boolean;
}

/** By what a bearer is found: the id and the hash of the secret of a token of the API, or the hash of an access token. */
export type Credential =
  | { kind: 'api'; tokenId: number; hash: Buffer }
  | { kind: 'access'; hash: Buffer }
  /** The Authorization header is not there, or holds nothing that could be a token. */
  | { kind: 'none'; reason: 'missing' | 'malformed' };

/** The form of an access token of OAuth, of which nothing tells what it is for. */
const accessToken = /^iba_[A-Za-z0-9_-]{43}$/;

export function readBearer({ authorization, acceptsOauth }: Bearer): Credential {
  const text = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1] ?? '';
  if (acceptsOauth && accessToken.test(text)) return { kind: 'access', hash: hashOf(text) };
  const token = parseTokenText(text);
  if (token) return { kind: 'api', tokenId: token.id, hash: hashOf(token.secret) };
  return { kind: 'none', reason: authorization ? 'malformed' : 'missing' };
}

function hashOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
