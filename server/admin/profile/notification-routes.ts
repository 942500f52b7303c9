import { DomainError } from '../../domain/domain-error.ts';
import { atComment, linkToIdeas } from '../../domain/ideas/present-idea.ts';
import { listFollowedIdeas, unfollowIdea } from '../../domain/notifications/followers.ts';
import { hasIdeaPage, notificationKinds, wordsOf } from '../../domain/notifications/notification-words.ts';
import { listNotifications, markRead, type NotificationView } from '../../domain/notifications/notifications.ts';
import { cutRows } from '../../domain/pagination.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { updateUser } from '../../domain/users/edit-user.ts';
import { lockUser } from '../../domain/users/find-user.ts';
import { ideaPath } from '../../pages/boards/opened-board.ts';
import { isAdmin, isModerator, pathIn } from '../../pages/shell/session.ts';
import { shownHost, shownName, showTime } from '../../pages/shell/show.ts';
import type { Route } from '../../pages/shell/visit.ts';
import { t } from '../../text/catalogue.ts';
import { shortLine } from '../../text/plain-text.ts';
import { type OwnVisit, ownNavigation, profilePath } from './profile-page.ts';

const perPage = 25;
const maxQuoteLength = 300;
const maxTitleLength = 200;

const notificationsPath = '/admin/profile/notifications';
const followingPath = '/admin/profile/following';

/**
 * The pages for the signed-in user's notifications and followed ideas in all accounts.
 *
 * A GET request never marks a notification as read, because browsers and other programs may open links in advance. So
 * the sentence of an unread notification is the button of a form, which marks the notification and then opens its page.
 * The server finds the path of this page itself, so that the form cannot redirect to another website. The sentence of a
 * read notification is an ordinary link.
 */
export const notificationRoutes: Route<AccountOfUser | undefined>[] = [
  { path: notificationsPath, show: showNotifications },
  { path: `${notificationsPath}/read`, run: readAll },
  { path: `${notificationsPath}/:id/read`, run: readOne },
  { path: `${notificationsPath}/:id/open`, run: openOne },
  { path: followingPath, show: showFollowing },
  { path: `${followingPath}/:id/unfollow`, run: unfollow },
];

async function showNotifications(visit: OwnVisit) {
  const fetched = await readNotifications(visit, { beforeId: visit.number('before'), limit: perPage + 1 });
  const { rows: shown, hasMore } = cutRows(fetched, perPage);
  const data = {
    navigation: ownNavigation(visit, notificationsPath),
    notifications: shown.map(one => presentNotification(visit, one)),
    // Also looks for unread notifications on this page, because `unread_count` covers only the newest notifications.
    hasUnread: visit.user.unread_count > 0 || shown.some(({ read_at }) => read_at === null),
    newestId: shown[0]?.id ?? 0,
    ...visit.pageLinks(notificationsPath, 'before', hasMore && shown.at(-1)?.id),
  };
  return visit.page('profile/notifications', t('profile.navigation.notifications'), data, {
    notices: { read: 'profile.notifications.notices.read', all_read: 'profile.notifications.notices.all_read' },
  });
}

/** Reads notifications that the user may see in this session, the newest first. */
function readNotifications({ server, user }: OwnVisit, place: { beforeId: number | undefined; limit: number }) {
  const accountIds = user.accounts.map(({ id }) => id);
  return listNotifications(server.database, user.id, null, { ...place, accountIds });
}

async function readAll(visit: OwnVisit) {
  const newest = visit.field('up_to');
  const upToId = /^\d{1,15}$/.test(newest) ? Number(newest) : 0;
  await visit.administer(admin => markRead(admin, visit.user.id, { upToId }, visit.user.only_account_id));
  return visit.path(notificationsPath, { notice: 'all_read' });
}

function markOne(visit: OwnVisit) {
  return visit.administer(admin => markRead(admin, visit.user.id, [visit.id()], visit.user.only_account_id));
}

async function readOne(visit: OwnVisit) {
  await markOne(visit);
  return visit.path(notificationsPath, { ...placeOf(visit), notice: 'read' });
}

async function openOne(visit: OwnVisit) {
  const id = visit.id();
  const [notification] = await readNotifications(visit, { beforeId: id + 1, limit: 1 });
  if (notification?.id !== id) throw new DomainError('not_found');
  const href = hrefOf(visit, notification);
  // The page that the notification led to may have gone meanwhile.
  if (href === undefined) return readOne(visit);
  await markOne(visit);
  return href.startsWith('/') ? href : visit.forward(href, shownHost(URL.parse(href)?.host ?? ''));
}

export async function setMentions(visit: OwnVisit) {
  const wantsMentions = visit.field('wanted') !== 'no';
  await visit.administer(async admin => updateUser(admin, await lockUser(admin, visit.user.id), { wantsMentions }));
  return profilePath(visit, 'saved');
}

async function showFollowing(visit: OwnVisit) {
  const { user } = visit;
  const beforeIdeaId = visit.number('before');
  const reached = { userId: user.id, accountIds: user.accounts.map(({ id }) => id) };
  const fetched = await listFollowedIdeas(visit.server.database, reached, { beforeIdeaId, limit: perPage + 1 });
  const { rows: shown, hasMore } = cutRows(fetched, perPage);
  const data = {
    navigation: ownNavigation(visit, followingPath),
    ideas: shown.map(idea => ({
      title: shortLine(idea.title, 200),
      href: ideaLink(visit, { ...idea, id: idea.idea_id, isPublic: idea.is_public }),
      status: { label: shortLine(idea.status_label, 60), category: idea.status_category },
      board: shownName(idea.board_name),
      account: user.accounts.length > 1 ? shownName(idea.account_name) : undefined,
      unfollowPath: visit.path(`${followingPath}/${idea.idea_id}/unfollow`, placeOf(visit)),
    })),
    ...visit.pageLinks(followingPath, 'before', hasMore && shown.at(-1)?.idea_id),
  };
  return visit.page('profile/following', t('profile.navigation.following'), data, {
    notices: { unfollowed: 'boards.own.notices.unfollowed' },
  });
}

async function unfollow(visit: OwnVisit) {
  const { id: userId, only_account_id: only } = visit.user;
  await visit.administer(admin => unfollowIdea(admin, { userId, ideaId: visit.id() }, only));
  return visit.path(followingPath, { ...placeOf(visit), notice: 'unfollowed' });
}

/** Returns the query parameter of the current page of the list, so that a form can lead back to this page. */
function placeOf(visit: OwnVisit): Record<string, string> {
  const before = visit.number('before');
  return before === undefined ? {} : { before: String(before) };
}

function presentNotification(visit: OwnVisit, notification: NotificationView) {
  const { accounts } = visit.user;
  const account = accounts.find(({ slug }) => slug === notification.account);
  const { sentence, quote } = describe(notification);
  const isRead = notification.read_at !== null;
  const href = hrefOf(visit, notification);
  const path = `${notificationsPath}/${notification.id}`;
  return {
    sentence,
    quote: quote ? shortLine(quote, maxQuoteLength, '') : undefined,
    href,
    openPath: isRead || href === undefined ? undefined : visit.path(`${path}/open`, placeOf(visit)),
    account: accounts.length === 1 && account ? undefined : shownName(account?.name ?? notification.account),
    created: showTime(new Date(notification.created_at)),
    readPath: isRead ? undefined : visit.path(`${path}/read`, placeOf(visit)),
  };
}

function hrefOf(visit: OwnVisit, notification: NotificationView): string | undefined {
  const { kind, account, board, idea_id: id, comment_id: commentId, public_board: publicBoard } = notification;
  if (kind === 'webhook.disabled') {
    const own = visit.user.accounts.find(one => one.slug === account);
    return isAdmin(own) ? pathIn(visit.request, own, '/admin/webhooks') : undefined;
  }
  // The author of a rejected or deleted idea cannot open its page, so the notification has no link.
  if (id === null || board === null || !hasIdeaPage(kind)) return undefined;
  return ideaLink(visit, { id, commentId, account, board: publicBoard ?? board, isPublic: publicBoard !== null });
}

interface LinkedIdea {
  id: number;
  /** The comment that the page of the idea shows. */
  commentId?: number | null;
  account: string;
  board: string;
  isPublic: boolean;
}

/**
 * Returns the URL of the idea's page for the user: in the admin area, at IDEA_URL, or on the idea's board. Returns
 * undefined if the user can open none of these pages.
 */
function ideaLink(
  { user, request, server: { config } }: OwnVisit,
  { id, commentId, account: slug, board, isPublic }: LinkedIdea,
): string | undefined {
  const account = user.accounts.find(one => one.slug === slug);
  const onPage = (path: string) => (commentId ? atComment(path, commentId) : path);
  if (isModerator(account)) return onPage(pathIn(request, account, `/admin/ideas/${id}`));
  const ownPage = ideaPath(board, id);
  const url = linkToIdeas(config, board)(id);
  if (url !== `${config.BASE_URL}${ownPage}`) return url;
  // Members may also read the private boards of their accounts.
  if (account) return onPage(pathIn(request, account, ownPage));
  return isPublic ? onPage(ownPage) : undefined;
}

function describe(notification: NotificationView): { sentence: string; quote?: string | null } {
  const { kind, title } = notification;
  // Shows a general text for a kind of notification that this server does not know. During an upgrade, a newer server
  // may have stored such a notification.
  if (!notificationKinds.includes(kind)) {
    return {
      sentence:
        title === null
          ? t('profile.notifications.unknown')
          : t('profile.notifications.unknown_of_idea', { title: shortLine(title, maxTitleLength) }),
    };
  }
  return wordsOf(notification);
}
