import { AdministrationError } from '../../domain/administration.ts';
import { updateBoard } from '../../domain/boards/edit-board.ts';
import { BoardChangedError, requireBoardAsSeen } from '../../domain/boards/find-board.ts';
import type { Problem } from '../../pages/shell/form.ts';
import { cookieOptions } from '../../pages/shell/session.ts';
import type { Route, Visit } from '../../pages/shell/visit.ts';
import { t, textKeysIn } from '../../text/catalogue.ts';
import { boardPage, pathOnBoard } from './board-page.ts';
import { changesOf, type DeadlineForm, readDeadlineForm, untouchedInOtherZone } from './deadline-form.ts';
import { presentDeadlines } from './present-deadlines.ts';
import { isTimeZone } from './time-zones.ts';

const notices = textKeysIn('board_settings.deadlines.notices');

/** The page with a board's deadlines for ideas and votes (specification: POST /api/v1/ideas; Idea actions, 2). */
export const deadlineRoute: Route = {
  path: '/admin/boards/:slug/deadlines',
  show: showDeadlines,
  run: async visit => {
    const form = readDeadlineForm(visit.request.body);
    if (visit.field('look') !== '') {
      // The person has chosen another time zone. Shows the stored times in that zone and saves nothing.
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
    if (untouchedInOtherZone(board, form).length > 0) {
      throw new AdministrationError('invalid', t('board_settings.deadlines.other_zone'));
    }
    const { changes, twice } = changesOf(board, form);
    await updateBoard(admin, board, changes);
    return twice;
  });
}

function showDeadlines(visit: Visit, problem?: Problem) {
  const form = visit.isSent ? readDeadlineForm(visit.request.body) : undefined;
  return boardPage(visit, { tab: 'deadlines', notices, problem }, (_admin, board) => {
    const isStale = problem?.cause instanceof BoardChangedError;
    const zoneName = form?.zone ?? chosenZone(visit);
    return {
      ...presentDeadlines(board, { zoneName, form, now: visit.server.clock.now() }),
      // After a BoardChangedError, the page shows the change that another person made. The user has now seen this
      // change, so the next save of the user may overwrite it.
      seenAt: form && !isStale ? form.seenAt : board.updatedAt.toISOString(),
    };
  });
}

/** The cookie with the time zone that the user last chose in this browser. */
const zoneCookie = 'idea_board_zone';
const yearSeconds = 365 * 86_400;

/** Returns the time zone in the query, or the zone that was last chosen in this browser, or UTC. */
function chosenZone(visit: Visit): string {
  return [visit.parameter('zone'), visit.request.cookies[zoneCookie] ?? ''].find(isTimeZone) ?? 'UTC';
}

function rememberZone({ reply, server }: Visit, zone: string) {
  reply.setCookie(zoneCookie, zone, { ...cookieOptions(server.config), path: '/admin', maxAge: yearSeconds });
}
