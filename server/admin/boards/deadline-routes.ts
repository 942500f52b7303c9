import { AdministrationError } from '../../domain/administration.ts';
import { updateBoard } from '../../domain/boards/edit-board.ts';
import { BoardChangedError, requireBoardAsSeen } from '../../domain/boards/find-board.ts';
import { definePage } from '../../pages/shell/page.ts';
import { fieldOf, type Problem } from '../shell/form.ts';
import type { Route, Visit } from '../shell/visit.ts';
import { boardPage, onBoard, pathOnBoard } from './board-page.ts';
import { changesOf, type DeadlineForm, readDeadlineForm, untouchedInOtherZone } from './deadline-form.ts';
import { presentDeadlines } from './present-deadlines.ts';
import { isTimeZone } from './time-zones.ts';

const deadlinePage = definePage<object>('admin/boards/deadlines');

const notices = {
  saved: 'The deadlines are saved. They hold from this moment on.',
  first:
    'The deadlines are saved. One of the times comes twice on its day, when clocks go back: the first of the two is meant. Its time in UTC tells which that is.',
};

const look = 'The time zone is another one, and the times below now stand in it. Look at them, and save them again';

/** The deadlines of a board: when ideas and votes are taken (POST /api/v1/ideas; Idea actions, 2). */
export const deadlineRoute: Route = {
  path: '/admin/boards/:slug/deadlines',
  show: showDeadlines,
  run: async visit => {
    const form = readDeadlineForm(visit.request.body);
    if (visit.field('look') !== '') {
      // Shows the times in another zone and saves nothing.
      rememberZone(visit, form.zone);
      return showDeadlines(visit);
    }
    const twice = await save(visit, form);
    rememberZone(visit, form.zone);
    return pathOnBoard(visit, 'deadlines', { notice: twice.length > 0 ? 'first' : 'saved' });
  },
};

function save(visit: Visit, form: DeadlineForm) {
  return visit.administer(async admin => {
    const board = await requireBoardAsSeen(admin, visit.account.id, visit.word('slug'), form.seenAt);
    if (untouchedInOtherZone(board, form).length > 0) throw new AdministrationError('invalid', look);
    const { changes, twice } = changesOf(board, form);
    await updateBoard(admin, board, changes);
    return twice;
  });
}

async function showDeadlines(visit: Visit, problem?: Problem) {
  const form = visit.isSent ? readDeadlineForm(visit.request.body) : undefined;
  const board = await onBoard(visit, async (_admin, found) => found);
  const zoneName = form?.zone ?? chosenZone(visit);
  const presented = presentDeadlines(board, { zoneName, form, now: visit.server.clock.now() });
  const isStale = problem?.cause instanceof BoardChangedError;
  const data = {
    ...presented,
    // A person who is told of another's change has seen it now. A person who is told of another problem has not.
    seenAt: form && !isStale ? form.seenAt : presented.seenAt,
    action: pathOnBoard(visit, 'deadlines', { slug: board.slug }),
  };
  return boardPage(visit, board, { template: deadlinePage, tab: 'deadlines' }, data, { notices, problem });
}

/** Each browser remembers the time zone for itself, in a cookie. */
const zoneCookie = 'idea_board_zone';
const yearSeconds = 365 * 86_400;

/** The zone that the address names, else the one used last in this browser, else UTC. */
function chosenZone({ request: { query, cookies } }: Visit): string {
  return [fieldOf(query, 'zone'), cookies[zoneCookie] ?? ''].find(isTimeZone) ?? 'UTC';
}

function rememberZone({ reply, server }: Visit, zone: string) {
  reply.setCookie(zoneCookie, zone, {
    path: '/admin',
    httpOnly: true,
    sameSite: 'lax',
    secure: server.config.BASE_URL.startsWith('https:'),
    maxAge: yearSeconds,
  });
}
