import nodemailer, { type NodemailerError } from 'nodemailer';
import type { Config } from '../../config.ts';
import { mailboxOf } from '../../domain/users/canonical-address.ts';
import type { Channel, Outcome } from '../channel.ts';

export interface Mail {
  to: string;
  subject: string;
  text: string;
  html: string;
  /** Without angle brackets. A mail that is sent again after a crash has the same one. */
  messageId: string;
  /** The message ids that it belongs to, so that the mails about one idea are shown together. */
  references: string[];
  /** One click there ends this kind of mail (RFC 8058). A mail that somebody asked for has none. */
  unsubscribeUrl?: string;
}

/** Sends mails. Refused: the mail server will never take the message, or has no such address. */
export interface Mailer extends Channel<Mail> {
  close(): void;
}

type MailConfig = Pick<Config, 'SMTP_URL' | 'MAIL_FROM' | 'BASE_URL'>;

/** The mail server of SMTP_URL; undefined when there is none. Connections are kept for the next mail. */
export function buildMailer(config: MailConfig): Mailer | undefined {
  if (config.SMTP_URL === undefined) return undefined;
  const from = config.MAIL_FROM ?? `Idea-Board <no-reply@${new URL(config.BASE_URL).hostname}>`;
  const transport = nodemailer.createTransport({
    url: config.SMTP_URL,
    pool: true,
    // A message whose connection was lost may have arrived: the job decides whether it is sent again.
    maxRequeues: 0,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 30_000,
    // Nothing in a mail names a file or an address to attach.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    name: 'mail',
    async send({ to, messageId, references, unsubscribeUrl, ...content }) {
      try {
        await transport.sendMail({
          from,
          // As an address alone, so that no comma or bracket in it makes two.
          to: { name: '', address: mailboxOf(to) },
          ...content,
          messageId: `<${messageId}>`,
          references: references.map(id => `<${id}>`),
          headers: {
            ...(unsubscribeUrl === undefined ? {} : unsubscribeHeaders(unsubscribeUrl)),
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

function unsubscribeHeaders(url: string) {
  return { 'List-Unsubscribe': `<${url}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' };
}

/** The commands whose answers are about one recipient and one message. */
const commandsOfMessage = ['RCPT TO', 'DATA'];

/**
 * Returns the outcome of one mail. Undefined if no mail can be sent, such as after a refused sender or login. Nodemailer
 * refuses an invalid address before it asks the server.
 */
function outcomeOf({ code, command, responseCode, permanent }: NodemailerError): Outcome | undefined {
  const refused = { result: 'refused', reason: 'The mail server refuses the message' } as const;
  if (code === 'EENVELOPE' && command === 'API') return refused;
  if (responseCode === undefined || !commandsOfMessage.includes(command ?? '')) return undefined;
  return permanent ? refused : { result: 'failed', reason: 'The mail server does not take a message now' };
}
