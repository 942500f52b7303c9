import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { administrationIn } from '../../domain/administration.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { endMail } from '../../domain/notifications/end-mail.ts';
import { unfollowIdea } from '../../domain/notifications/follow-idea.ts';
import type { Subscription, UnsubscribeTokens } from '../../domain/notifications/unsubscribe-token.ts';
import { definePage, sendPage } from '../shell/page.ts';

/** What is sent along with an unsubscription: a field or two, which say nothing that the address does not. */
const maxBodyBytes = 16 * 1024;

interface UnsubscribePageData {
  title: string;
  explanation: string;
  /** What the button says that sends the form; without one there is nothing left to do. */
  button?: string;
}

const unsubscribePage = definePage<UnsubscribePageData>('pages/unsubscribe/unsubscribe');

type Dependencies = Pick<ServerDependencies, 'database' | 'audit' | 'clock'>;

/**
 * The page behind the link that ends a kind of mail. Looking at it changes nothing, since mail filters follow links; the
 * POST of its button and the one click of a mail provider (RFC 8058) do. Neither needs a sign-in: the token is enough.
 */
export function serveUnsubscribe({ database, audit, clock }: Dependencies, tokens: UnsubscribeTokens) {
  return async (app: FastifyInstance) => {
    // A provider sends its fields as a form of either kind, or nothing: they are read to the end and left alone.
    app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: maxBodyBytes }, (_request, _body, done) =>
      done(null),
    );
    app.addHook('onRequest', async (_request, reply) => {
      // The address is what authorizes.
      reply.header('Referrer-Policy', 'no-referrer');
      reply.header('X-Robots-Tag', 'noindex');
    });

    app.get('/unsubscribe', async (request, reply) => {
      const data = confirmation(subscriptionOf(request, tokens));
      return sendPage(reply, unsubscribePage({ title: data.title }, data));
    });

    app.post('/unsubscribe', async (request, reply) => {
      const subscription = subscriptionOf(request, tokens);
      const { userId, ideaId } = subscription;
      const actor = { by: 'user', by_user_id: userId } as const;
      await database.transaction(async transaction => {
        const admin = administrationIn(transaction, { audit, actor, now: clock.now() });
        if (ideaId === 'all') await endMail(admin, userId);
        else await unfollowIdea(admin, { userId, ideaId });
      });
      const data = done(subscription);
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

function confirmation({ ideaId }: Subscription): UnsubscribePageData {
  return ideaId === 'all'
    ? {
        title: 'Get no more mail?',
        explanation: 'Notifications will no longer be mailed to you. You find them in Idea-Board all the same.',
        button: 'Get no more mail',
      }
    : {
        title: 'Unfollow the idea?',
        explanation: 'You will not be told of what happens to this idea any more.',
        button: 'Unfollow',
      };
}

function done({ ideaId }: Subscription): UnsubscribePageData {
  return ideaId === 'all'
    ? { title: 'No more mail', explanation: 'Notifications are no longer mailed to you.' }
    : { title: 'Unfollowed', explanation: 'You are not told of what happens to this idea any more.' };
}
