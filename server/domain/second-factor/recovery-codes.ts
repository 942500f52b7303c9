import { randomInt } from 'node:crypto';

export const recoveryCodeCount = 10;

/**
 * The digits and letters of Crockford's base32. The letters i, l and o are missing, because people confuse them with
 * digits.
 */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/** A code has 16 characters of 5 bits: 80 random bits. */
const codeLength = 16;
const codeForm = new RegExp(`^[${alphabet}]{${codeLength}}$`);

/** Returns new recovery codes, such as `7k2m-x9qd-4c0v-h8tj`. */
export function makeRecoveryCodes(): string[] {
  return Array.from({ length: recoveryCodeCount }, () => {
    const characters = Array.from({ length: codeLength }, () => alphabet[randomInt(alphabet.length)]).join('');
    return characters.match(/.{4}/g)?.join('-') ?? '';
  });
}

/**
 * Returns the characters of a recovery code that a person entered, or undefined if the text cannot be a recovery code.
 */
export function normalizeRecoveryCode(text: string): string | undefined {
  const characters = text.toLowerCase().replaceAll(/[\s-]/g, '').replaceAll('o', '0').replaceAll(/[il]/g, '1');
  return codeForm.test(characters) ? characters : undefined;
}
