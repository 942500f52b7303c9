import type { AddressInfo } from 'node:net';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer, type SMTPServerAddress, type SMTPServerSession } from 'smtp-server';

export interface ReceivedMail {
  to: string;
  from: string;
  /** The unparsed text of the mail, with CRLF line ends. */
  raw: string;
  mail: Email;
}

export interface SmtpReceiver {
  url: string;
  received: ReceivedMail[];
  /** The number of connections to the mail server since its start. */
  connections: number;
  /** Makes the mail server reject mails to the address with an SMTP error code. */
  refuse(address: string, code: number): void;
  /**
   * Makes the mail server receive mails to the address, but not answer. The mail server answers when the test calls the
   * returned function.
   */
  hold(address: string): () => void;
  /** Makes the mail server accept mails to all addresses again. */
  accept(): void;
  close(): Promise<void>;
}

/** Starts a mail server on a free port of 127.0.0.1. It records the mails that it receives. */
export async function startSmtpReceiver(): Promise<SmtpReceiver> {
  const refused = new Map<string, number>();
  const held = new Map<string, Promise<void>>();
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    logger: false,
    closeTimeout: 100,
    onConnect(_session, callback) {
      receiver.connections++;
      callback();
    },
    onRcptTo({ address }: SMTPServerAddress, _session: SMTPServerSession, callback) {
      const responseCode = refused.get(address);
      callback(responseCode === undefined ? null : Object.assign(new Error('Rejected'), { responseCode }));
    },
    onData(stream, { envelope }, callback) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const raw = Buffer.concat(chunks);
        PostalMime.parse(raw).then(mail => {
          const to = envelope.rcptTo[0]?.address ?? '';
          const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
          receiver.received.push({ to, from, raw: raw.toString(), mail });
          void (held.get(to) ?? Promise.resolve()).then(() => callback());
        }, callback);
      });
    },
  });
  // Ignores errors of connections, because a client may disconnect at any time.
  server.on('error', () => {});
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  const receiver: SmtpReceiver = {
    url: `smtp://127.0.0.1:${port}`,
    received: [],
    connections: 0,
    refuse: (address, code) => refused.set(address, code),
    hold(address) {
      const { promise, resolve } = Promise.withResolvers<void>();
      held.set(address, promise);
      return () => {
        held.delete(address);
        resolve();
      };
    },
    accept: () => refused.clear(),
    close: () => new Promise(resolve => server.close(() => resolve())),
  };
  return receiver;
}
