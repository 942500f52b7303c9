import type { StatusCategory } from '../../../contract/status.ts';
import { Board, Status } from '../../entities/board.ts';
import type { Administration } from '../administration.ts';
import { explainViolations } from '../constraint-violation.ts';
import { checkName, checkSlug, checkText } from '../fields.ts';

export interface NewBoard {
  accountId: number;
  slug: string;
  name: string;
  description?: string;
  preModeration?: boolean;
  isPublic?: boolean;
}

/** The statuses of a new board. Their keys are the values of an idea's `status` for their categories. */
export const defaultStatuses: { key: string; category: StatusCategory; label: string }[] = [
  { key: 'open', category: 'inbox', label: 'Open' },
  { key: 'planned', category: 'planned', label: 'Planned' },
  { key: 'in_progress', category: 'active', label: 'In progress' },
  { key: 'done', category: 'completed', label: 'Done' },
  { key: 'declined', category: 'declined', label: 'Declined' },
  { key: 'archived', category: 'archived', label: 'Archived' },
];

/** Every answer of GET /api/v1/board carries the description, and no constraint bounds it. */
export const maxDescriptionLength = 5000;

/** Creates a board with the six default statuses. */
export async function createBoard(admin: Administration, input: NewBoard): Promise<Board> {
  const { accountId } = input;
  const slug = checkSlug(input.slug);
  const board = admin.em.create(Board, {
    accountId,
    slug,
    name: checkName(input.name, 100),
    description: checkText(input.description ?? '', 0, maxDescriptionLength, 'description'),
    preModeration: input.preModeration ?? false,
    isPublic: input.isPublic ?? false,
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

export function boardSlugTaken(slug: string) {
  return {
    boards_account_id_slug_key: `Another board of the account has the slug ${slug}`,
    // It may be another account's, whose name is nobody else's business.
    boards_public_slug_key: `Another public board has the slug ${slug}, and with it the page /b/${slug}`,
  };
}
