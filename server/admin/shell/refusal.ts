import type { FastifyError, FastifyInstance } from 'fastify';
import { AdministrationError } from '../../domain/administration.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { PasswordsBusyError } from '../../domain/sign-in/passwords.ts';
import { definePage, type Link, sendPage } from '../../pages/shell/page.ts';
import { accountAround } from './account-choice.ts';
import { frameOf } from './frame.ts';

const home: Link = { label: 'To the admin area', href: '/admin' };

/** What is answered with a page of its own words. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly title: string;
  readonly link: Link;

  constructor(status: number, title: string, explanation: string, link: Link = home) {
    super(explanation);
    this.status = status;
    this.title = title;
    this.link = link;
  }
}

const refusalPage = definePage<{ title: string; explanation: string; link: Link }>('admin/shell/refusal');

const statuses = { invalid: 422, conflict: 409, forbidden: 403 } as const;
const titles = {
  invalid: 'That cannot be done',
  conflict: 'That cannot be done now',
  forbidden: 'Not for you',
} as const;

/**
 * Answers refusals with their pages; every other error is that of any page. Whoever is signed in keeps what stands around
 * their pages, to go on from there.
 */
export function answerRefusals(app: FastifyInstance) {
  app.addHook('onRequest', async request => {
    if (request.browserSession) request.frameOfError = title => frameOf(request, accountAround(request), title);
  });
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const refusal = refusalOf(error);
    if (!refusal) throw error;
    const { title, status, link, message: explanation } = refusal;
    if (refusal === busy) reply.header('Retry-After', busyRetrySeconds);
    return sendPage(
      reply,
      refusalPage(request.frameOfError?.(title) ?? { title }, { title, explanation, link }),
      status,
    );
  });
}

const busy = new Refusal(503, 'Back in a moment', 'Many people sign in right now. Try again in a minute.');
const busyRetrySeconds = 60;

function refusalOf(error: Error): Refusal | undefined {
  if (error instanceof Refusal) return error;
  if (error instanceof PasswordsBusyError) return busy;
  if (!(error instanceof AdministrationError)) return undefined;
  const { reason, message } = error;
  if (reason === 'not_found') throw new DomainError('not_found');
  return new Refusal(statuses[reason], titles[reason], `${message}.`);
}
