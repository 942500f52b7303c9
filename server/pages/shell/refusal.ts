import { AdministrationError } from '../../domain/administration.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { BusyError } from '../../domain/queue.ts';
import { t } from '../../text/catalogue.ts';
import type { Link } from './page.ts';

/** An error with an error page of its own. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly title: string;
  /** The link on the page. The default is the home page of the area. */
  readonly link: Link | undefined;

  constructor(status: number, title: string, explanation: string, link?: Link) {
    super(explanation);
    this.status = status;
    this.title = title;
    this.link = link;
  }
}

const statuses = { invalid: 422, conflict: 409, forbidden: 403 } as const;

/**
 * Returns a Refusal for an error that needs its own error page. Returns undefined for other errors: their error pages
 * look alike in all areas.
 */
export function refusalOf(error: Error): Refusal | undefined {
  if (error instanceof Refusal) return error;
  if (error instanceof BusyError) {
    return new Refusal(503, t('shell.refusal.busy.title'), t('shell.refusal.busy.explanation'));
  }
  if (!(error instanceof AdministrationError)) return undefined;
  const { reason, message } = error;
  if (reason === 'not_found') throw new DomainError('not_found');
  return new Refusal(statuses[reason], t(`shell.refusal.${reason}`), `${message}.`);
}
