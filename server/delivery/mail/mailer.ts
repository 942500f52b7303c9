import nodemailer, { type NodemailerError } from 'nodemailer';
import type { Config } from '../../config.ts';
import { mailboxOf } from '../../domain/users/canonical-address.ts';

interface Mail {
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

export type MailOutcome =
  | 'sent'
  /** The address, or the message for it, is refused for good. */
  | 'refused'
  /** Not now, but others may be taken. */
  | 'deferred';

export interface Mailer {
  /** Sends one mail. Rejects when the mail server cannot be used at all. */
  send(mail: Mail): Promise<MailOutcome>;
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
        return 'sent';
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

/** What a failure says of one mail; undefined when it says that none can be sent, such as a refused sender or login. */
function outcomeOf({ code, command, responseCode, permanent }: NodemailerError): MailOutcome | undefined {
  // An address that is none: it is refused before the server is asked.
  if (code === 'EENVELOPE' && command === 'API') return 'refused';
  if (responseCode === undefined || !commandsOfMessage.includes(command ?? '')) return undefined;
  return permanent ? 'refused' : 'deferred';
}
