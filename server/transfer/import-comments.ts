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
  const known = await findRows(batch, 'comment', idsOf(records));
  const missing = await withIdeas(
    batch,
    records.filter(({ record, rowId }) => rowId !== undefined && !known.has(record.id)),
  );
  const authors = await findRows(
    batch,
    'person',
    missing.map(({ record }) => record.author),
  );
  const needsPlaceholder = missing.some(({ record }) => record.author === null);
  const placeholderId = needsPlaceholder ? (await requirePlaceholder({ query }, now)).id : 0;
  const fresh = new Map<string, CommentRow>();
  for (const { place, record, rowId = 0, idea } of missing) {
    if (fresh.has(record.id)) continue;
    const authorId = record.author === null ? placeholderId : authors.get(record.author);
    if (authorId === undefined) refuse(place, unknownRef('comment', 'author', record.author ?? ''));
    else fresh.set(record.id, rowOf(rowId, idea.id, authorId, record));
  }
  if (fresh.size === 0) return 0;
  await insertRows(batch, [...fresh.values()]);
  await insertExternalIds(
    db,
    accountId,
    'comment',
    [...fresh].map(([externalId, { id }]) => [externalId, id]),
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

type CommentRow = ReturnType<typeof rowOf>;

async function insertRows({ db, options: { accountId } }: ImportBatch, rows: readonly CommentRow[]): Promise<void> {
  const all = <Name extends keyof CommentRow>(name: Name) => rows.map(row => row[name]);
  const columns = ['id', 'idea_id', 'author_id', 'body', 'is_official', 'created_at', 'edited_at'] as const;
  await db
    .insertInto('comments')
    .columns(['account_id', ...columns])
    .expression(c => {
      const selected = c
        .selectFrom(
          sql<CommentRow>`unnest(
            ${all('id')}::bigint[], ${all('idea_id')}::bigint[], ${all('author_id')}::bigint[],
            ${all('body')}::text[], ${all('is_official')}::boolean[],
            ${all('created_at')}::timestamptz[], ${all('edited_at')}::timestamptz[]
          )`.as<'u'>(sql`u(${sql.join(columns.map(name => sql.id(name)))})`),
        )
        .select(u => [u.val(accountId).as('account_id'), ...columns]);
      return sql`overriding system value ${selected}`;
    })
    .execute();
}

function rowOf(id: number, ideaId: number, authorId: number, comment: RecordOf<'comment'>) {
  return {
    id,
    idea_id: ideaId,
    author_id: authorId,
    body: comment.body,
    is_official: comment.is_official,
    created_at: comment.created_at,
    edited_at: comment.edited_at,
  };
}
