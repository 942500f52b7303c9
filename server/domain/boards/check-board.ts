import { DomainError } from '../domain-error.ts';

interface Freezable {
  is_frozen: boolean;
}

interface Submissions extends Freezable {
  submissions_open_at: string | null;
  submissions_close_at: string | null;
}

/** Refuses a write to a frozen board. */
export function checkNotFrozen(board: Freezable) {
  if (board.is_frozen) throw new DomainError('board_frozen');
}

/** Refuses a submission to a frozen board, or outside its window: from the opening, included, to the closing. */
export function checkSubmissions(board: Submissions, now: Date) {
  checkNotFrozen(board);
  if (board.submissions_open_at !== null && now < new Date(board.submissions_open_at)) {
    throw new DomainError('submissions_not_open_yet');
  }
  if (board.submissions_close_at !== null && now >= new Date(board.submissions_close_at)) {
    throw new DomainError('submissions_closed');
  }
}
