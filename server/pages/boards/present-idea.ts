import type { FastifyRequest } from 'fastify';
import { type IdeaSort, ideaSorts, type VoteValue } from '../../../contract/idea.ts';
import type { BoardView } from '../../domain/boards/read-board.ts';
import type { IdeaView } from '../../domain/ideas/read-idea.ts';
import { type TextKey, t } from '../../text/catalogue.ts';
import { forEachLanguage } from '../../text/language.ts';
import { shortLine } from '../../text/plain-text.ts';
import { boardScript } from '../shell/assets.ts';
import type { Frame } from '../shell/page.ts';
import { shownName } from '../shell/show.ts';
import { loadTemplate } from '../shell/template.ts';
import { signInPath } from '../sign-in/next-path.ts';
import { type BoardVisit, boardOf, feedPath, ordinaryPathOf, pathOn } from './opened-board.ts';
import { describeClosed } from './present-closed.ts';

const orders = {
  newest: 'shell.orders.newest',
  top: 'shell.orders.top',
  updated: 'shell.orders.updated',
  comments: 'shell.orders.comments',
  trending: 'shell.orders.trending',
} as const satisfies Record<IdeaSort, TextKey>;

const renderSignIn = loadTemplate<{ path: string }>('pages/boards/sign-in-link');

interface PageOfBoard {
  /** The name of the page. Undefined for the board's main page, which lists the ideas. */
  page?: string;
  /** The view of the board that the page shows. The navigation highlights this view. */
  view?: 'ideas' | 'roadmap' | 'mine';
  /** A text about the page, such as the body of the idea. Previews of the page show the beginning of this text. */
  description?: string;
  isArticle?: boolean;
  canonicalPath?: string | undefined;
}

/** The length of a description that search engines and chats show in full. */
const maxDescriptionLength = 200;

/**
 * Builds the layout data of a page of a board. Search engines may index the page of a public board if the page has a
 * canonical path.
 */
export function frameOfBoard(
  { request, server }: BoardVisit,
  board: Pick<BoardView, 'slug' | 'name'>,
  { page, view, description = '', isArticle = false, canonicalPath }: PageOfBoard = {},
): Frame {
  const { isPublic, member, slug, root, isEmbedded } = boardOf(request);
  const name = shortLine(board.name, 100);
  const frame = {
    title: page === undefined ? name : `${page} · ${name}`,
    ...(member ? { script: boardScript } : {}),
    ...(request.browserSession ? {} : { actions: renderSignIn({ path: signInPath(ordinaryPathOf(request)) }) }),
    ...(isEmbedded ? { embeddedAt: root } : {}),
    site: { label: name, href: pathOn(request) },
    navigation: [
      { label: t('shell.labels.ideas'), href: pathOn(request), isCurrent: view === 'ideas' },
      { label: t('boards.frame.roadmap'), href: pathOn(request, '/roadmap'), isCurrent: view === 'roadmap' },
      ...(member
        ? [{ label: t('boards.frame.mine'), href: pathOn(request, '/mine'), isCurrent: view === 'mine' }]
        : []),
    ],
  };
  if (!isPublic) return frame;
  return {
    ...frame,
    feed: { label: t('boards.frame.new_ideas', { board: name }), href: feedPath(slug) },
    ...(canonicalPath === undefined ? {} : { canonicalUrl: `${server.config.BASE_URL}${canonicalPath}` }),
    preview: {
      type: isArticle ? 'article' : 'website',
      siteName: name,
      description: shortLine(description, maxDescriptionLength, ''),
    },
  };
}

/** Returns the links that change the order of a list of ideas: one link for each order. */
export function presentOrders(current: IdeaSort, hrefOf: (sort: IdeaSort) => string) {
  return ideaSorts.map(sort => ({ label: t(orders[sort]), href: hrefOf(sort), isCurrent: sort === current }));
}

/**
 * Returns an idea for a page. Removes line breaks and control characters from names and titles, so that a name cannot
 * imitate another name. Each tag links to the path that `tagPathOf` returns.
 */
export function presentIdea(idea: Omit<IdeaView, 'body'>, tagPathOf?: (name: string) => string) {
  return {
    id: idea.id,
    title: shortLine(idea.title, 200),
    status: { label: shortLine(idea.status_label, 60), category: idea.status_category },
    tags: idea.tags.map(({ name, color }) => ({ name: shortLine(name, 40), color, href: tagPathOf?.(name) })),
    score: idea.score,
    upCount: idea.up_count,
    downCount: idea.down_count,
    commentCount: idea.comment_count,
    authorName: shownName(idea.author_name),
    createdAt: presentTime(idea.created_at),
  };
}

/**
 * The number of characters that a list of ideas reads from each idea's body. The page shows far fewer characters, but
 * the list needs more, because line breaks and repeated spaces are removed.
 */
export const maxBodyLengthInList = 500;

/** Returns the beginning of a body on one line. */
export function presentExcerpt(body: string): string {
  return shortLine(body, 220, '');
}

const dayFormats = forEachLanguage(locale => new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' }));

/** Caches the texts of days. A list has twenty days, and Intl needs 3 µs for each. */
const textsOfDays = forEachLanguage(() => new Map<string, string>());

const maxCachedDays = 1_000;

/**
 * Formats a time as a day in UTC. Visitors in different time zones get the same cached page, so the page cannot use the
 * visitor's time zone.
 */
export function presentTime(time: string): { iso: string; text: string } {
  const date = new Date(time);
  const iso = date.toISOString();
  const [day = ''] = iso.split('T', 1);
  const known = textsOfDays();
  const text = known.get(day) ?? dayFormats().format(date);
  if (known.size >= maxCachedDays) known.clear();
  known.set(day, text);
  return { iso, text };
}

/** A form with an upvote button and a downvote button. Pressing the button of the current vote withdraws the vote. */
export interface VoteForm {
  action: string;
  id: string;
  /**
   * The query of the list that contains the form. After the vote, the browser returns to this list. Undefined on the
   * page of the idea.
   */
  list: string | undefined;
  up: { value: VoteValue; isPressed: boolean };
  down: { value: VoteValue; isPressed: boolean };
}

type VotableIdea = Pick<IdeaView, 'id' | 'my_vote' | 'status_key' | 'moderation_state' | 'merged_into_id'>;

/**
 * Returns a function that returns how the reader can vote on an idea: `vote` is the form for a member, and `signInPath`
 * the sign-in page for a visitor. After the sign-in, the browser returns to this page. Returns neither for a person who
 * is not a member, while the board accepts no votes, and for ideas that accept no votes.
 */
export function votingOn(
  { request, server }: BoardVisit,
  board: BoardView,
  list?: string,
): (idea: VotableIdea) => { vote?: VoteForm; signInPath?: string } {
  const { member } = boardOf(request);
  const isClosed = describeClosed(board, 'voting', server.clock.now()) !== undefined;
  // A list has many ideas, and all of them have the same link.
  const forVisitors = request.browserSession
    ? {}
    : { signInPath: signInPath(ordinaryPathOf(request), { notice: 'vote' }) };
  return idea => {
    const status = board.statuses.find(({ key }) => key === idea.status_key);
    const isOpen = idea.moderation_state === 'published' && idea.merged_into_id === null && status?.allow_votes;
    if (!isOpen || isClosed) return {};
    return member ? { vote: presentVote(request, idea, list) } : forVisitors;
  };
}

function presentVote(request: FastifyRequest, idea: VotableIdea, list: string | undefined): VoteForm {
  const button = (value: 'up' | 'down', number: 1 | -1) => {
    const isPressed = idea.my_vote === number;
    return { value: isPressed ? ('none' as const) : value, isPressed };
  };
  return {
    action: pathOn(request, `/ideas/${idea.id}/vote`),
    id: `vote-${idea.id}`,
    list,
    up: button('up', 1),
    down: button('down', -1),
  };
}
