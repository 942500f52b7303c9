import { expect } from 'vitest';
import { hiddenFields, type Seen, Visitor } from '../admin/visitor.ts';
import type { TestClock } from '../helpers/clock.ts';
import { runJobs } from '../helpers/jobs.ts';
import type { TestServer } from '../helpers/server.ts';
import type { SmtpReceiver } from '../helpers/smtp-receiver.ts';

interface Mailing {
  server: TestServer;
  clock: TestClock;
  mail: SmtpReceiver;
}

/** Opens the sign-in page, waits as long as a person needs for the form, and asks for a mailed link. */
export async function askForLink(
  { server, clock }: Pick<Mailing, 'server' | 'clock'>,
  email: string,
  { next = '/admin', visitor = new Visitor(server) }: { next?: string; visitor?: Visitor } = {},
): Promise<Seen> {
  const { html } = await visitor.get(`/sign-in?${new URLSearchParams({ next })}`);
  clock.advance(2_000);
  return visitor.post('/sign-in/mail-link', { ...hiddenFields(html, '/sign-in'), email, password: '' });
}

/**
 * Asks for a link and sends the waiting mails. Returns the token of the mailed link, or undefined if the address got no
 * link.
 */
export async function mailedToken(
  { server, clock, mail }: Mailing,
  email: string,
  options: { next?: string } = {},
): Promise<string | undefined> {
  mail.received.length = 0;
  expect((await askForLink({ server, clock }, email, options)).status).toBe(200);
  expect(await runJobs(server)).toEqual([]);
  return tokenIn(mail.received.at(-1)?.mail.text);
}

export function tokenIn(text = ''): string | undefined {
  return /\/sign-in\/link\?token=([\w-]{43})$/m.exec(text)?.[1];
}

/** Sends the form of a mailed link's page, like a person who presses its button. A new person also enters a name. */
export function follow(visitor: Visitor, token: string | undefined, name = ''): Promise<Seen> {
  return visitor.post('/sign-in/link', { token: token ?? '', name });
}
