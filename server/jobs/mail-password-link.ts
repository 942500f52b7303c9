import { randomUUID } from 'node:crypto';
import { insertPasswordLink, passwordLinkMinutes, passwordLinkUrl } from '../domain/sign-in/password-links.ts';
import { writePasswordLinkMail } from '../events/people/password-link-mail.ts';
import type { TaskDependencies } from './tasks.ts';

/**
 * The task that mails a link to whoever asked for one. The link is made here: it is in the mail, its hash in the
 * database, and nowhere else. A try that fails leaves a link behind that nobody has, until it expires.
 */
export function mailPasswordLink({ config, database, clock, logger, mailer, metrics }: TaskDependencies) {
  let isAbsenceLogged = false;

  return async (payload: unknown) => {
    const { user_id: userId } = payload as { user_id: number | null };
    if (!mailer) {
      if (!isAbsenceLogged) logger.warn('SMTP_URL is not set: links to set a password are not mailed');
      isAbsenceLogged = true;
      return;
    }
    // Nobody has the address that was given, or they were erased since.
    const link = userId === null ? undefined : await insertPasswordLink(database, userId, clock.now());
    if (!link) return;
    const url = passwordLinkUrl(config, link.token);
    const startedAt = performance.now();
    const outcome = await mailer
      .send({
        ...writePasswordLinkMail({ url, minutes: passwordLinkMinutes }),
        to: link.email,
        messageId: `password-${randomUUID()}@${new URL(config.BASE_URL).hostname}`,
        references: [],
      })
      .catch((error: unknown) => {
        metrics?.countDelivery('mail', 'failed', performance.now() - startedAt);
        throw error;
      });
    metrics?.countDelivery('mail', outcome === 'sent' ? 'delivered' : 'failed', performance.now() - startedAt);
    if (outcome === 'deferred') throw new Error('The mail server does not take a message now');
    if (outcome === 'refused') logger.info({ userId }, 'the mail server refuses mail to a user');
  };
}
