import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AccountOfUser } from '../../domain/sign-in/read-session.ts';
import { definePage, sendPage } from '../../pages/shell/page.ts';
import { formTokenOf, frameOf } from '../shell/frame.ts';
import type { ShownWebhook } from './present-webhook.ts';

interface SecretData {
  title: string;
  webhook: ShownWebhook;
  secret: string;
  formToken: string;
}

const secretPage = definePage<SecretData>('admin/webhooks/secret', { hasCopyButtons: true });

/** Answers with a secret, this once, and how to verify with it. */
export function sendSecretPage(
  request: FastifyRequest,
  reply: FastifyReply,
  account: AccountOfUser,
  data: Omit<SecretData, 'formToken'>,
  status = 200,
) {
  const frame = frameOf(request, account, data.title);
  return sendPage(reply, secretPage(frame, { ...data, formToken: formTokenOf(request) }), status);
}
