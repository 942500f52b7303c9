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

/** Shows an authorization error on a page. The server does not redirect, because it does not trust the redirect URI. */
export function sendRefusalPage(reply: FastifyReply, { status, refusal }: { status: number; refusal: OauthErrorBody }) {
  const explanation = explanations[refusal.error] ?? 'Its request is invalid. Start again in the program.';
  const detail = detailOf(refusal.error, refusal.error_description);
  return sendPage(reply, page({ title }, { title, explanation, detail }), status);
}

function detailOf(error: string, description: string | null | undefined): string {
  return description ? `${error}: ${description}` : error;
}

/**
 * Answers an invalid authorization request with a page that has a link to the client and names the client's host. The
 * server does not redirect, because anybody can register a client. Otherwise a link to this server, which people trust,
 * could lead to any site.
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
