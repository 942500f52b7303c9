import { sql } from 'kysely';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { isPublicReader, type ReadOperation, type WriteOperation } from '../operation.ts';
import { ideaViews, isVisible } from './idea-views.ts';

/** An idea as its readers see it: the row with its status, tags, author and the reader's own vote. */
export type IdeaView = RowOf<typeof selectIdea>;

interface OneIdea {
  accountId: number;
  boardId: number;
  ideaId: number;
}

const selectIdea = query('select_idea', (db, $: Arguments<OneIdea & { voterId: number; isModerator: boolean }>) =>
  ideaViews(db, $.accountId, $.voterId)
    .where('i.id', '=', $.ideaId)
    .where('i.board_id', '=', $.boardId)
    .where(i => isVisible(i, $.isModerator)),
);

const selectPublicIdea = query('select_public_idea', (db, $: Arguments<OneIdea>) =>
  ideaViews(db, $.accountId, sql.lit(null))
    .where('i.id', '=', $.ideaId)
    .where('i.board_id', '=', $.boardId)
    .where('i.moderation_state', '=', 'published')
    .where('s.is_hidden', '=', false),
);

/**
 * Reads one idea of the reader's board; undefined where there is none, it is pending and the reader no moderator, or it
 * is hidden from the public.
 */
export async function readIdea(op: ReadOperation, ideaId: number): Promise<IdeaView | undefined> {
  const { actor } = op;
  const one = { accountId: actor.accountId, boardId: actor.boardId, ideaId };
  const [idea] = isPublicReader(actor)
    ? await op.query(selectPublicIdea, one)
    : await op.query(selectIdea, { ...one, voterId: actor.voterId, isModerator: actor.isModerator });
  return idea;
}

const selectIdeas = query(
  'select_ideas',
  (db, $: Arguments<{ accountId: number; voterId: number; ideaIds: readonly number[] }>) =>
    ideaViews(db, $.accountId, $.voterId).where(i => i('i.id', '=', i.fn.any($.ideaIds))),
);

/** Reads ideas, in the order given, whose locks the operation holds or which it has just made. */
export async function requireIdeas(op: WriteOperation, ideaIds: readonly number[]): Promise<IdeaView[]> {
  const { accountId, voterId } = op.actor;
  const rows = await op.query(selectIdeas, { accountId, voterId, ideaIds });
  return ideaIds.map(id => {
    const idea = rows.find(row => row.id === id);
    if (!idea) throw new Error(`Idea ${id} is gone in the middle of an operation on it`);
    return idea;
  });
}

export async function requireIdea(op: WriteOperation, ideaId: number): Promise<IdeaView> {
  const [idea] = await requireIdeas(op, [ideaId]);
  if (!idea) throw new Error('One idea was asked for');
  return idea;
}
