import { sql } from 'kysely';
import { maxStatusesOfBoard, maxTagsOfBoard } from '../../contract/limits.ts';
import type { RecordOf } from './archive.ts';
import { findRows, insertExternalIds } from './external-ids.ts';
import { type ImportBatch, idsOf, type PlacedRecord, unknownRef } from './import-batch.ts';

/*
 * Imports boards, statuses and tags. If the account has a board with the same slug, the import uses this board and does
 * not change its settings. The same is true for the key of a status and the name of a tag.
 */

export async function importBoards(batch: ImportBatch, records: readonly PlacedRecord<RecordOf<'board'>>[]) {
  const { db, options } = batch;
  const { accountId } = options;
  const known = await findRows(batch, 'board', idsOf(records));
  let imported = 0;
  for (const { place, record } of records) {
    if (known.has(record.id)) continue;
    const { type: _, id, ...board } = record;
    const existing = await db
      .selectFrom('boards')
      .select('id')
      .where(b => b.and({ account_id: accountId, slug: board.slug }))
      .executeTakeFirst();
    const boardId = existing?.id ?? (await insertBoard(batch, place, board));
    if (boardId === undefined) continue;
    await insertExternalIds(db, accountId, 'board', [[id, boardId]]);
    imported += 1;
  }
  return imported;
}

async function insertBoard(
  { db, options: { accountId }, refuse, warn }: ImportBatch,
  place: string,
  board: Omit<RecordOf<'board'>, 'type' | 'id'>,
): Promise<number | undefined> {
  for (const window of ['submissions', 'voting'] as const) {
    const [opens, closes] = [board[`${window}_open_at`], board[`${window}_close_at`]];
    if (opens === null || closes === null || new Date(opens) < new Date(closes)) continue;
    refuse(place, `board: ${window}_open_at must be before ${window}_close_at`);
    return undefined;
  }
  const isTaken =
    board.is_public &&
    (await db
      .selectFrom('boards')
      .select('id')
      .where(b => b.and({ slug: board.slug, is_public: true }))
      .executeTakeFirst()) !== undefined;
  if (isTaken) {
    warn(place, `board: another account has a public board ${board.slug}, so this board is not public`);
  }
  const { id } = await db
    .insertInto('boards')
    .values({ ...board, is_public: board.is_public && !isTaken, account_id: accountId })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

type OfBoard = { account_id: number; board_id: number };

/** How the import finds and writes the statuses or the tags of a board. */
interface Registry<One> {
  table: 'statuses' | 'tags';
  mostOfBoard: number;
  /** Counts the statuses or tags of a board. Also finds the one with the same key or name as the record. */
  find(record: One, ofBoard: OfBoard): Promise<{ count: number; same: { id: number } | undefined }>;
  insert(record: One, ofBoard: OfBoard): Promise<{ id: number }>;
}

async function importOfBoards<One extends RecordOf<'status'> | RecordOf<'tag'>>(
  batch: ImportBatch,
  kind: One['type'],
  records: readonly PlacedRecord<One>[],
  { table, mostOfBoard, find, insert }: Registry<One>,
) {
  const { db, options, refuse } = batch;
  const { accountId } = options;
  await forgetRemoved(batch, kind, table, idsOf(records));
  const known = await findRows(batch, kind, idsOf(records));
  const boardIds = records.map(({ record }) => record.board);
  const boards = await findRows(batch, 'board', boardIds);
  let imported = 0;
  for (const { place, record } of records) {
    if (known.has(record.id)) continue;
    const boardId = boards.get(record.board);
    if (boardId === undefined) {
      refuse(place, unknownRef(kind, 'board', record.board));
      continue;
    }
    const ofBoard = { account_id: accountId, board_id: boardId };
    const { count, same } = await find(record, ofBoard);
    if (!same && count >= mostOfBoard) {
      refuse(place, `${kind}: a board has at most ${mostOfBoard} ${table}`);
      continue;
    }
    const { id } = same ?? (await insert(record, ofBoard));
    await insertExternalIds(db, accountId, kind, [[record.id, id]]);
    imported += 1;
  }
  return imported;
}

/**
 * Forgets the external ids of statuses or tags that somebody has removed. So the import adds them again for its ideas.
 */
async function forgetRemoved(
  { db, options: { accountId } }: ImportBatch,
  kind: 'status' | 'tag',
  table: 'statuses' | 'tags',
  externalIds: readonly string[],
): Promise<void> {
  await db
    .deleteFrom('external_ids as x')
    .where(x => x.and({ 'x.account_id': accountId, 'x.kind': kind }))
    .where(x => x('x.external_id', '=', x.fn.any(x.val(externalIds))))
    .where(x => {
      const rows = x.selectFrom(table).select('id').where('account_id', '=', accountId);
      return x.not(x.exists(rows.whereRef('id', '=', 'x.row_id')));
    })
    .execute();
}

export function importStatuses(batch: ImportBatch, records: readonly PlacedRecord<RecordOf<'status'>>[]) {
  const { db } = batch;
  return importOfBoards(batch, 'status', records, {
    table: 'statuses',
    mostOfBoard: maxStatusesOfBoard,
    async find({ key }, ofBoard) {
      const statuses = db.selectFrom('statuses').select(['id', 'key']);
      const rows = await statuses.where(s => s.and(ofBoard)).execute();
      return { count: rows.length, same: rows.find(row => row.key === key) };
    },
    insert({ type: _, id: __, board: ___, ...status }, ofBoard) {
      const values = { ...status, ...ofBoard };
      return db.insertInto('statuses').values(values).returning('id').executeTakeFirstOrThrow();
    },
  });
}

export function importTags(batch: ImportBatch, records: readonly PlacedRecord<RecordOf<'tag'>>[]) {
  const { db } = batch;
  return importOfBoards(batch, 'tag', records, {
    table: 'tags',
    mostOfBoard: maxTagsOfBoard,
    async find({ name }, ofBoard) {
      const tags = db
        .selectFrom('tags')
        .select(t => ['id', sql<boolean>`lower(${t.ref('name')}) = lower(${name})`.as('is_same')]);
      const rows = await tags.where(t => t.and(ofBoard)).execute();
      return { count: rows.length, same: rows.find(({ is_same }) => is_same) };
    },
    insert({ type: _, id: __, board: ___, ...tag }, ofBoard) {
      const values = { ...tag, ...ofBoard };
      return db.insertInto('tags').values(values).returning('id').executeTakeFirstOrThrow();
    },
  });
}
