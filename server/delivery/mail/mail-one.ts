import { randomUUID } from 'node:crypto';
import type { TaskDependencies } from '../dependencies.ts';
import type { MailContent } from './mail-content.ts';

interface OneMail extends MailContent {
  to: string;
  /** Whose mail it is, for the log, which has no address; none where it is not a user yet. */
  userId?: number;
  /** Notes what became of it. */
  settle?(outcome: 'sent' | 'refused'): Promise<unknown>;
}

/**
 * What sends one mail of a kind that somebody caused, such as a link that they asked for: undefined where there is nothing
 * to send any more. What the mail server does not take now, the worker tries again.
 */
export function mailOne<Payload>(
  { config, logger, mailer, metrics }: TaskDependencies,
  kind: { name: string; plural: string },
  write: (payload: Payload) => Promise<OneMail | undefined>,
) {
  let isAbsenceLogged = false;

  return async (payload: unknown) => {
    if (!mailer) {
      if (!isAbsenceLogged) logger.warn(`SMTP_URL is not set: ${kind.plural} are not mailed`);
      isAbsenceLogged = true;
      return;
    }
    const mail = await write(payload as Payload);
    if (!mail) return;
    const { userId, settle, ...content } = mail;
    const startedAt = performance.now();
    const messageId = `${kind.name}-${randomUUID()}@${new URL(config.BASE_URL).hostname}`;
    const outcome = await mailer.send({ ...content, messageId, references: [] }).catch((error: unknown) => {
      metrics?.countDelivery('mail', 'failed', performance.now() - startedAt);
      throw error;
    });
    metrics?.countDelivery('mail', outcome === 'sent' ? 'delivered' : 'failed', performance.now() - startedAt);
    if (outcome === 'deferred') throw new Error('The mail server does not take a message now');
    if (outcome === 'refused' && userId !== undefined)
      logger.info({ userId }, 'the mail server refuses mail to a user');
    await settle?.(outcome);
  };
}
