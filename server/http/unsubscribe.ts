import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../dependencies.ts';
import { endMail } from '../domain/notifications/end-mail.ts';
import { unfollowIdea } from '../domain/notifications/follow-idea.ts';
import type { Subscription, UnsubscribeTokens } from '../events/people/unsubscribe-token.ts';
import { Html, html } from '../html.ts';

/** What is sent along with an unsubscription: a field or two, which say nothing that the address does not. */
const maxBodyBytes = 16 * 1024;

const style = `body{max-width:32rem;margin:4rem auto;padding:0 1rem;font:1rem/1.5 system-ui,sans-serif;color:#1c1917}
button{padding:.5rem 1rem;font:inherit;cursor:pointer}`;

/** The page runs nothing, loads nothing, is framed by nobody, and sends its form to this server alone. */
const headers = {
  'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'X-Frame-Options': 'DENY',
  // The address is what authorizes.
  'Referrer-Policy': 'no-referrer',
  'X-Robots-Tag': 'noindex',
  'Cross-Origin-Opener-Policy': 'same-origin',
};

/**
 * The page behind the link that ends a kind of mail. Looking at it changes nothing, since mail filters follow links; the
 * POST of its button and the one click of a mail provider (RFC 8058) do. Neither needs a sign-in: the token is enough.
 */
export function serveUnsubscribe({ database }: Pick<ServerDependencies, 'database'>, tokens: UnsubscribeTokens) {
  return async (app: FastifyInstance) => {
    // A provider sends its fields as a form of either kind, or nothing: they are read to the end and left alone.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: maxBodyBytes }, (_request, _body, done) =>
      done(null),
    );
    app.addHook('onRequest', async (_request, reply) => {
      reply.headers(headers);
    });

    app.get('/unsubscribe', async (request, reply) => {
      const subscription = subscriptionOf(request, tokens);
      return subscription ? send(reply, 200, confirmation(subscription)) : send(reply, 404, unknown);
    });

    app.post('/unsubscribe', async (request, reply) => {
      const subscription = subscriptionOf(request, tokens);
      if (!subscription) return send(reply, 404, unknown);
      const { userId, ideaId } = subscription;
      if (ideaId === 'all') await endMail(database, userId);
      else await unfollowIdea(database, { userId, ideaId });
      return send(reply, 200, done(subscription));
    });
  };
}

function subscriptionOf(request: FastifyRequest, tokens: UnsubscribeTokens): Subscription | undefined {
  const { token } = request.query as Record<string, unknown>;
  return typeof token === 'string' ? tokens.read(token) : undefined;
}

function send(reply: FastifyReply, status: number, { title, content }: Page) {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body>
<h1>${title}</h1>
${content}
</body>
</html>
`;
  return reply.status(status).type('text/html; charset=utf-8').send(page.text);
}

interface Page {
  title: string;
  content: Html;
}

/** The form has no action, and so is sent to the address of the page, with its token. */
function confirmation({ ideaId }: Subscription): Page {
  return ideaId === 'all'
    ? {
        title: 'Get no more mail?',
        content: html`<p>Notifications will no longer be mailed to you. You find them in Idea-Board all the same.</p>
<form method="post"><button>Get no more mail</button></form>`,
      }
    : {
        title: 'Unfollow the idea?',
        content: html`<p>You will not be told of what happens to this idea any more.</p>
<form method="post"><button>Unfollow</button></form>`,
      };
}

function done({ ideaId }: Subscription): Page {
  return ideaId === 'all'
    ? { title: 'No more mail', content: html`<p>Notifications are no longer mailed to you.</p>` }
    : { title: 'Unfollowed', content: html`<p>You are not told of what happens to this idea any more.</p>` };
}

const unknown: Page = {
  title: 'Not found',
  content: html`<p>This link is not one of ours, or not whole. Try to copy it from the mail once more.</p>`,
};
