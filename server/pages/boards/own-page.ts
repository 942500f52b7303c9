import { defaultPerPage } from '../../../contract/pagination.ts';
import { listFollowedOnBoard, listSubmitted, listVoted, type OwnIdea, ownSort } from '../../domain/ideas/list-own.ts';
import type { Page, Place } from '../../domain/pagination.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { t } from '../../text/catalogue.ts';
import { shortLine } from '../../text/plain-text.ts';
import type { Notices, Route } from '../shell/visit.ts';
import { type BoardVisit, boardOf, memberOf, pathOn } from './opened-board.ts';
import { frameOfBoard, presentTime } from './present-idea.ts';

/** The lists of ideas that a member submitted, voted on or follows. Each key is the end of the list's path. */
const ownLists = {
  '/mine': { name: 'submitted', list: presentSubmitted },
  '/mine/votes': { name: 'voted', list: presentVoted },
  '/mine/following': { name: 'followed', list: presentFollowed },
} as const;

type OwnPath = keyof typeof ownLists;
const ownPaths = Object.keys(ownLists) as OwnPath[];

/** The pages with the ideas of a board that a member submitted, voted on or follows. */
export const ownRoutes: Route<AccountOfUser | undefined>[] = ownPaths.map(path => ({
  path: `/b/:slug${path}`,
  show: visit => showOwn(visit, path),
}));

/**
 * Returns the path of the list of followed ideas, where the browser returns after a form. The form's field `cursor`
 * gives the current page of the list.
 */
export function pathToFollowed(visit: BoardVisit, notice: keyof typeof notices): string {
  const cursor = visit.field('cursor');
  return pathOn(visit.request, '/mine/following', { ...(cursor === '' ? {} : { cursor }), notice });
}

const notices = { unfollowed: 'boards.own.notices.unfollowed' } satisfies Notices;

async function showOwn(visit: BoardVisit, path: OwnPath) {
  const { request } = visit;
  const { name, list } = ownLists[path];
  const label = t(`boards.own.${name}.label`);
  const place = visit.place(ownSort, defaultPerPage);
  const { board } = boardOf(request);
  const { rows, nextCursor } = await list(visit, place);
  const data = {
    tabs: ownPaths.map(one => ({
      label: t(`boards.own.${ownLists[one].name}.label`),
      href: pathOn(request, one),
      isCurrent: one === path,
    })),
    label,
    empty: t(`boards.own.${name}.empty`),
    ideas: rows,
    cursor: visit.parameter('cursor'),
    board: { label: shortLine(board.name, 100), href: pathOn(request) },
    first: visit.parameter('cursor') === '' ? undefined : { label: t('shell.first_page'), href: pathOn(request, path) },
    next:
      nextCursor === null
        ? undefined
        : { label: t('shell.labels.more_ideas'), href: pathOn(request, path, { cursor: nextCursor }) },
  };
  return visit.page('own', frameOfBoard(visit, board, { page: label, view: 'mine' }), data, { notices });
}

/** A pending or rejected idea has no link and no status, because only moderators can open its page. */
async function presentSubmitted(visit: BoardVisit, place: Place) {
  return shown(await listSubmitted(memberOf(visit), place), idea => {
    const { title, href, status } = presentOwn(visit, idea);
    const { moderation_state: state } = idea;
    const reason = idea.rejection_reason ?? undefined;
    return {
      title,
      ...(state === 'published' ? { href, status } : { state: t(`boards.own.submitted.${state}`), reason }),
      done: t('boards.own.submitted.done_html', presentTime(idea.at)),
    };
  });
}

async function presentVoted(visit: BoardVisit, place: Place) {
  return shown(await listVoted(memberOf(visit), place), idea => ({
    ...presentOwn(visit, idea),
    done: t(`boards.own.voted.${idea.value === 1 ? 'for' : 'against'}_html`, presentTime(idea.at)),
  }));
}

async function presentFollowed(visit: BoardVisit, place: Place) {
  return shown(await listFollowedOnBoard(memberOf(visit), place), idea => ({
    ...presentOwn(visit, idea),
    done: t('boards.own.followed.done_html', presentTime(idea.at)),
    unfollowPath: pathOn(visit.request, `/ideas/${idea.id}/follow`),
  }));
}

function presentOwn({ request }: BoardVisit, { id, title, status_label, status_category }: OwnIdea) {
  return {
    title: shortLine(title, 200),
    href: pathOn(request, `/ideas/${id}`),
    status: { label: shortLine(status_label, 60), category: status_category },
  };
}

function shown<Row, Shown>({ rows, nextCursor }: Page<Row>, present: (row: Row) => Shown) {
  return { rows: rows.map(present), nextCursor };
}
