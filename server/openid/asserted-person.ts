import { ProviderError } from './provider-error.ts';

/** The data about a person in the claims of an identity provider. */
export interface AssertedPerson {
  subject: string;
  /** The e-mail address. Null if the provider has reported none. */
  address: string | null;
  isAddressVerified: boolean;
  name: string;
}

/** The claims that this server reads. A provider may send any JSON value. */
export interface Claims {
  sub: string;
  email?: unknown;
  email_verified?: unknown;
  /**
   * Whether Microsoft Entra has verified who owns the domain of the e-mail address. Entra does not send email_verified.
   */
  xms_edov?: unknown;
  name?: unknown;
  preferred_username?: unknown;
}

/**
 * The maximum length, in bytes, of a subject (the id of a person at the provider). A check constraint in the database
 * has the same limit.
 */
const maxSubjectBytes = 255;

export function personIn(claims: Claims): AssertedPerson {
  const { sub } = claims;
  // PostgreSQL cannot store a NUL character or a lone surrogate.
  if (Buffer.byteLength(sub) > maxSubjectBytes || sub.includes('\0') || !sub.isWellFormed()) {
    throw new ProviderError('invalid', 'The subject of the person cannot be stored');
  }
  const address = textIn(claims.email);
  return {
    subject: sub,
    address: address ?? null,
    isAddressVerified: address !== undefined && [claims.email_verified, claims.xms_edov].some(isTrue),
    name: nameIn(claims.name) ?? nameIn(claims.preferred_username) ?? nameIn(claims.email) ?? nameIn(claims.sub) ?? '?',
  };
}

/** Some providers send a boolean as a text or as a number. */
function isTrue(value: unknown): boolean {
  return value === true || value === 'true' || value === 1 || value === '1';
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

const maxNameLength = 100;

/**
 * Returns a name on one line. If the name is an e-mail address, returns only the part before the @, because other
 * people see the name.
 */
function nameIn(value: unknown): string | undefined {
  const text = textIn(value)
    ?.toWellFormed()
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .replace(/^(.+)@.*$/, '$1');
  return text ? [...text].slice(0, maxNameLength).join('').trim() : undefined;
}
