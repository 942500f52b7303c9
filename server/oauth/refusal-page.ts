import type { FastifyReply } from 'fastify';
import { definePage, sendPage } from '../pages/page.ts';
import type { OauthErrorBody } from './exchange.ts';

const page = definePage<{ title: string; explanation: string; detail: string }>('oauth/refusal');

const title = 'The program cannot be connected';

/**
 * Answers a request that cannot be sent back to its client, since it is not known where that is: whoever follows an address
 * that anybody could have made would be sent anywhere.
 */
export function sendRefusalPage(reply: FastifyReply, { status, refusal }: { status: number; refusal: OauthErrorBody }) {
  const { error, error_description: description } = refusal;
  const explanation = explanations[error] ?? 'What it asked for is not right: begin again in the program.';
  const detail = description === undefined ? error : `${error}: ${description}`;
  return sendPage(reply, page({ title }, { title, explanation, detail }), status);
}

const explanations: Record<string, string> = {
  invalid_client:
    'This server does not know it, or knows it no more. Remove the connection in the program and add it anew.',
  invalid_redirect_uri: 'It wants to be answered at an address that is not one of its own.',
};
