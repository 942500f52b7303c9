import { sql } from 'kysely';
import { requirePlaceholder } from '../domain/erasure/placeholder.ts';
import type { RecordOf } from './archive.ts';
import { findRows, insertExternalIds } from './external-ids.ts';
import { withIdeas } from './find-ideas.ts';
import { type ImportBatch, idsOf, type PlacedRecord, unknownRef } from './import-batch.ts';

export async function importComments(
  batch: ImportBatch,
  records: readonly PlacedRecord<RecordOf<'comment'>>[],
): Promise<number> {
  const { db, query, options, refuse } = batch;
  const { accountId, now } = options;
  const known = await findRows(db, accountId, 'comment', idsOf(records));
  const missing = await withIdeas(
    batch,
    records.filter(({ record }) => !known.has(record.id)),
  );
  const authors = await findRows(
    db,
    accountId,
    'person',
    missing.map(({ record }) => record.author),
  );
  const needsPlaceholder = missing.some(({ record }) => record.author === null);
  const placeholderId = needsPlaceholder ? (await requirePlaceholder({ query }, now)).id : 0;
  const fresh = new Map<string, ReturnType<typeof rowOf>>();
  for (const { place, record, idea } of missing) {
    if (fresh.has(record.id)) continue;
    const authorId = record.author === null ? placeholderId : authors.get(record.author);
    if (authorId === undefined) refuse(place, unknownRef('comment', 'author', record.author ?? ''));
    else fresh.set(record.id, rowOf(accountId, idea.id, authorId, record));
  }
  if (fresh.size === 0) return 0;
  const inserted = await db
    .insertInto('comments')
    .values([...fresh.values()])
    .returning('id')
    .execute();
  // The ids increase in the order of the records. The pages show the comments of an idea in the order of their ids.
  const ids = inserted.map(({ id }) => id).sort((one, other) => one - other);
  await insertExternalIds(
    db,
    accountId,
    'comment',
    [...fresh.keys()].map((externalId, index) => [externalId, ids[index] ?? 0]),
  );
  const ideaIds = [...fresh.values()].map(({ idea_id }) => idea_id);
  await db
    .updateTable('ideas as i')
    .from(
      sql<{
        id: number;
        count: number;
      }>`(select id, count(*)::int from unnest(${ideaIds}::bigint[]) u(id) group by id)`.as<'n'>(sql`n(id, count)`),
    )
    .set(i => ({ comment_count: i('i.comment_count', '+', i.ref('n.count')) }))
    .where('i.account_id', '=', accountId)
    .whereRef('i.id', '=', 'n.id')
    .execute();
  return fresh.size;
}

function rowOf(accountId: number, ideaId: number, authorId: number, comment: RecordOf<'comment'>) {
  return {
    account_id: accountId,
    idea_id: ideaId,
    author_id: authorId,
    body: comment.body,
    is_official: comment.is_official,
    created_at: comment.created_at,
    edited_at: comment.edited_at,
  };
}
