import { sql } from 'kysely';
import { requirePlaceholder } from '../domain/erasure/placeholder.ts';
import type { RecordOf } from './archive.ts';
import { findRows, insertExternalIds } from './external-ids.ts';
import { type ImportBatch, idsOf, type PlacedRecord, unknownRef } from './import-batch.ts';

type Idea = RecordOf<'idea'>;

/**
 * Imports ideas with their tags. The counts of votes and comments stay 0 until the import of the votes and comments.
 */
export async function importIdeas(batch: ImportBatch, records: readonly PlacedRecord<Idea>[]): Promise<number> {
  const { db, options } = batch;
  const { accountId } = options;
  const known = await findRows(batch, 'idea', idsOf(records));
  const missing = records.filter(({ record, rowId }) => rowId !== undefined && !known.has(record.id));
  if (missing.length === 0) return 0;
  const refs = await findRefs(batch, missing);
  const fresh = new Map<string, { row: IdeaRow; tagIds: number[] }>();
  for (const { place, record, rowId = 0 } of missing) {
    const found = resolve(record, refs);
    if ('problem' in found) batch.refuse(place, found.problem);
    else fresh.set(record.id, { row: rowOf(rowId, record, found), tagIds: found.tagIds });
  }
  if (fresh.size === 0) return 0;
  const rows = [...fresh.values()].map(({ row }) => row);
  await insertRows(batch, rows);
  await insertTerms(
    batch,
    rows.map(({ id }) => id),
  );
  const tags = [...fresh.values()].flatMap(({ row, tagIds }) => tagIds.map(tagId => [row.id, tagId] as const));
  await insertTags(batch, tags);
  await insertExternalIds(
    db,
    accountId,
    'idea',
    [...fresh].map(([externalId, { row }]) => [externalId, row.id]),
  );
  return fresh.size;
}

type IdeaRow = ReturnType<typeof rowOf>;

async function insertRows({ db, options: { accountId } }: ImportBatch, rows: readonly IdeaRow[]): Promise<void> {
  // Switches off the trigger that stores the terms of each new idea, because insertTerms is faster.
  await sql`set local idea_board.keeps_terms = off`.execute(db);
  const all = <Name extends keyof IdeaRow>(name: Name) => rows.map(row => row[name]);
  const columns = ['board_id', 'status_id', 'author_id', 'title', 'body', 'moderation_state'] as const;
  const others = ['rejection_reason', 'created_at', 'updated_at'] as const;
  await db
    .insertInto('ideas')
    .columns(['account_id', 'id', ...columns, ...others])
    .expression(i => {
      const selected = i
        .selectFrom(
          sql<IdeaRow>`unnest(
            ${all('id')}::bigint[], ${all('board_id')}::bigint[], ${all('status_id')}::bigint[],
            ${all('author_id')}::bigint[], ${all('title')}::text[], ${all('body')}::text[],
            ${all('moderation_state')}::text[], ${all('rejection_reason')}::text[],
            ${all('created_at')}::timestamptz[], ${all('updated_at')}::timestamptz[]
          )`.as<'u'>(sql`u(id, ${sql.join([...columns, ...others].map(name => sql.id(name)))})`),
        )
        .select(u => [u.val(accountId).as('account_id'), 'u.id', ...columns, ...others]);
      return sql`overriding system value ${selected}`;
    })
    .execute();
}

/**
 * Stores the terms with which searches find similar ideas, as the trigger of the database does. Then switches the trigger
 * on again.
 */
async function insertTerms({ db, options: { accountId } }: ImportBatch, ideaIds: readonly number[]): Promise<void> {
  // PostgreSQL needs less time if it moves more terms into the index at once. But each search for similar ideas reads the
  // terms that are not yet in the index: 1 MB of them adds half to the time of a search.
  await sql`set local gin_pending_list_limit = '1MB'`.execute(db);
  await db
    .insertInto('idea_terms')
    .columns(['account_id', 'idea_id', 'terms'])
    .expression(t =>
      t
        .selectFrom('ideas as i')
        .select(['i.account_id', 'i.id'])
        .select(
          sql<string>`case when i.moderation_state = 'published'
            then similar_terms(i.board_id, i.title_words, i.body) else '' end`.as('terms'),
        )
        .where('i.account_id', '=', accountId)
        .where(i => i('i.id', '=', i.fn.any(i.val(ideaIds))))
        .orderBy('i.id'),
    )
    // With Citus, the setting may not reach the worker nodes. Then the trigger has stored the terms.
    .onConflict(conflict => conflict.doNothing())
    .execute();
  await sql`set local idea_board.keeps_terms = on`.execute(db);
}

async function insertTags(
  { db, options: { accountId } }: ImportBatch,
  tags: readonly (readonly [ideaId: number, tagId: number])[],
): Promise<void> {
  if (tags.length === 0) return;
  await db
    .insertInto('idea_tags')
    .columns(['account_id', 'idea_id', 'tag_id'])
    .expression(it =>
      it
        .selectFrom(
          sql<{ idea_id: number; tag_id: number }>`unnest(
            ${tags.map(([ideaId]) => ideaId)}::bigint[], ${tags.map(([, tagId]) => tagId)}::bigint[]
          )`.as<'u'>(sql`u(idea_id, tag_id)`),
        )
        .select(u => [u.val(accountId).as('account_id'), 'u.idea_id', 'u.tag_id']),
    )
    .execute();
}

interface Refs {
  boards: ReadonlyMap<string, number>;
  /** The id and the board of each status and tag, by the external id. */
  statuses: ReadonlyMap<string, OfBoard>;
  tags: ReadonlyMap<string, OfBoard>;
  people: ReadonlyMap<string, number>;
  placeholderId: number;
}

interface OfBoard {
  id: number;
  boardId: number;
}

async function findRefs(batch: ImportBatch, records: readonly PlacedRecord<Idea>[]): Promise<Refs> {
  const { db, query, options } = batch;
  const { accountId, now } = options;
  const of = (field: 'board' | 'status' | 'author') => records.map(({ record }) => record[field]);
  const withBoards = async (table: 'statuses' | 'tags', rows: ReadonlyMap<string, number>) => {
    const found = await db
      .selectFrom(table)
      .select(['id', 'board_id'])
      .where('account_id', '=', accountId)
      .where(t => t('id', '=', t.fn.any(t.val([...rows.values()]))))
      .execute();
    const boardOf = new Map(found.map(row => [row.id, row.board_id]));
    return new Map([...rows].map(([externalId, id]) => [externalId, { id, boardId: boardOf.get(id) ?? 0 }]));
  };
  const tagRefs = records.flatMap(({ record }) => record.tags);
  const needsPlaceholder = records.some(({ record }) => record.author === null);
  return {
    boards: await findRows(batch, 'board', of('board')),
    statuses: await withBoards('statuses', await findRows(batch, 'status', of('status'))),
    tags: await withBoards('tags', await findRows(batch, 'tag', tagRefs)),
    people: await findRows(batch, 'person', of('author')),
    placeholderId: needsPlaceholder ? (await requirePlaceholder({ query }, now)).id : 0,
  };
}

interface Resolved {
  boardId: number;
  statusId: number;
  authorId: number;
  tagIds: number[];
}

function resolve(idea: Idea, refs: Refs): Resolved | { problem: string } {
  const boardId = refs.boards.get(idea.board);
  if (boardId === undefined) return { problem: unknownRef('idea', 'board', idea.board) };
  const status = refs.statuses.get(idea.status);
  if (status?.boardId !== boardId) return { problem: unknownRef('idea', 'status', idea.status) };
  const authorId = idea.author === null ? refs.placeholderId : refs.people.get(idea.author);
  if (authorId === undefined) return { problem: unknownRef('idea', 'author', idea.author ?? '') };
  const tagIds = new Set<number>();
  for (const ref of idea.tags) {
    const tag = refs.tags.get(ref);
    if (tag?.boardId !== boardId) return { problem: unknownRef('idea', 'tag', ref) };
    tagIds.add(tag.id);
  }
  return { boardId, statusId: status.id, authorId, tagIds: [...tagIds] };
}

function rowOf(id: number, idea: Idea, { boardId, statusId, authorId }: Resolved) {
  return {
    id,
    board_id: boardId,
    status_id: statusId,
    author_id: authorId,
    title: idea.title,
    body: idea.body,
    moderation_state: idea.moderation_state,
    rejection_reason: idea.rejection_reason,
    created_at: idea.created_at,
    updated_at: idea.updated_at,
  };
}
