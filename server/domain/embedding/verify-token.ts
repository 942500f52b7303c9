import { hash } from 'node:crypto';
import { errors, type JWTPayload, jwtVerify } from 'jose';
import { AdministrationError } from '../administration.ts';
import { checkEmail, checkName } from '../fields.ts';

/** A token must expire within this many seconds. */
const maxTokenSeconds = 300;
/** The maximum difference in seconds between the clocks of the embedding website and of this server. */
const clockSkewSeconds = 30;

/** The maximum length of a token. Real tokens have about 400 characters. */
const maxTokenLength = 4_000;
const maxSubjectBytes = 255;

/**
 * Why the server refuses a token:
 * - signature: none of the account's secrets has signed the token, or the token uses another algorithm than HS256.
 * - expired, not_yet, lifetime: the token has expired, is not valid yet, or is valid for too long.
 * - audience: the token is for another server.
 * - claims: the id, the e-mail address or the name of the person is missing or invalid.
 * - used: the token has already signed the person in.
 */
export type TokenProblem = 'signature' | 'expired' | 'not_yet' | 'lifetime' | 'audience' | 'claims' | 'used';

/** The person that a token names. The embedding website is responsible for these values. */
interface HostUser {
  subject: string;
  email: string;
  name: string;
}

export interface VerifiedToken {
  user: HostUser;
  /** The id of the secret that signed the token. */
  secretId: number;
  /**
   * The SHA-256 of the signed part of the token. It does not cover the signature, because several texts can encode the
   * same signature.
   */
  hash: Buffer;
  expiresAt: Date;
}

export interface SigningSecret {
  id: number;
  secret: string;
}

/** Verifies a token that an embedding website signed with one of the account's secrets. */
export async function verifyToken(
  token: string,
  secrets: readonly SigningSecret[],
  { audience, now }: { audience: string; now: Date },
): Promise<VerifiedToken | TokenProblem> {
  if (token.length > maxTokenLength) return 'signature';
  for (const { id, secret } of secrets) {
    const payload = await readPayload(token, secret, { audience, now });
    if (payload === 'signature') continue;
    if (typeof payload === 'string') return payload;
    const { exp = 0, iat } = payload;
    if (exp > secondsOf(now) + maxTokenSeconds + clockSkewSeconds) return 'lifetime';
    if (iat !== undefined && iat > secondsOf(now) + clockSkewSeconds) return 'not_yet';
    const user = readUser(payload);
    if (!user) return 'claims';
    const signed = token.slice(0, token.lastIndexOf('.'));
    return { user, secretId: id, hash: hash('sha256', signed, 'buffer'), expiresAt: new Date(exp * 1000) };
  }
  return 'signature';
}

async function readPayload(
  token: string,
  secret: string,
  { audience, now }: { audience: string; now: Date },
): Promise<JWTPayload | TokenProblem> {
  try {
    const { payload } = await jwtVerify(token, new TextEncoder().encode(secret), {
      algorithms: ['HS256'],
      audience,
      requiredClaims: ['exp', 'sub'],
      clockTolerance: clockSkewSeconds,
      currentDate: now,
    });
    return payload;
  } catch (error) {
    if (error instanceof errors.JWTExpired) return 'expired';
    if (error instanceof errors.JWTClaimValidationFailed) return problemOfClaim(error.claim);
    if (error instanceof errors.JOSEError) return 'signature';
    throw error;
  }
}

function problemOfClaim(claim: string): TokenProblem {
  if (claim === 'aud') return 'audience';
  if (claim === 'nbf') return 'not_yet';
  return claim === 'exp' ? 'lifetime' : 'claims';
}

function secondsOf(time: Date): number {
  return Math.floor(time.getTime() / 1000);
}

function readUser({ sub, email, name }: JWTPayload): HostUser | undefined {
  if (!isSubject(sub) || typeof email !== 'string' || typeof name !== 'string') return undefined;
  try {
    return { subject: sub, email: checkEmail(email), name: checkName(name, 100) };
  } catch (error) {
    if (error instanceof AdministrationError) return undefined;
    throw error;
  }
}

/** Whether a value is an id of a person: 1 to 255 bytes without control characters or lone surrogates. */
function isSubject(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    Buffer.byteLength(value) <= maxSubjectBytes &&
    /^[^\p{Cc}\p{Cs}]+$/u.test(value) &&
    value.trim() === value
  );
}
