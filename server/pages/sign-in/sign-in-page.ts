import { findPublicBoard } from '../../domain/boards/read-board.ts';
import { signInLinkMinutes } from '../../domain/sign-in/sign-in-links.ts';
import { t, textKeysIn } from '../../text/catalogue.ts';
import type { Problem } from '../shell/form.ts';
import { ordinaryUserOf } from '../shell/session.ts';
import type { Visit } from '../shell/visit.ts';
import { boardIn, safeNextPath, signInPath } from './next-path.ts';
import { readProviderButtons } from './provider-paths.ts';
import type { buildRobotCheck } from './robot-check.ts';

const notices = textKeysIn('sign_in.notices');

/** Shows the sign-in page. Its form has a button for a sign-in with a password, and a button that asks for a link. */
export async function showSignIn(
  visit: Visit<undefined>,
  robotCheck: ReturnType<typeof buildRobotCheck>,
  { problem, isLinkRequested = false }: { problem?: Problem | undefined; isLinkRequested?: boolean } = {},
) {
  const next = safeNextPath(visit.isSent ? visit.field('next') : visit.parameter('next'));
  // Skips the form only for a person with an ordinary session. A session that began at an identity provider gives
  // access to one account, and its user may want to sign in to other accounts.
  if (!visit.isSent && ordinaryUserOf(visit.request)) return next;
  const data = {
    email: visit.field('email'),
    next,
    path: signInPath(next),
    isFromBoard: boardIn(next) !== undefined,
    // If the server shows the form again, the form keeps the time when the person first opened it. Otherwise a person
    // who quickly corrects a mistake would look like a program.
    opened: visit.field('opened') || robotCheck.stamp(),
    isMailed: visit.server.config.SMTP_URL !== undefined,
    isLinkRequested,
    providers: await providersFor(visit, next),
    minutes: signInLinkMinutes,
  };
  return visit.page('sign-in', t('shell.labels.sign_in'), data, { notices, problem });
}

/**
 * Returns the identity provider buttons if `next` is a path of a public board. The result for a private board is the
 * same as for a missing board.
 */
async function providersFor({ server }: Visit<undefined>, next: string) {
  const slug = boardIn(next);
  const board = slug === undefined ? undefined : await findPublicBoard(server.database, slug);
  return board ? readProviderButtons(server, board.accountId) : [];
}
