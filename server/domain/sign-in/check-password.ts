import { AdministrationError } from '../administration.ts';
import { commonPasswords } from './common-passwords.ts';

/** Lengths in characters: as NIST SP 800-63B has them, with a bound on what is hashed. */
export const minPasswordLength = 12;
export const maxPasswordLength = 256;

/** Refuses a password that is guessed soon. Of what characters it is made does not matter. */
export function checkPassword(password: string, email: string): void {
  const length = [...password].length;
  if (length < minPasswordLength) throw invalid(`The password must have at least ${minPasswordLength} characters`);
  if (length > maxPasswordLength) throw invalid(`The password must have at most ${maxPasswordLength} characters`);
  // It would be stored as another one.
  if (!password.isWellFormed()) throw invalid('The password has a character that cannot be stored');
  const plain = password.normalize('NFKC').toLowerCase();
  const address = email.normalize('NFKC').toLowerCase();
  if (plain === address || plain === address.split('@', 1)[0]) {
    throw invalid('The password must not be the e-mail address');
  }
  if (isCommon(plain)) throw invalid('The password is one of the commonest: choose another one');
}

function isCommon(password: string): boolean {
  if (commonPasswords.has(password)) return true;
  // One or two characters over and over.
  return new Set(password).size <= 2;
}

function invalid(message: string) {
  return new AdministrationError('invalid', message);
}
