import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { administrationIn } from '../../domain/administration.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { unfollowIdea } from '../../domain/notifications/followers.ts';
import { endMail, endMentions } from '../../domain/notifications/notifications.ts';
import type { Subscription, UnsubscribeTokens } from '../../domain/notifications/unsubscribe-token.ts';
import { t } from '../../text/catalogue.ts';
import { definePage, sendPage } from '../shell/page.ts';

/** The maximum size of a request body. A request has at most two fields, and the server ignores them. */
const maxBodyBytes = 16 * 1024;

interface UnsubscribePageData {
  title: string;
  explanation: string;
  /** The label of the form's button. Without a label, the page has no form. */
  button?: string;
}

const unsubscribePage = definePage<UnsubscribePageData>('pages/unsubscribe/unsubscribe');

type Dependencies = Pick<ServerDependencies, 'database' | 'audit' | 'clock'>;

/**
 * Serves the unsubscribe page. On this page, a person ends all notification mails, ends the notifications of mentions,
 * or unfollows one idea. A GET changes nothing, because mail filters follow links. The change needs a POST, from the
 * page's button or a mail provider (one click, RFC 8058). The token in the link replaces a sign-in.
 */
export function serveUnsubscribe({ database, audit, clock }: Dependencies, tokens: UnsubscribeTokens) {
  return async (app: FastifyInstance) => {
    // A mail provider sends an urlencoded form, a multipart form or nothing. The server reads the body and ignores it.
    app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: maxBodyBytes }, (_request, _body, done) =>
      done(null),
    );
    app.addHook('onRequest', async (_request, reply) => {
      // The page must send no Referer header, because its URL contains the token.
      reply.header('Referrer-Policy', 'no-referrer');
      reply.header('X-Robots-Tag', 'noindex');
    });

    app.get('/unsubscribe', async (request, reply) => {
      const { ideaId } = subscriptionOf(request, tokens);
      const data = textsOf(ideaId).confirmation;
      return sendPage(reply, unsubscribePage({ title: data.title }, data));
    });

    app.post('/unsubscribe', async (request, reply) => {
      const { userId, ideaId } = subscriptionOf(request, tokens);
      const actor = { by: 'user', by_user_id: userId } as const;
      await database.transaction(async transaction => {
        const admin = administrationIn(transaction, { audit, actor, now: clock.now() });
        if (ideaId === 'all') await endMail(admin, userId);
        else if (ideaId === 'mentions') await endMentions(admin, userId);
        else await unfollowIdea(admin, { userId, ideaId });
      });
      const data = textsOf(ideaId).result;
      return sendPage(reply, unsubscribePage({ title: data.title }, data));
    });
  };
}

function subscriptionOf(request: FastifyRequest, tokens: UnsubscribeTokens): Subscription {
  const { token } = request.query as Record<string, unknown>;
  const subscription = typeof token === 'string' ? tokens.read(token) : undefined;
  if (!subscription) throw new DomainError('not_found');
  return subscription;
}

/** Returns the texts of the page that asks for the confirmation, and the texts of the page that reports the result. */
function textsOf(ideaId: Subscription['ideaId']) {
  const what = typeof ideaId === 'number' ? 'idea' : ideaId === 'all' ? 'mail' : 'mentions';
  return {
    confirmation: {
      title: t(`shell.unsubscribe.${what}.question`),
      explanation: t(`shell.unsubscribe.${what}.effects`),
      button: t(`shell.unsubscribe.${what}.button`),
    },
    result: { title: t(`shell.unsubscribe.${what}.done`), explanation: t(`shell.unsubscribe.${what}.result`) },
  };
}
