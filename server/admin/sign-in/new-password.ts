import { AdministrationError } from '../../domain/administration.ts';
import { checkPassword, maxPasswordLength, minPasswordLength } from '../../domain/sign-in/check-password.ts';

/** For the fields in which a password is chosen. */
export const passwordLengths = { minLength: minPasswordLength, maxLength: maxPasswordLength };

/** Says why a new password is refused, which was entered twice. Returns undefined if it is accepted. */
export async function problemOfNewPassword(
  password: string,
  again: string,
  email: string,
): Promise<string | undefined> {
  if (password !== again) return 'The two passwords are not the same';
  try {
    await checkPassword(password, email);
    return undefined;
  } catch (error) {
    if (error instanceof AdministrationError) return error.message;
    throw error;
  }
}
