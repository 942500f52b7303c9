import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorKey, errors } from '../../../contract/errors.ts';
import type { DomainError } from '../../domain/domain-error.ts';
import { noteErrors } from '../../http/error-handler.ts';
import { pathOf } from '../../http/request-context.ts';
import type { ErrorReporter } from '../../observability/error-reporter.ts';
import { t } from '../../text/catalogue.ts';
import { signInPath } from '../sign-in/next-path.ts';
import { reasonOf } from './act.ts';
import { writeForReaderOf } from './language.ts';
import { definePage, type Frame, type Link, sendPage } from './page.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Builds the layout data of an error page. Without this function, the layout has only a title. */
    frameOfError: ((title: string) => Frame) | null | undefined;
    /**
     * Returns the explanation and the link for the error page of a missing path. Set this function if the default
     * explanation and link do not fit the route.
     */
    wayOut: (() => WayOut) | null | undefined;
    /**
     * Returns the link to the page that contains the form of the request. Returns undefined if the request does not name
     * this page. See OwnArea.
     */
    wayBack: (() => Link | undefined) | null | undefined;
  }
}

interface WayOut {
  explanation: string;
  link: Link;
}

interface ErrorPageData {
  status: number;
  title: string;
  explanation: string;
  link?: Link | undefined;
  /** The request id. With it, an operator can find the failure in the log. */
  requestId?: string | undefined;
}

const errorPage = definePage<ErrorPageData>('pages/shell/error');

/**
 * Answers an error on a page with an HTML error page that reveals no internal details. For API clients, answerErrors()
 * answers in JSON.
 */
export function answerErrorPages(reporter: ErrorReporter) {
  const note = noteErrors(reporter);
  const answer = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const { key } = note(error, request, reply);
    const status = statusOf(key);
    const { title, explanation } = wordsFor(key, status);
    const data: ErrorPageData = {
      status,
      title,
      explanation,
      link: wayOn(request, status),
      ...(status === 404 ? (request.wayOut?.() ?? wayOutOf(request)) : {}),
      ...(status === 500 ? { requestId: request.id } : {}),
    };
    return sendPage(reply, errorPage(request.frameOfError?.(title) ?? { title }, data), status);
  };
  return (error: unknown, request: FastifyRequest, reply: FastifyReply) =>
    writeForReaderOf(request, () => answer(error, request, reply));
}

function wayOn(request: FastifyRequest, status: number): Link | undefined {
  if (status === 400) return { label: t('shell.errors.bad_address.start_again'), href: pathOf(request) };
  // After a failure of the server or too many requests, the person stays on this page and tries again later.
  if (status === 429 || status >= 500) return undefined;
  const back = request.wayBack?.();
  if (back || (status !== 404 && status !== 405)) return back;
  return pathOf(request).startsWith('/admin')
    ? { label: t('shell.errors.not_found.to_admin_area'), href: '/admin' }
    : { label: t('shell.home.start'), href: '/' };
}

/**
 * Returns the explanation and the link for a missing path below /b. A private board gets the same answer as a missing
 * board, so that visitors cannot learn that the board exists.
 */
function wayOutOf(request: FastifyRequest): WayOut | undefined {
  const path = pathOf(request);
  if (!path.startsWith('/b/')) return undefined;
  const explanation = t('shell.errors.no_board.explanation');
  if (request.isPersonal)
    return { explanation, link: { label: t('shell.errors.no_board.your_boards'), href: '/admin' } };
  return {
    explanation: `${explanation} ${t('shell.errors.no_board.sign_in')}`,
    link: { label: t('shell.labels.sign_in'), href: signInPath(path) },
  };
}

/**
 * Returns the HTTP status of an error page. An invalid query gets 400, although the API answers an invalid query with
 * 422.
 */
function statusOf(key: DomainError['key']): number {
  return key === 'validation_failed' ? 400 : errors[key].status;
}

const namesOfErrors = {
  400: 'bad_address',
  404: 'not_found',
  405: 'method_not_allowed',
  413: 'too_large',
  415: 'unsupported_format',
  429: 'too_many_requests',
  500: 'internal_error',
  503: 'unavailable',
} as const;

function wordsFor(key: ErrorKey, status: number) {
  const name = new Map(Object.entries(namesOfErrors)).get(String(status));
  if (name) return { title: t(`shell.errors.${name}.title`), explanation: t(`shell.errors.${name}.explanation`) };
  const reason = reasonOf(key);
  return {
    title: t('shell.errors.refused.title'),
    explanation: reason === undefined ? t('shell.errors.refused.explanation') : `${reason}.`,
  };
}
