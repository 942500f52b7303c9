import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { listNotifications, type NotificationView } from '../../domain/notifications/list-notifications.ts';
import { markRead } from '../../domain/notifications/mark-read.ts';
import { notificationKinds, wordsOf } from '../../domain/notifications/notification-words.ts';
import { definePage, type NavigationLink, sendPage } from '../../pages/shell/page.ts';
import { shortLine } from '../../text/plain-text.ts';
import { fieldOf, idIn, noticeIn, numberIn } from '../shell/form.ts';
import { formTokenOf } from '../shell/frame.ts';
import { administer, isAdmin, pathIn, requireSession, sessionOf } from '../shell/session.ts';
import { type ShownTime, shownName, showTime } from '../shell/show.ts';
import { ideaLink } from './idea-link.ts';
import { ownFrame, ownNavigation, ownPath } from './own-pages.ts';

interface ShownNotification {
  sentence: string;
  quote?: string | undefined;
  href?: string | undefined;
  /** Where several could be meant. */
  account?: string | undefined;
  created: ShownTime;
  /** Undefined where it is read. */
  readPath?: string | undefined;
}

interface ListData {
  navigation: NavigationLink[];
  notice?: string | undefined;
  notifications: ShownNotification[];
  hasUnread: boolean;
  readAllPath: string;
  newestId: number;
  isFirst: boolean;
  firstPath: string;
  olderPath?: string | undefined;
  formToken: string;
}

const listPage = definePage<ListData>('admin/profile/notifications');

const perPage = 25;
const maxQuoteLength = 300;
const maxTitleLength = 200;

/** What whoever is signed in was told, in all accounts. To look at it changes nothing: they say what they have read. */
export function serveNotifications(app: FastifyInstance, server: ServerDependencies) {
  const { database, config } = server;
  const path = '/admin/profile/notifications';

  app.get(path, { onRequest: requireSession }, async (request, reply) => {
    const { user } = sessionOf(request);
    const beforeId = numberIn(request, 'before');
    const fetched = await listNotifications(database, user.id, null, { beforeId, limit: perPage + 1 });
    const shown = fetched.slice(0, perPage);
    const last = fetched.length > perPage ? shown.at(-1) : undefined;
    const data: ListData = {
      navigation: ownNavigation(request, path),
      notice: noticeIn(request, { read: 'It is marked as read.', all_read: 'All of them are marked as read.' }),
      notifications: shown.map(one => present(request, one, beforeId)),
      // Those of other pages, too: of the newest it is known with whoever is signed in.
      hasUnread: user.unread_count > 0 || shown.some(({ read_at }) => read_at === null),
      readAllPath: ownPath(request, `${path}/read`),
      newestId: shown[0]?.id ?? 0,
      isFirst: beforeId === undefined,
      firstPath: ownPath(request, path),
      olderPath: last && ownPath(request, path, { before: String(last.id) }),
      formToken: formTokenOf(request),
    };
    return sendPage(reply, listPage(ownFrame(request, 'Notifications'), data));
  });

  app.post(`${path}/read`, { onRequest: requireSession }, async (request, reply) => {
    const newest = fieldOf(request.body, 'up_to');
    const upToId = /^\d{1,15}$/.test(newest) ? Number(newest) : 0;
    await administer(server, request, admin => markRead(admin, sessionOf(request).user.id, { upToId }));
    return reply.redirect(ownPath(request, path, { notice: 'all_read' }), 303);
  });

  app.post(`${path}/:id/read`, { onRequest: requireSession }, async (request, reply) => {
    await administer(server, request, admin => markRead(admin, sessionOf(request).user.id, [idIn(request)]));
    const before = numberIn(request, 'before');
    const place = before === undefined ? {} : { before: String(before) };
    return reply.redirect(ownPath(request, path, { ...place, notice: 'read' }), 303);
  });

  function present(
    request: FastifyRequest,
    notification: NotificationView,
    beforeId: number | undefined,
  ): ShownNotification {
    const { accounts } = sessionOf(request).user;
    const account = accounts.find(({ slug }) => slug === notification.account);
    const { sentence, quote } = describe(notification);
    const place = beforeId === undefined ? {} : { before: String(beforeId) };
    return {
      sentence,
      quote: quote ? shortLine(quote, maxQuoteLength, '') : undefined,
      href: hrefOf(request, notification),
      account: accounts.length === 1 && account ? undefined : shownName(account?.name ?? notification.account),
      created: showTime(new Date(notification.created_at)),
      readPath: notification.read_at === null ? ownPath(request, `${path}/${notification.id}/read`, place) : undefined,
    };
  }

  function hrefOf(
    request: FastifyRequest,
    { kind, account: slug, board, idea_id, public_board }: NotificationView,
  ): string | undefined {
    if (kind === 'webhook.disabled') {
      const account = sessionOf(request).user.accounts.find(one => one.slug === slug);
      return isAdmin(account) ? pathIn(request, account, '/admin/webhooks') : undefined;
    }
    // A rejected idea is shown to nobody.
    if (idea_id === null || board === null || kind === 'idea.rejected') return undefined;
    const isPublic = public_board !== null;
    return ideaLink(request, config, { id: idea_id, account: slug, board: public_board ?? board, isPublic });
  }
}

function describe(notification: NotificationView): { sentence: string; quote?: string | null } {
  const { kind, title, detail } = notification;
  // During an upgrade a newer server may have told of something that this one has no words for.
  if (!notificationKinds.includes(kind)) {
    return { sentence: title === null ? 'There is news.' : `There is news of “${shortLine(title, maxTitleLength)}”.` };
  }
  return wordsOf({
    kind,
    board: notification.board_name,
    title,
    targetTitle: notification.target_title,
    actor: notification.actor,
    statusLabel: notification.status_label,
    comment: detail,
    detail,
    endpointUrl: notification.endpoint_url,
  });
}
