import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { unfollowIdea } from '../../domain/notifications/follow-idea.ts';
import { listFollowedIdeas } from '../../domain/notifications/list-followed-ideas.ts';
import { definePage, type NavigationLink, sendPage } from '../../pages/shell/page.ts';
import { shortLine } from '../../text/plain-text.ts';
import { idIn, noticeIn, numberIn } from '../shell/form.ts';
import { formTokenOf } from '../shell/frame.ts';
import { administer, requireSession, sessionOf } from '../shell/session.ts';
import { shownName } from '../shell/show.ts';
import { ideaLink } from './idea-link.ts';
import { ownFrame, ownNavigation, ownPath } from './own-pages.ts';

interface ListData {
  navigation: NavigationLink[];
  notice?: string | undefined;
  ideas: {
    title: string;
    href?: string | undefined;
    status: { label: string; category: string };
    board: string;
    /** Where several could be meant. */
    account?: string | undefined;
    unfollowPath: string;
  }[];
  isFirst: boolean;
  firstPath: string;
  olderPath?: string | undefined;
  formToken: string;
}

const listPage = definePage<ListData>('admin/profile/following');

const perPage = 25;

/** The ideas that whoever is signed in follows, in all accounts. */
export function serveFollowing(app: FastifyInstance, server: ServerDependencies) {
  const { database, config } = server;
  const path = '/admin/profile/following';

  app.get(path, { onRequest: requireSession }, async (request, reply) => {
    const { user } = sessionOf(request);
    const beforeIdeaId = numberIn(request, 'before');
    const place = beforeIdeaId === undefined ? {} : { before: String(beforeIdeaId) };
    const fetched = await listFollowedIdeas(database, user.id, { beforeIdeaId, limit: perPage + 1 });
    const shown = fetched.slice(0, perPage);
    const last = fetched.length > perPage ? shown.at(-1) : undefined;
    const data: ListData = {
      navigation: ownNavigation(request, path),
      notice: noticeIn(request, { unfollowed: 'You are not told of that idea any more.' }),
      ideas: shown.map(idea => ({
        title: shortLine(idea.title, 200),
        href: ideaLink(request, config, {
          id: idea.idea_id,
          account: idea.account,
          board: idea.board,
          isPublic: idea.is_public,
        }),
        status: { label: shortLine(idea.status_label, 60), category: idea.status_category },
        board: shownName(idea.board_name),
        account: user.accounts.length > 1 ? shownName(idea.account_name) : undefined,
        unfollowPath: ownPath(request, `${path}/${idea.idea_id}/unfollow`, place),
      })),
      isFirst: beforeIdeaId === undefined,
      firstPath: ownPath(request, path),
      olderPath: last && ownPath(request, path, { before: String(last.idea_id) }),
      formToken: formTokenOf(request),
    };
    return sendPage(reply, listPage(ownFrame(request, 'What you follow'), data));
  });

  app.post(`${path}/:id/unfollow`, { onRequest: requireSession }, async (request, reply) => {
    const userId = sessionOf(request).user.id;
    await administer(server, request, admin => unfollowIdea(admin, { userId, ideaId: idIn(request) }));
    const before = numberIn(request, 'before');
    const place = before === undefined ? {} : { before: String(before) };
    return reply.redirect(ownPath(request, path, { ...place, notice: 'unfollowed' }), 303);
  });
}
