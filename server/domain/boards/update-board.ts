import type { Board } from '../../entities/board.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { noteFields } from '../changed-fields.ts';
import { explainViolations } from '../constraint-violation.ts';
import { checkName, checkSlug, checkText } from '../fields.ts';
import { boardSlugTaken, maxDescriptionLength } from './create-board.ts';

/** What is left out stays as it is; null takes a bound of a window away. */
export interface BoardChanges {
  name?: string;
  slug?: string;
  description?: string;
  isFrozen?: boolean;
  preModeration?: boolean;
  isPublic?: boolean;
  submissionsOpenAt?: Date | null;
  submissionsCloseAt?: Date | null;
  votingOpenAt?: Date | null;
  votingCloseAt?: Date | null;
}

/** The settings of a board of which the audit log tells that they were changed. Of a freeze it tells by itself. */
const settings = [
  'name',
  'slug',
  'description',
  'preModeration',
  'isPublic',
  'submissionsOpenAt',
  'submissionsCloseAt',
  'votingOpenAt',
  'votingCloseAt',
] as const;

export async function updateBoard(admin: Administration, board: Board, changes: BoardChanges): Promise<void> {
  const { name, slug, description, ...others } = changes;
  const wasFrozen = board.isFrozen;
  const changedFields = noteFields(board, settings);
  if (name !== undefined) board.name = checkName(name, 100);
  if (slug !== undefined) board.slug = checkSlug(slug);
  if (description !== undefined) {
    board.description = checkText(description, 0, maxDescriptionLength, 'description');
  }
  admin.em.assign(board, others);
  checkWindow('submission', board.submissionsOpenAt, board.submissionsCloseAt);
  checkWindow('voting', board.votingOpenAt, board.votingCloseAt);
  board.updatedAt = admin.now;
  await explainViolations(
    {
      ...boardSlugTaken(board.slug),
      // Two who each move one end of a window pass the check above, on what they read.
      boards_submissions_check: windowMessage('submission'),
      boards_voting_check: windowMessage('voting'),
    },
    () => admin.em.flush(),
  );
  const about = { account_id: board.accountId, board_id: board.id };
  const changed = changedFields();
  if (changed.length > 0) admin.audit.record('board.updated', { ...about, changed });
  if (board.isFrozen !== wasFrozen) admin.audit.record(board.isFrozen ? 'board.frozen' : 'board.unfrozen', about);
}

function checkWindow(which: string, openAt: Date | null | undefined, closeAt: Date | null | undefined) {
  if (openAt && closeAt && openAt >= closeAt) throw new AdministrationError('invalid', windowMessage(which));
}

function windowMessage(which: string) {
  return `The ${which} window must open before it closes`;
}
