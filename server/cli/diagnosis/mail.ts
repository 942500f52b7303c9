import type { Config } from '../../config.ts';
import { checkMailServer } from '../../delivery/mail/mailer.ts';
import { error, type Finding, ok, warning } from './finding.ts';

/** Checks that the mail server accepts a connection and the password of SMTP_URL. Sends no mail. */
export async function diagnoseMail({ NODE_ENV, SMTP_URL }: Config): Promise<Finding[]> {
  if (SMTP_URL === undefined) {
    if (NODE_ENV !== 'production') return [];
    return [warning('SMTP_URL is unset, so the server sends no mail', 'Set SMTP_URL and MAIL_FROM')];
  }
  const { host } = new URL(SMTP_URL);
  try {
    await checkMailServer(SMTP_URL);
    return [ok(`The mail server ${host} accepts the connection`)];
  } catch (failure) {
    return [
      error(
        `The mail server ${host} cannot be used: ${(failure as Error).message}`,
        'Check the host, the port and the password in SMTP_URL. With smtps://, the mail server must use TLS from the start',
      ),
    ];
  }
}
