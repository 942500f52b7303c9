import type { TokenProblem } from '../../domain/embedding/verify-token.ts';
import { type TextKey, t } from '../../text/catalogue.ts';
import { type BoardVisit, embeddedPath } from '../boards/opened-board.ts';
import type { Problem } from '../shell/form.ts';

/** The messages for failed sign-ins on an embedded board. */
const problems = {
  signature: 'embedding.problems.signature',
  expired: 'embedding.problems.expired',
  not_yet: 'embedding.problems.not_yet',
  lifetime: 'embedding.problems.lifetime',
  audience: 'embedding.problems.audience',
  claims: 'embedding.problems.claims',
  used: 'embedding.problems.used',
  unframed: 'embedding.problems.unframed',
  blocked: 'embedding.problems.blocked',
  second_factor: 'embedding.problems.second_factor',
  ended: 'embedding.problems.ended',
  no_cookies: 'embedding.problems.no_cookies',
} as const satisfies Record<TokenProblem | 'unframed', TextKey> & Record<string, TextKey>;

export type SignInProblem = keyof typeof problems;

/**
 * Returns the path of the page after a sign-in. The path never contains the token, because the browser history would
 * keep the token.
 */
export function outcomePath(slug: string, outcome: SignInProblem | 'done'): string {
  return `${embeddedPath(slug)}?${new URLSearchParams({ sign_in: outcome })}`;
}

/**
 * Returns the path of the board with a notice for an existing user. The notice leads to the page where the user
 * confirms that they are the person on the embedding website.
 */
export function connectionPath(slug: string, connection: string): string {
  return `${embeddedPath(slug)}?${new URLSearchParams({ notice: 'connect', connection })}`;
}

/** Returns the message about a failed sign-in. `outcome` is the value of the query parameter that names the failure. */
export function explainOutcome(outcome: string, isSignedIn: boolean): string | undefined {
  const problem = outcome === 'done' ? 'no_cookies' : outcome;
  // If the token was already used, the session from its first use is still valid, so a signed-in person sees no
  // message.
  return !isSignedIn && Object.hasOwn(problems, problem) ? t(problems[problem as SignInProblem]) : undefined;
}

export function problemOf(visit: BoardVisit): Problem | undefined {
  const message = explainOutcome(visit.parameter('sign_in'), visit.request.browserSession !== null);
  return message === undefined ? undefined : { status: 200, message };
}
