import type { ServerDependencies } from '../../dependencies.ts';
import { AdministrationError } from '../../domain/administration.ts';
import { hasOwnAddress } from '../../domain/identities/own-address.ts';
import { checkPassword, maxPasswordLength, minPasswordLength } from '../../domain/sign-in/check-password.ts';
import type { ProvenUser } from '../../domain/sign-in/proven-user.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { checkOwnPassword } from '../../domain/sign-in/sign-in.ts';
import { t } from '../../text/catalogue.ts';
import { FormProblem, fieldOf } from '../shell/form.ts';
import type { Visit } from '../shell/visit.ts';
import { buildThrottle } from './throttle.ts';

/** The length attributes of a field for a new password. */
export const passwordLengths = { minLength: minPasswordLength, maxLength: maxPasswordLength };

/**
 * A user without a password confirms an action with a recent sign-in. The sign-in must be at most this number of
 * minutes old.
 */
const newSessionMinutes = 10;

/** Reads a new password, which the user enters twice. Throws an AdministrationError if the password is refused. */
export async function readNewPassword(body: unknown, email: string): Promise<string> {
  const password = fieldOf(body, 'password');
  if (password !== fieldOf(body, 'password_again')) {
    throw new AdministrationError('invalid', t('sign_in.password.differ'));
  }
  await checkPassword(password, email);
  return password;
}

/**
 * Asks for the signed-in user's password in the field current_password, before an action that could do harm in an
 * unattended browser. Throws a FormProblem for a wrong password. The rate limits of sign-in apply, so that nobody can
 * guess passwords here. A user who can sign in only through an identity provider or an embedding website has no
 * password. Such a user must have signed in a few minutes ago.
 */
export function askForOwnPassword(server: ServerDependencies) {
  const throttle = buildThrottle(server);

  function requireNewSession({ user }: Visit<AccountOfUser | undefined>): ProvenUser {
    const earliest = server.clock.now().getTime() - newSessionMinutes * 60_000;
    if (Date.parse(user.signed_in_at) >= earliest) return { id: user.id, set_at: null };
    throw new FormProblem(422, t('identities.sign_in_again', { minutes: newSessionMinutes }));
  }

  return async (visit: Visit<AccountOfUser | undefined>): Promise<ProvenUser> => {
    const { user, request, reply } = visit;
    if (!hasOwnAddress(user)) return requireNewSession(visit);
    const charged = await throttle.chargeSignIn(request, reply, user.email);
    const proven = await checkOwnPassword(server, user.id, visit.field('current_password'));
    if (!proven) {
      await charged.fail();
      server.audit.record('password.refused', { request_id: request.id, ip: request.ip, user_id: user.id });
      throw new FormProblem(422, t('sign_in.password.current_wrong'));
    }
    await charged.succeed();
    return proven;
  };
}
