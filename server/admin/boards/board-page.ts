import type { Administration } from '../../domain/administration.ts';
import { requireBoard } from '../../domain/boards/find-board.ts';
import type { Board } from '../../entities/board.ts';
import type { definePage } from '../../pages/shell/page.ts';
import { shownName } from '../shell/show.ts';
import { pageLinks, type Visit } from '../shell/visit.ts';

const tabs = { settings: 'Settings', deadlines: 'Deadlines', statuses: 'Statuses', tags: 'Tags' };

/** Runs work on the board that the address names, in a transaction. A board of another account is not found. */
export function onBoard<T>(visit: Visit, work: (admin: Administration, board: Board) => Promise<T>): Promise<T> {
  const slug = visit.word('slug');
  return visit.administer(async admin => work(admin, await requireBoard(admin, visit.account.id, slug)));
}

/** The path of a page about a board, by default about the board that the address names. */
export function pathOnBoard(
  visit: Visit,
  page: string,
  { slug = visit.word('slug'), ...parameters }: Record<string, string> = {},
): string {
  return visit.path(`/admin/boards/${slug}/${page}`, parameters);
}

/** A page about a board, below the board's name, its flags and the tabs of which one is the current one. */
export function boardPage(
  visit: Visit,
  board: Board,
  { template, tab, title = tabs[tab] }: { template: Template; tab: keyof typeof tabs; title?: string },
  data: object,
  words: Parameters<Visit['page']>[3],
) {
  const name = shownName(board.name);
  const header = {
    name,
    flags: flagsOf(
      {
        isFrozen: board.isFrozen,
        isPublic: board.isPublic,
        preModeration: board.preModeration,
        submissions: { openAt: board.submissionsOpenAt, closeAt: board.submissionsCloseAt },
        voting: { openAt: board.votingOpenAt, closeAt: board.votingCloseAt },
      },
      visit.server.clock.now(),
    ),
    pages: Object.entries(tabs).map(([page, label]) => ({
      label,
      href: pathOnBoard(visit, page, { slug: board.slug }),
      isCurrent: page === tab,
    })),
    elsewhere: linksElsewhere(visit, board),
  };
  return visit.page(template, `${name}: ${title}`, { ...data, board: header }, words);
}

type Template = ReturnType<typeof definePage<object>>;

/** Links to the pages outside the settings that are about a board. */
export function linksElsewhere(visit: Visit, { slug, isPublic }: { slug: string; isPublic: boolean }) {
  return [
    { label: 'Queue', href: visit.path('/admin/queue', { board: slug }) },
    { label: 'Ideas', href: visit.path('/admin/ideas', { board: slug }) },
    ...(isPublic ? [{ label: 'Public page', href: `/b/${slug}` }] : []),
  ];
}

/** A time window. Null and undefined mean no bound. */
export interface Window {
  openAt?: Date | null | undefined;
  closeAt?: Date | null | undefined;
}

interface FlaggedBoard {
  isFrozen: boolean;
  isPublic: boolean;
  preModeration: boolean;
  submissions: Window;
  voting: Window;
}

/** The state of a board at a glance, as chips. */
export function flagsOf(board: FlaggedBoard, now: Date) {
  return [
    ...(board.isFrozen ? [{ label: 'Frozen', chip: 'chip-declined' }] : []),
    ...flagsOfWindow('Submissions', board.submissions, now),
    ...flagsOfWindow('Voting', board.voting, now),
    ...(board.preModeration ? [{ label: 'Pre-moderated', chip: 'chip-outline' }] : []),
    { label: board.isPublic ? 'Public' : 'For members', chip: 'chip-outline' },
  ];
}

/** As in check-board.ts, the window includes the opening and not the closing. */
export function stateOfWindow({ openAt, closeAt }: Window, now: Date): 'not open yet' | 'open' | 'closed' {
  if (openAt && now < openAt) return 'not open yet';
  return closeAt && now >= closeAt ? 'closed' : 'open';
}

function flagsOfWindow(what: string, window: Window, now: Date) {
  const state = stateOfWindow(window, now);
  return state === 'open' ? [] : [{ label: `${what} ${state}`, chip: 'chip-active' }];
}

/** The place of a page of a list by its number. It asks for a row more than it shows, to see whether the list goes on. */
export function placeIn(visit: Visit, perPage: number) {
  return { limit: perPage + 1, offset: (pageIn(visit) - 1) * perPage };
}

/** The rows that the page shows of those that placeIn asked for, with its links. */
export function listOf<Row>(
  visit: Visit,
  fetched: Row[],
  { perPage, next, path }: { perPage: number; next: string; path: Parameters<typeof pageLinks>[0] },
) {
  const page = pageIn(visit);
  const links = pageLinks(path, {
    first: page > 1 && 'To the beginning',
    next: fetched.length > perPage ? [next, { page: String(page + 1) }] : undefined,
  });
  return { rows: fetched.slice(0, perPage), ...links };
}

/** Farther than any list goes, and near enough for PostgreSQL. */
const lastPage = 1_000_000;

function pageIn(visit: Visit): number {
  return Math.min(visit.number('page') ?? 1, lastPage);
}
