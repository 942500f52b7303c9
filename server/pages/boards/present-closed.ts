import { type BoardView, stateOfWindow } from '../../domain/boards/read-board.ts';
import { t } from '../../text/catalogue.ts';
import type { Html } from '../../text/html.ts';
import { showTime } from '../shell/show.ts';

/**
 * Returns the sentence that says why and until when a board accepts no ideas or no votes. Returns undefined if the board
 * accepts them.
 */
export function describeClosed(board: BoardView, what: 'submissions' | 'voting', now: Date): string | Html | undefined {
  if (board.is_frozen) return t('boards.closed.frozen');
  const window = { openAt: board[`${what}_open_at`], closeAt: board[`${what}_close_at`] };
  const state = stateOfWindow(window, now);
  if (state === 'open') return undefined;
  const time = state === 'closed' ? window.closeAt : window.openAt;
  return t(`boards.closed.${what}_${state}_html`, { ...showTime(new Date(time ?? now)) });
}
