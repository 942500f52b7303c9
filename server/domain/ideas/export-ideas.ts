import type { Administration } from '../administration.ts';

/** Records that a moderator downloads the ideas of a board. */
export function recordIdeaExport({ audit }: Administration, board: { accountId: number; boardId: number }) {
  audit.record('board.ideas_exported', { account_id: board.accountId, board_id: board.boardId });
}
