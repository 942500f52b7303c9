import { sql } from 'kysely';
import { requirePlaceholder } from '../domain/erasure/placeholder.ts';
import type { RecordOf } from './archive.ts';
import { findRows, insertExternalIds } from './external-ids.ts';
import { withIdeas } from './find-ideas.ts';
import { type ImportBatch, idsOf, type PlacedRecord, unknownRef } from './import-batch.ts';

/** Imports comments, and counts them on their ideas. */
export async function importComments(
  batch: ImportBatch,
  records: readonly PlacedRecord<RecordOf<'comment'>>[],
): Promise<number> {
  const rows = await importTexts(batch, 'comment', records);
  if (rows.length === 0) return 0;
  const ideaIds = rows.map(({ idea_id }) => idea_id);
  await batch.db
    .updateTable('ideas as i')
    .from(
      sql<{
        id: number;
        count: number;
      }>`(select id, count(*)::int from unnest(${ideaIds}::bigint[]) u(id) group by id)`.as<'n'>(sql`n(id, count)`),
    )
    .set(i => ({ comment_count: i('i.comment_count', '+', i.ref('n.count')) }))
    .where('i.account_id', '=', batch.options.accountId)
    .whereRef('i.id', '=', 'n.id')
    .execute();
  return rows.length;
}

export async function importNotes(
  batch: ImportBatch,
  records: readonly PlacedRecord<RecordOf<'note'>>[],
): Promise<number> {
  return (await importTexts(batch, 'note', records)).length;
}

type Kind = 'comment' | 'note';

/** The columns of a new row, with their types in SQL. */
const columnsOfNote = {
  id: 'bigint',
  idea_id: 'bigint',
  author_id: 'bigint',
  body: 'text',
  created_at: 'timestamptz',
  edited_at: 'timestamptz',
} as const;

const targets = {
  comment: { table: 'comments', columns: { ...columnsOfNote, is_official: 'boolean' } },
  note: { table: 'idea_notes', columns: columnsOfNote },
} as const;

/** Writes the records that no earlier import has written. Returns the new rows. */
async function importTexts<K extends Kind>(batch: ImportBatch, kind: K, records: readonly PlacedRecord<RecordOf<K>>[]) {
  const { db, query, options, refuse } = batch;
  const { accountId, now } = options;
  const known = await findRows(batch, kind, idsOf(records));
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
  const fresh = new Map<string, TextRow>();
  for (const { place, record, rowId = 0, idea } of missing) {
    const authorId = record.author === null ? placeholderId : authors.get(record.author);
    if (authorId === undefined) refuse(place, unknownRef(kind, 'author', record.author ?? ''));
    else fresh.set(record.id, { ...record, id: rowId, idea_id: idea.id, author_id: authorId });
  }
  const rows = [...fresh.values()];
  if (rows.length === 0) return rows;
  await insertRows(batch, kind, rows);
  await insertExternalIds(
    db,
    accountId,
    kind,
    [...fresh].map(([externalId, { id }]) => [externalId, id]),
  );
  return rows;
}

type TextRow = Omit<RecordOf<Kind>, 'id'> & { id: number; idea_id: number; author_id: number };

async function insertRows(
  { db, options: { accountId } }: ImportBatch,
  kind: Kind,
  rows: readonly TextRow[],
): Promise<void> {
  const { table, columns } = targets[kind];
  const names = Object.keys(columns) as (keyof typeof columns)[];
  const lists = names.map(name => sql`${rows.map(row => row[name])}::${sql.raw(columns[name])}[]`);
  await db
    .insertInto(table)
    .columns(['account_id', ...names])
    .expression(c => {
      const selected = c
        .selectFrom(
          sql<TextRow>`unnest(${sql.join(lists)})`.as<'u'>(sql`u(${sql.join(names.map(name => sql.id(name)))})`),
        )
        .select(u => [u.val(accountId).as('account_id'), ...names]);
      return sql`overriding system value ${selected}`;
    })
    .execute();
}
