import type { Administration } from '../../domain/administration.ts';
import { requireBoard } from '../../domain/boards/find-board.ts';
import { stateOfWindow } from '../../domain/boards/read-board.ts';
import type { Board } from '../../entities/board.ts';
import { shownName } from '../../pages/shell/show.ts';
import type { Visit, Words } from '../../pages/shell/visit.ts';
import { t } from '../../text/catalogue.ts';

const tabs = {
  settings: 'shell.labels.settings',
  deadlines: 'board_settings.navigation.deadlines',
  statuses: 'board_settings.navigation.statuses',
  tags: 'shell.labels.tags',
} as const;

/**
 * Runs `work` in a transaction, with the board whose slug is in the request's path. Throws not_found if the account of
 * the page has no board with this slug.
 */
export function onBoard<T>(visit: Visit, work: (admin: Administration, board: Board) => Promise<T> | T): Promise<T> {
  const slug = visit.word('slug');
  return visit.administer(async admin => work(admin, await requireBoard(admin, visit.account.id, slug)));
}

/**
 * Returns the path of a page about a board. By default, this is the board whose slug is in the current request's path.
 */
export function pathOnBoard(
  visit: Visit,
  page: string,
  { slug = visit.word('slug'), ...parameters }: Record<string, string> = {},
): string {
  return visit.path(`/admin/boards/${slug}/${page}`, parameters);
}

interface BoardPage extends Words {
  tab: keyof typeof tabs;
  /** The name of the page's template in this folder. */
  template?: string;
  title?: string;
}

/**
 * Returns a page about the board whose slug is in the request's path. The page has a header and tabs. `read` reads the
 * page's data.
 */
export function boardPage(
  visit: Visit,
  { tab, template = tab, title = t(tabs[tab]), ...words }: BoardPage,
  read: (admin: Administration, board: Board) => object,
) {
  return onBoard(visit, async (admin, board) => {
    const name = shownName(board.name);
    const path = (page: string) => pathOnBoard(visit, page, { slug: board.slug });
    const header = {
      name,
      flags: flagsOf(board, visit.server.clock.now()),
      links: [
        ...Object.entries(tabs).map(([page, key]) => ({ label: t(key), href: path(page), isCurrent: page === tab })),
        ...linksElsewhere(visit, board),
      ],
      path,
    };
    return visit.page(
      `boards/${template}`,
      t('board_settings.navigation.page_title', { board: name, page: title }),
      { ...(await read(admin, board)), board: header },
      words,
    );
  });
}

export function linksElsewhere(visit: Visit, { slug, isPublic }: { slug: string; isPublic: boolean }) {
  return [
    { label: t('shell.admin.queue'), href: visit.path('/admin/queue', { board: slug }) },
    { label: t('shell.labels.ideas'), href: visit.path('/admin/ideas', { board: slug }) },
    ...(isPublic ? [{ label: t('board_settings.navigation.public_page'), href: `/b/${slug}` }] : []),
  ];
}

type FlaggedBoard = Pick<
  Board,
  | 'isFrozen'
  | 'isPublic'
  | 'preModeration'
  | 'submissionsOpenAt'
  | 'submissionsCloseAt'
  | 'votingOpenAt'
  | 'votingCloseAt'
>;

/** Returns the state of a board as chips (small labels), such as `frozen`. */
export function flagsOf(board: FlaggedBoard, now: Date) {
  return [
    ...(board.isFrozen ? [{ label: t('board_settings.flags.frozen'), chip: 'chip-declined' }] : []),
    ...flagsOfWindow('submissions', { openAt: board.submissionsOpenAt, closeAt: board.submissionsCloseAt }, now),
    ...flagsOfWindow('voting', { openAt: board.votingOpenAt, closeAt: board.votingCloseAt }, now),
    ...(board.preModeration ? [{ label: t('board_settings.flags.pre_moderated'), chip: 'chip-outline' }] : []),
    {
      label: t(board.isPublic ? 'board_settings.flags.public' : 'board_settings.flags.for_members'),
      chip: 'chip-outline',
    },
  ];
}

function flagsOfWindow(name: 'submissions' | 'voting', window: Parameters<typeof stateOfWindow>[0], now: Date) {
  const state = stateOfWindow(window, now);
  return state === 'open' ? [] : [{ label: t(`board_settings.flags.${name}_${state}`), chip: 'chip-active' }];
}
