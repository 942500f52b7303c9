import { AdministrationError } from '../../domain/administration.ts';
import { checkPassword, maxPasswordLength, minPasswordLength } from '../../domain/sign-in/check-password.ts';

/** For the fields in which a password is chosen. */
export const passwordLengths = { minLength: minPasswordLength, maxLength: maxPasswordLength };

/** Why a password is not taken that was entered twice; undefined where it is. */
export function problemOfNewPassword(password: string, again: string, email: string): string | undefined {
  if (password !== again) return 'The two passwords are not the same';
  try {
    checkPassword(password, email);
    return undefined;
  } catch (error) {
    if (error instanceof AdministrationError) return error.message;
    throw error;
  }
}
