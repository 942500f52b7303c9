import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { checkOwnPassword } from '../../domain/sign-in/check-own-password.ts';
import type { ProvenUser } from '../../domain/sign-in/start-session.ts';
import { fieldOf } from '../shell/form.ts';
import { sessionOf } from '../shell/session.ts';
import { buildThrottle, describeWait } from './throttle.ts';

/** Whoever is signed in, who gave their password again; or why the form is refused. */
export type OwnPassword = { user: ProvenUser } | { status: 422 | 429; problem: string };

/**
 * Asks for the password of whoever is signed in, in the field current_password: before what somebody else must not do who
 * finds the browser open. Tries are bounded with those of signing in, so that here is no way around.
 */
export function askForOwnPassword(server: ServerDependencies) {
  const throttle = buildThrottle(server);

  return async (request: FastifyRequest, reply: FastifyReply): Promise<OwnPassword> => {
    const { user } = sessionOf(request);
    const charged = await throttle.chargeSignIn(request, reply, user.email);
    if ('retrySeconds' in charged) {
      return { status: 429, problem: `There were too many tries: try again ${describeWait(charged.retrySeconds)}` };
    }
    const proven = await checkOwnPassword(server, user.id, fieldOf(request.body, 'current_password'));
    if (!proven) {
      await charged.fail();
      server.audit.record('password.refused', { request_id: request.id, ip: request.ip, user_id: user.id });
      return { status: 422, problem: 'That is not your password' };
    }
    await charged.succeed();
    return { user: proven };
  };
}
