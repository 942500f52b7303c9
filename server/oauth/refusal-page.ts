import type { FastifyReply } from 'fastify';
import { definePage, sendPage } from '../pages/shell/page.ts';
import type { OauthErrorBody } from './call-provider.ts';
import { shownTarget } from './client-metadata.ts';

interface RefusalData {
  title: string;
  explanation: string;
  detail: string;
  back?: { host: string; href: string };
}

const page = definePage<RefusalData>('oauth/refusal');

const title = 'The program cannot be connected';

/** Answers an invalid request without a redirect, because its redirect URI is not trusted. */
export function sendRefusalPage(reply: FastifyReply, { status, refusal }: { status: number; refusal: OauthErrorBody }) {
  const explanation = explanations[refusal.error] ?? 'Its request is invalid. Start again in the program.';
  const detail = detailOf(refusal.error, refusal.error_description);
  return sendPage(reply, page({ title }, { title, explanation, detail }), status);
}

function detailOf(error: string, description: string | null | undefined): string {
  return description ? `${error}: ${description}` : error;
}

/**
 * Answers an invalid request with a link to its client instead of a redirect. Anybody can register a client. A redirect
 * would turn links to this server, which people trust, into links to any site. The page names the host.
 */
export function sendReturnPage(reply: FastifyReply, location: string) {
  const { searchParams, hash } = new URL(location);
  const parameters = searchParams.has('error') ? searchParams : new URLSearchParams(hash.slice(1));
  const explanation = 'Its request is invalid. Go back only if you know the program. It then gets the error below.';
  const detail = detailOf(parameters.get('error') ?? 'invalid_request', parameters.get('error_description'));
  const back = { host: shownTarget(location).host, href: location };
  return sendPage(reply.removeHeader('location'), page({ title }, { title, explanation, detail, back }), 400);
}

const explanations: Record<string, string> = {
  invalid_client: 'This server does not know the program. Remove the connection in the program and add it again.',
  invalid_redirect_uri: 'Its redirect address is not registered.',
};
