import { Secret, TOTP } from 'otpauth';

/** The usual parameters of authenticator apps (RFC 6238). Many apps ignore other values. */
const parameters = { algorithm: 'SHA1', digits: 6, period: 30 };

/**
 * The server accepts codes of this number of time steps before and after the current step, because a phone's clock may
 * be slow or fast.
 */
const window = 1;

/** RFC 4226 recommends a secret of 160 bits, which is the length of a SHA-1 hash. */
const secretBytes = 20;

/** Returns a new secret in base32, which people can enter in an authenticator app. */
export function makeTotpSecret(): string {
  return new Secret({ size: secretBytes }).base32;
}

/** Returns the otpauth:// URL that a QR code passes to an authenticator app. The app shows the issuer and the label. */
export function totpUrl(secret: string, { issuer, label }: { issuer: string; label: string }): string {
  return new TOTP({ ...parameters, issuer, label, secret }).toString();
}

/** Returns the six digits of a code that a person entered, or undefined if the text cannot be a code of an app. */
export function digitsOf(text: string): string | undefined {
  const digits = text.replaceAll(/\s/g, '');
  return /^\d{6}$/.test(digits) ? digits : undefined;
}

/** Returns the time step that a code is valid for, or undefined for a code that is wrong, too old or too early. */
export function timeStepOf(secret: string, code: string, now: Date): number | undefined {
  const token = digitsOf(code);
  if (token === undefined) return undefined;
  const totp = new TOTP({ ...parameters, secret });
  const timestamp = now.getTime();
  const delta = totp.validate({ token, timestamp, window });
  return delta === null ? undefined : totp.counter({ timestamp }) + delta;
}
