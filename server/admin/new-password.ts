import { AdministrationError } from '../domain/administration.ts';
import { checkPassword } from '../domain/sign-in/check-password.ts';

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
