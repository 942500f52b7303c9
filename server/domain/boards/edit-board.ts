import type { StatusCategory } from '../../../contract/status.ts';
import { Board, Status } from '../../entities/board.ts';
import { type BoardLanguage, boardLanguages } from '../../entities/board-language.ts';
import { t } from '../../text/catalogue.ts';
import { type Administration, AdministrationError, explainViolations, noteFields } from '../administration.ts';
import { checkName, checkSlug, checkText } from '../fields.ts';

interface BoardFields {
  slug: string;
  name: string;
  description?: string;
  preModeration?: boolean;
  isPublic?: boolean;
  language?: string;
}

/**
 * The statuses of a new board. In the Agent API, the field `status` of an idea has one fixed value for each category of
 * statuses. The key of each default status is the value for its category.
 */
export const defaultStatuses: { key: string; category: StatusCategory; label: string }[] = [
  { key: 'open', category: 'inbox', label: 'Open' },
  { key: 'planned', category: 'planned', label: 'Planned' },
  { key: 'in_progress', category: 'active', label: 'In progress' },
  { key: 'done', category: 'completed', label: 'Done' },
  { key: 'declined', category: 'declined', label: 'Declined' },
  { key: 'archived', category: 'archived', label: 'Archived' },
];

/**
 * The maximum length of a board's description. It limits the size of the response to GET /api/v1/board. The database
 * does not limit the length of a description.
 */
export const maxDescriptionLength = 5000;

export async function createBoard(
  admin: Administration,
  { accountId, ...input }: BoardFields & { accountId: number },
): Promise<Board> {
  const slug = checkSlug(input.slug);
  const board = admin.em.create(Board, {
    accountId,
    slug,
    name: checkName(input.name, 100),
    description: checkDescription(input.description ?? ''),
    preModeration: input.preModeration ?? false,
    isPublic: input.isPublic ?? false,
    language: checkLanguage(input.language ?? 'simple'),
    createdAt: admin.now,
    updatedAt: admin.now,
  });
  await explainViolations(boardSlugTaken(slug), () => admin.em.flush());
  for (const [index, status] of defaultStatuses.entries()) {
    admin.em.create(Status, { ...status, accountId, boardId: board.id, position: index + 1 });
  }
  await admin.em.flush();
  admin.audit.record('board.created', { account_id: accountId, board_id: board.id });
  return board;
}

function checkDescription(description: string): string {
  return checkText(description, 0, maxDescriptionLength, 'description');
}

function checkLanguage(given: string): BoardLanguage {
  const language = boardLanguages.find(one => one === given);
  if (!language)
    throw new AdministrationError('invalid', t('refusals.board.language', { known: boardLanguages.join(', ') }));
  return language;
}

function boardSlugTaken(slug: string) {
  return {
    boards_account_id_slug_key: t('refusals.board.slug_taken', { slug }),
    // The message does not say which account has the public board with this slug, because the account may belong to
    // somebody else.
    boards_public_slug_key: t('refusals.board.public_slug_taken', { slug }),
  };
}

/** The changes of a board. Setting a time to null removes that opening or closing time. */
export interface BoardChanges extends Partial<BoardFields> {
  isFrozen?: boolean;
  submissionsOpenAt?: Date | null;
  submissionsCloseAt?: Date | null;
  votingOpenAt?: Date | null;
  votingCloseAt?: Date | null;
}

/** The settings that the audit entry board.updated reports. Freezing a board has its own audit entry. */
const settings = [
  'name',
  'slug',
  'description',
  'preModeration',
  'isPublic',
  'language',
  'submissionsOpenAt',
  'submissionsCloseAt',
  'votingOpenAt',
  'votingCloseAt',
] as const;

export async function updateBoard(admin: Administration, board: Board, changes: BoardChanges): Promise<void> {
  const { name, slug, description, language, ...others } = changes;
  const wasFrozen = board.isFrozen;
  const changedFields = noteFields(board, settings);
  if (name !== undefined) board.name = checkName(name, 100);
  if (slug !== undefined) board.slug = checkSlug(slug);
  if (description !== undefined) board.description = checkDescription(description);
  if (language !== undefined) board.language = checkLanguage(language);
  admin.em.assign(board, others);
  checkWindow('submissions', board.submissionsOpenAt, board.submissionsCloseAt);
  checkWindow('voting', board.votingOpenAt, board.votingCloseAt);
  board.updatedAt = admin.now;
  await explainViolations(
    {
      ...boardSlugTaken(board.slug),
      // If one person changes the start of the submission or voting window while another person changes its end, the
      // window may become invalid. The database then refuses the second change. checkWindow does not notice this,
      // because each change alone is valid.
      boards_submissions_check: t('refusals.board.window_submissions'),
      boards_voting_check: t('refusals.board.window_voting'),
    },
    () => admin.em.flush(),
  );
  const about = { account_id: board.accountId, board_id: board.id };
  const changed = changedFields();
  if (changed.length > 0) admin.audit.record('board.updated', { ...about, changed });
  if (board.isFrozen !== wasFrozen) admin.audit.record(board.isFrozen ? 'board.frozen' : 'board.unfrozen', about);
}

function checkWindow(
  which: 'submissions' | 'voting',
  openAt: Date | null | undefined,
  closeAt: Date | null | undefined,
) {
  if (openAt && closeAt && openAt >= closeAt)
    throw new AdministrationError('invalid', t(`refusals.board.window_${which}`));
}
