import type { FastifyReply } from 'fastify';
import { definePage, sendPage } from '../pages/shell/page.ts';
import { shownTarget } from './client-metadata.ts';
import type { OauthErrorBody } from './exchange.ts';

interface RefusalData {
  title: string;
  explanation: string;
  detail: string;
  back?: { host: string; href: string };
}

const page = definePage<RefusalData>('oauth/refusal');

const title = 'The program cannot be connected';

/**
 * Answers a request that cannot be sent back to its client, since it is not known where that is: whoever follows an address
 * that anybody could have made would be sent anywhere.
 */
export function sendRefusalPage(reply: FastifyReply, { status, refusal }: { status: number; refusal: OauthErrorBody }) {
  const explanation = explanations[refusal.error] ?? 'What it asked for is not right: begin again in the program.';
  const detail = detailOf(refusal.error, refusal.error_description);
  return sendPage(reply, page({ title }, { title, explanation, detail }), status);
}

function detailOf(error: string, description: string | null | undefined): string {
  return description ? `${error}: ${description}` : error;
}

/**
 * Answers a request that is wrong, and of which its client is to be told elsewhere than on the person's own machine.
 * Anybody can register a client, and so an address: sent there at once, whoever follows a link to this server, which they
 * trust, would be somewhere else and not see it. So they read where it leads, and go there themselves.
 */
export function sendReturnPage(reply: FastifyReply, location: string) {
  const { searchParams, hash } = new URL(location);
  const told = searchParams.has('error') ? searchParams : new URLSearchParams(hash.slice(1));
  const explanation =
    'What it asked for is not right. It is told so when you go back to it: do so only if you know it.';
  const detail = detailOf(told.get('error') ?? 'invalid_request', told.get('error_description'));
  const back = { host: shownTarget(location).host, href: location };
  return sendPage(reply.removeHeader('location'), page({ title }, { title, explanation, detail, back }), 400);
}

const explanations: Record<string, string> = {
  invalid_client:
    'This server does not know it, or knows it no more. Remove the connection in the program and add it anew.',
  invalid_redirect_uri: 'It wants to be answered at an address that is not one of its own.',
};
