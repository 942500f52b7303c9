import { randomUUID } from 'node:crypto';
import { deliver } from '../channel.ts';
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
    const messageId = `${kind.name}-${randomUUID()}@${new URL(config.BASE_URL).hostname}`;
    const outcome = await deliver(mailer, { ...content, messageId, references: [] }, { metrics });
    if (outcome.result === 'failed') throw new Error(outcome.reason);
    if (outcome.result === 'refused' && userId !== undefined)
      logger.info({ userId }, 'the mail server refuses mail to a user');
    await settle?.(outcome.result === 'delivered' ? 'sent' : 'refused');
  };
}
