import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorKey, errors } from '../../../contract/errors.ts';
import type { DomainError } from '../../domain/domain-error.ts';
import { noteErrors } from '../../http/error-handler.ts';
import { pathOf } from '../../http/request-context.ts';
import type { ErrorReporter } from '../../observability/error-reporter.ts';
import { signInPath } from '../sign-in/next-path.ts';
import { writeForReaderOf } from './language.ts';
import { definePage, type Frame, type Link, sendPage } from './page.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Builds the frame of an error page. Without this function, the frame has only a title. */
    frameOfError: ((title: string) => Frame) | null | undefined;
    /** The explanation and the link of the page for a missing path, if the route knows them better than this file. */
    wayOut: WayOut | null | undefined;
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
  /** The request id. An operator can find the failure in the log by this id. */
  requestId?: string | undefined;
}

const errorPage = definePage<ErrorPageData>('pages/shell/error');

/**
 * Answers the errors of pages with an error page that reveals no internals. answerErrors does the same for API clients.
 */
export function answerErrorPages(reporter: ErrorReporter) {
  const note = noteErrors(reporter);
  const answer = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const { key } = note(error, request, reply);
    const status = statusOf(key);
    const { title, explanation } = words[status] ?? otherwise(key);
    const data: ErrorPageData = {
      status,
      title,
      explanation,
      link: wayOn(request, status),
      ...(status === 404 ? (request.wayOut ?? wayOutOf(request)) : {}),
      ...(status === 500 ? { requestId: request.id } : {}),
    };
    return sendPage(reply, errorPage(request.frameOfError?.(title) ?? { title }, data), status);
  };
  return (error: unknown, request: FastifyRequest, reply: FastifyReply) =>
    writeForReaderOf(request, () => answer(error, request, reply));
}

function wayOn(request: FastifyRequest, status: number): Link | undefined {
  if (status === 400) return { label: 'Start again', href: pathOf(request) };
  const isLost = status === 404 || status === 405;
  return isLost && pathOf(request).startsWith('/admin') ? { label: 'To the admin area', href: '/admin' } : undefined;
}

/**
 * Returns the way out for a missing path below /b. A private board gets the same answer as a missing board, so that
 * visitors cannot learn that the board exists.
 */
function wayOutOf(request: FastifyRequest): WayOut | undefined {
  const path = pathOf(request);
  if (!path.startsWith('/b/')) return undefined;
  const explanation =
    'There is no public board at this address. The board may be private or deleted, its address may have changed, or the link may be incomplete.';
  if (request.isPersonal) return { explanation, link: { label: 'Go to your boards', href: '/admin' } };
  return {
    explanation: `${explanation} If you are a member of the board, sign in.`,
    link: { label: 'Sign in', href: signInPath(path) },
  };
}

/** Returns the HTTP status of an error page: 400 for an invalid query, although the API answers 422 to such input. */
function statusOf(key: DomainError['key']): number {
  return key === 'validation_failed' ? 400 : errors[key].status;
}

const words: Record<number, { title: string; explanation: string }> = {
  400: {
    title: 'Invalid address',
    explanation: 'The part of the address after the question mark is invalid. The link may be incomplete.',
  },
  404: {
    title: 'Not found',
    explanation: 'There is no page here, or you may not open it. The link may be old or incomplete.',
  },
  405: { title: 'Not possible here', explanation: 'This page does not accept this kind of request.' },
  413: { title: 'Too large', explanation: 'The request is larger than this page accepts.' },
  415: { title: 'Unsupported format', explanation: 'This page does not accept requests in this format.' },
  429: {
    title: 'Too many requests',
    explanation: 'Your network sent too many requests within a minute. Try again in a minute.',
  },
  500: {
    title: 'Something went wrong',
    explanation: 'The server failed and logged the error. Try again later.',
  },
  503: { title: 'Back in a moment', explanation: 'The server cannot reach its database now. Try again in a minute.' },
};

function otherwise(key: ErrorKey) {
  return { title: 'The request failed', explanation: errors[key].meaning };
}
