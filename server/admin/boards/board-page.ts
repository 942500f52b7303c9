import type { FastifyRequest } from 'fastify';
import type { AccountOfUser } from '../../domain/sign-in/read-session.ts';
import type { Board } from '../../entities/board.ts';
import type { Link, NavigationLink } from '../../pages/shell/page.ts';
import { pathIn } from '../shell/session.ts';
import { shownName } from '../shell/show.ts';
import { type Flag, flagsOf } from './board-flags.ts';

/** What stands above every page about a board. */
export interface BoardHeader {
  name: string;
  flags: Flag[];
  pages: NavigationLink[];
  elsewhere: Link[];
}

const pages = [
  { label: 'Settings', page: 'settings' },
  { label: 'Deadlines', page: 'deadlines' },
  { label: 'Statuses', page: 'statuses' },
  { label: 'Tags', page: 'tags' },
] as const;

export type BoardPage = (typeof pages)[number]['page'];

export function headerOf(
  request: FastifyRequest,
  account: AccountOfUser,
  board: Board,
  { current, now }: { current: BoardPage; now: Date },
): BoardHeader {
  return {
    name: shownName(board.name),
    flags: flagsOf(
      {
        isFrozen: board.isFrozen,
        isPublic: board.isPublic,
        preModeration: board.preModeration,
        submissions: { openAt: board.submissionsOpenAt, closeAt: board.submissionsCloseAt },
        voting: { openAt: board.votingOpenAt, closeAt: board.votingCloseAt },
      },
      now,
    ),
    pages: pages.map(({ label, page }) => ({
      label,
      href: pathOnBoard(request, account, board.slug, page),
      isCurrent: page === current,
    })),
    elsewhere: linksElsewhere(request, account, board),
  };
}

/** Where else there is something of a board. */
export function linksElsewhere(
  request: FastifyRequest,
  account: AccountOfUser,
  { slug, isPublic }: { slug: string; isPublic: boolean },
): Link[] {
  return [
    { label: 'Queue', href: pathIn(request, account, '/admin/queue', { board: slug }) },
    { label: 'Ideas', href: pathIn(request, account, '/admin/ideas', { board: slug }) },
    ...(isPublic ? [{ label: 'Public page', href: `/b/${slug}` }] : []),
  ];
}

/** The address of a page about a board. */
export function pathOnBoard(
  request: FastifyRequest,
  account: AccountOfUser,
  slug: string,
  page: string,
  parameters: Record<string, string> = {},
): string {
  return pathIn(request, account, `/admin/boards/${slug}/${page}`, parameters);
}
