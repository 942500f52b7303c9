import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AccountOfUser } from '../../domain/sign-in/read-session.ts';
import { definePage, type Link, sendPage } from '../../pages/shell/page.ts';
import type { Html } from '../../text/html.ts';
import { formTokenOf, frameOf } from './frame.ts';

/** The question before what cannot be undone, or is felt by others. */
export interface Confirmation {
  title: string;
  /** What the question is about, between these words: `Revoke`, the name, `?`. */
  verb: string;
  name: string;
  /** What comes of it, in a sentence or two. */
  explanation: string;
  /** More about it: a template's output. */
  details?: Html;
  /** An optional part of the operation: a checkbox, ticked at first. */
  choice?: { name: string; label: string } | undefined;
  /** Where the form is sent. */
  action: string;
  button: string;
  isDangerous?: boolean;
  back: Link;
}

export const confirmationPage = definePage<object>('admin/shell/confirmation');

export function askFor(
  request: FastifyRequest,
  reply: FastifyReply,
  account: AccountOfUser | undefined,
  confirmation: Confirmation,
) {
  const frame = frameOf(request, account, confirmation.title);
  return sendPage(reply, confirmationPage(frame, { ...confirmation, formToken: formTokenOf(request) }));
}
