import { t } from '../../text/catalogue.ts';
import { invalid } from '../administration.ts';

/** The minimum and maximum number of characters (NIST SP 800-63B). The maximum limits the cost of hashing. */
export const minPasswordLength = 12;
export const maxPasswordLength = 256;

/** Rejects a password that is easy to guess. Does not require certain kinds of characters, such as digits. */
export async function checkPassword(password: string, email: string): Promise<void> {
  const length = [...password].length;
  if (length < minPasswordLength) throw invalid(t('refusals.password.too_short', { min: minPasswordLength }));
  if (length > maxPasswordLength) throw invalid(t('refusals.password.too_long', { max: maxPasswordLength }));
  // Rejects a lone surrogate. The hash function argon2 would replace the surrogate, so different passwords would have
  // the same hash.
  if (!password.isWellFormed()) throw invalid(t('refusals.password.not_storable'));
  const plain = password.normalize('NFKC').toLowerCase();
  const address = email.normalize('NFKC').toLowerCase();
  if (plain === address || plain === address.split('@', 1)[0]) {
    throw invalid(t('refusals.password.is_address'));
  }
  if (hasFewCharactersOrSteps(plain) || (await isCommon(plain))) {
    throw invalid(t('refusals.password.common'));
  }
}

/**
 * Whether a password is too regular, such as `abcdefghijkl` or `012345678901`. Such a password has at most two
 * different characters, or at most two different differences between the codes of neighboring characters.
 */
function hasFewCharactersOrSteps(password: string): boolean {
  const codes = Array.from(password, character => character.codePointAt(0) ?? 0);
  const steps = codes.slice(1).map((code, index) => code - (codes[index] ?? 0));
  return new Set(codes).size <= 2 || new Set(steps).size <= 2;
}

/** Common passwords that the list of the package @zxcvbn-ts/language-common does not contain. */
const otherCommon = [
  'correct horse battery staple',
  'correcthorsebatterystaple',
  'p@ssword1234',
  '0987654321qwerty',
  '1q2w3e4r5t6y7u8i9o0p',
  'qqww1122qqww',
];

/**
 * A weak ending of a password, such as a year. A common password with a weak ending is hardly harder to guess than
 * without the ending.
 */
const weakEnding = /^(?:.{0,4}|\P{L}{0,6}|(?:qwerty|asdfgh|zxcvb)\p{L}*)$/su;

/**
 * Whether a password is a common password, possibly repeated, with at most a weak ending. A weak ending has up to four
 * characters, or up to six characters that are not letters. Letters that begin like a row of the keyboard, such as
 * `qwerty`, are also a weak ending. The first call loads a list of common passwords. This takes 5 MB and 40 ms.
 */
async function isCommon(password: string): Promise<boolean> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  return (
    otherCommon.includes(password) ||
    dictionary['passwords-common'].some(
      one => password.startsWith(one) && weakEnding.test(password.replaceAll(one, '')),
    )
  );
}
