import { findRows } from './external-ids.ts';
import { type ImportBatch, unknownRef } from './import-batch.ts';

interface FoundIdea {
  id: number;
  boardId: number;
  moderationState: string;
  mergedIntoId: number | null;
}

/**
 * Locks the ideas that some records refer to, in the order of their ids. Returns the ideas by their external ids, with
 * null for an idea that somebody has deleted since its import.
 */
export async function lockIdeasOf(
  batch: ImportBatch,
  externalIds: readonly string[],
): Promise<Map<string, FoundIdea | null>> {
  const { db, options } = batch;
  const rows = await findRows(batch, 'idea', externalIds);
  if (rows.size === 0) return new Map();
  const ideas = await db
    .selectFrom('ideas as i')
    .select(['i.id', 'i.board_id', 'i.moderation_state', 'i.merged_into_id'])
    .where('i.account_id', '=', options.accountId)
    .where(i => i('i.id', '=', i.fn.any(i.val([...rows.values()]))))
    .where('i.moderation_state', '<>', 'deleted')
    .orderBy('i.id')
    .forNoKeyUpdate('i')
    .execute();
  const byId = new Map(
    ideas.map(({ id, board_id, moderation_state, merged_into_id }) => [
      id,
      { id, boardId: board_id, moderationState: moderation_state, mergedIntoId: merged_into_id },
    ]),
  );
  return new Map([...rows].map(([externalId, id]) => [externalId, byId.get(id) ?? null]));
}

/**
 * Adds the idea to each record. Refuses the records with an unknown idea, and leaves out the records of deleted ideas.
 */
export async function withIdeas<One extends { type: string; idea: string }>(
  batch: ImportBatch,
  records: readonly { place: string; record: One; rowId?: number | undefined }[],
): Promise<{ place: string; record: One; rowId?: number | undefined; idea: FoundIdea }[]> {
  const ideas = await lockIdeasOf(
    batch,
    records.map(({ record }) => record.idea),
  );
  return records.flatMap(one => {
    const { place, record } = one;
    const idea = ideas.get(record.idea);
    if (idea === undefined) batch.refuse(place, unknownRef(record.type, 'idea', record.idea));
    return idea ? [{ ...one, idea }] : [];
  });
}
