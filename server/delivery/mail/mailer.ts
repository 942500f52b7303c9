import type { Task } from 'graphile-worker';
import nodemailer, { type NodemailerError } from 'nodemailer';
import type { Config } from '../../config.ts';
import { mailboxOf } from '../../domain/users/canonical-address.ts';
import type { Channel, Outcome } from '../channel.ts';
import type { MailContent } from './write-mail.ts';

export interface Mail extends MailContent {
  to: string;
  /** The Message-ID without angle brackets. A notification that is sent again after a crash keeps its id. */
  messageId: string;
  /** The References header. It makes mail programs group the mails about one idea. */
  references: string[];
  /** A POST request to this URL unsubscribes the user from mails of this kind (RFC 8058). Mails about an account have no such URL. */
  unsubscribeUrl?: string;
}

/** Sends mails. The outcome is `refused` if the mail server will never accept the message or the e-mail address. */
export interface Mailer extends Channel<Mail> {
  close(): void;
}

type MailConfig = Pick<Config, 'SMTP_URL' | 'MAIL_FROM' | 'BASE_URL'>;

/** Builds the mailer for SMTP_URL. The mailer keeps its connections open. Returns undefined if SMTP_URL is not set. */
export function buildMailer(config: MailConfig): Mailer | undefined {
  if (config.SMTP_URL === undefined) return undefined;
  const from = config.MAIL_FROM ?? `Idea-Board <no-reply@${new URL(config.BASE_URL).hostname}>`;
  const transport = createTransport(config.SMTP_URL);
  return {
    name: 'mail',
    async send({ to, language, messageId, references, unsubscribeUrl, ...content }) {
      try {
        await transport.sendMail({
          from,
          // Passes the recipient as an object. In a string, a comma or bracket could turn one e-mail address into two.
          to: { name: '', address: mailboxOf(to) },
          ...content,
          messageId: `<${messageId}>`,
          references: references.map(id => `<${id}>`),
          headers: {
            ...(unsubscribeUrl === undefined ? {} : unsubscribeHeaders(unsubscribeUrl)),
            'Content-Language': language,
            'Auto-Submitted': 'auto-generated',
          },
        });
        return { result: 'delivered' };
      } catch (error) {
        const outcome = outcomeOf(error as NodemailerError);
        if (outcome === undefined) throw error;
        return outcome;
      }
    },
    close: () => transport.close(),
  };
}

function createTransport(url: string) {
  return nodemailer.createTransport({
    url,
    pool: true,
    // Turns off resending in nodemailer, because the message may have arrived before the connection was lost. The job
    // decides whether to try again.
    maxRequeues: 0,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 30_000,
    // Forbids nodemailer to read files, because mails have no attachments.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** Connects to the mail server and signs in, but sends no mail. Throws an error if this fails. */
export async function checkMailServer(url: string): Promise<void> {
  const transport = createTransport(url);
  try {
    await transport.verify();
  } finally {
    transport.close();
  }
}

/** Wraps a task that sends mail. Without SMTP_URL the task does nothing, and the first skipped task logs a warning. */
export function requireMailer({
  mailer,
  logger,
}: {
  mailer: Mailer | undefined;
  logger: { warn(message: string): void };
}) {
  let isAbsenceLogged = false;
  return <Payload>(
    run: (mailer: Mailer, payload: Payload) => ReturnType<Task>,
  ): ((payload: unknown) => ReturnType<Task>) => {
    return payload => {
      if (mailer) return run(mailer, payload as Payload);
      if (!isAbsenceLogged) logger.warn('SMTP_URL is not set: the server sends no mail');
      isAbsenceLogged = true;
    };
  };
}

function unsubscribeHeaders(url: string) {
  return { 'List-Unsubscribe': `<${url}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' };
}

/** An error of these SMTP commands concerns only one recipient or message. */
const commandsOfMessage = ['RCPT TO', 'DATA'];

/**
 * Returns the outcome of one mail after an error. Returns undefined if no mail can be sent, such as after a refused
 * sender or login. Nodemailer refuses an invalid e-mail address without asking the mail server.
 */
function outcomeOf({ code, command, responseCode, permanent }: NodemailerError): Outcome | undefined {
  const refused = { result: 'refused', reason: 'The mail server refuses the message' } as const;
  if (code === 'EENVELOPE' && command === 'API') return refused;
  if (responseCode === undefined || !commandsOfMessage.includes(command ?? '')) return undefined;
  return permanent ? refused : { result: 'failed', reason: 'The mail server does not take a message now' };
}
