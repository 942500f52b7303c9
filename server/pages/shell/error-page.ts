import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorKey, errors } from '../../../contract/errors.ts';
import type { DomainError } from '../../domain/domain-error.ts';
import { noteErrors } from '../../http/error-handler.ts';
import { pathOf } from '../../http/request-context.ts';
import type { ErrorReporter } from '../../observability/error-reporter.ts';
import { definePage, type Frame, type Link, sendPage } from './page.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What stands around the page of an error, where it is more than its title; null, or undefined, where it is not. */
    frameOfError: ((title: string) => Frame) | null | undefined;
  }
}

interface ErrorPageData {
  status: number;
  title: string;
  explanation: string;
  link?: Link | undefined;
  /** By which the failure is found in the log. */
  requestId?: string | undefined;
}

const errorPage = definePage<ErrorPageData>('pages/shell/error');

/** Answers every error of a page with a page, which shows nothing of the inside: as answerErrors does for programs. */
export function answerErrorPages(reporter: ErrorReporter) {
  const note = noteErrors(reporter);
  return (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const { key } = note(error, request, reply);
    const status = statusOf(key);
    const { title, explanation } = words[status] ?? otherwise(key);
    const data: ErrorPageData = {
      status,
      title,
      explanation,
      link: wayOn(request, status),
      ...(status === 500 ? { requestId: request.id } : {}),
    };
    return sendPage(reply, errorPage(request.frameOfError?.(title) ?? { title }, data), status);
  };
}

function wayOn(request: FastifyRequest, status: number): Link | undefined {
  if (status === 400) return { label: 'Start again', href: pathOf(request) };
  const isLost = status === 404 || status === 405;
  return isLost && pathOf(request).startsWith('/admin') ? { label: 'To the admin area', href: '/admin' } : undefined;
}

/** An address is not a body: what is wrong in its query is a bad request, and not one that cannot be processed. */
function statusOf(key: DomainError['key']): number {
  return key === 'validation_failed' ? 400 : errors[key].status;
}

const words: Record<number, { title: string; explanation: string }> = {
  400: {
    title: 'That address is not right',
    explanation: 'Something after the question mark in it is not what this page knows, or the link was cut off.',
  },
  404: {
    title: 'Not found',
    explanation: 'There is no page here, or it is not open to you. The link may be old, or not whole.',
  },
  405: { title: 'That cannot be done here', explanation: 'This address does not take what was sent to it.' },
  413: { title: 'That is too much', explanation: 'What was sent is larger than this page accepts.' },
  415: { title: 'That cannot be read', explanation: 'What was sent is in a form that this page does not know.' },
  429: {
    title: 'A moment, please',
    explanation: 'Too many requests came from your network within a minute. Try again in a minute.',
  },
  500: {
    title: 'Something went wrong',
    explanation: 'The failure is on our side, and it is noted. Try again later.',
  },
  503: { title: 'Back in a moment', explanation: 'The server cannot reach its data right now. Try again in a minute.' },
};

function otherwise(key: ErrorKey) {
  return { title: 'That did not work', explanation: errors[key].meaning };
}
