import type { FastifyReply } from 'fastify';
import { definePage, sendPage } from '../pages/shell/page.ts';
import { t } from '../text/catalogue.ts';
import type { OauthErrorBody } from './call-provider.ts';
import { shownTarget } from './client-metadata.ts';

interface RefusalData {
  title: string;
  explanation: string;
  detail: string;
  back?: { host: string; href: string };
}

const page = definePage<RefusalData>('oauth/refusal');

/** Shows an authorization error on a page. The server does not redirect, because it does not trust the redirect URI. */
export function sendRefusalPage(reply: FastifyReply, { status, refusal }: { status: number; refusal: OauthErrorBody }) {
  const explanation = t(explanations[refusal.error] ?? 'oauth.refusal.invalid_request');
  const detail = detailOf(refusal.error, refusal.error_description);
  return sendRefusal(reply, { explanation, detail }, status);
}

function sendRefusal(reply: FastifyReply, words: Omit<RefusalData, 'title'>, status: number) {
  const title = t('oauth.refusal.title');
  return sendPage(reply, page({ title }, { title, ...words }), status);
}

function detailOf(error: string, description: string | null | undefined): string {
  return description ? `${error}: ${description}` : error;
}

/**
 * Answers an invalid authorization request with a page instead of a redirect. The page links to the client and names
 * the client's host. Anybody can register a client, so with a redirect, a link to this trusted server could lead to any
 * site.
 */
export function sendReturnPage(reply: FastifyReply, location: string) {
  const { searchParams, hash } = new URL(location);
  const parameters = searchParams.has('error') ? searchParams : new URLSearchParams(hash.slice(1));
  const explanation = t('oauth.refusal.go_back');
  const detail = detailOf(parameters.get('error') ?? 'invalid_request', parameters.get('error_description'));
  const back = { host: shownTarget(location).host, href: location };
  return sendRefusal(reply.removeHeader('location'), { explanation, detail, back }, 400);
}

const explanations: Record<string, 'oauth.refusal.invalid_client' | 'oauth.refusal.invalid_redirect_uri'> = {
  invalid_client: 'oauth.refusal.invalid_client',
  invalid_redirect_uri: 'oauth.refusal.invalid_redirect_uri',
};
