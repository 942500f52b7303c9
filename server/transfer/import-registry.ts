import { sql } from 'kysely';
import { maxStatusesOfBoard, maxTagsOfBoard } from '../../contract/limits.ts';
import type { RecordOf } from './archive.ts';
import { findRows, insertExternalIds } from './external-ids.ts';
import { type ImportBatch, idsOf, type PlacedRecord, unknownRef } from './import-batch.ts';

/*
 * Boards, statuses and tags. If the account has a board with the same slug, the import uses this board and does not
 * change its settings. The same is true for the key of a status and the name of a tag.
 */

export async function importBoards(batch: ImportBatch, records: readonly PlacedRecord<RecordOf<'board'>>[]) {
  const { db, options } = batch;
  const { accountId } = options;
  const known = await findRows(db, accountId, 'board', idsOf(records));
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
    known.set(id, boardId);
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

export async function importStatuses(batch: ImportBatch, records: readonly PlacedRecord<RecordOf<'status'>>[]) {
  const { db, options, refuse } = batch;
  const { accountId } = options;
  const known = await findRows(db, accountId, 'status', idsOf(records));
  const boards = await findRows(
    db,
    accountId,
    'board',
    records.map(({ record }) => record.board),
  );
  let imported = 0;
  for (const { place, record } of records) {
    if (known.has(record.id)) continue;
    const { type: _, id, board, ...status } = record;
    const boardId = boards.get(board);
    if (boardId === undefined) {
      refuse(place, unknownRef('status', 'board', board));
      continue;
    }
    const ofBoard = { account_id: accountId, board_id: boardId };
    const existing = await db
      .selectFrom('statuses')
      .select(['id', 'key'])
      .where(s => s.and(ofBoard))
      .execute();
    const same = existing.find(({ key }) => key === status.key);
    if (!same && existing.length >= maxStatusesOfBoard) {
      refuse(place, `status: a board has at most ${maxStatusesOfBoard} statuses`);
      continue;
    }
    const { id: statusId } =
      same ??
      (await db
        .insertInto('statuses')
        .values({ ...status, ...ofBoard })
        .returning('id')
        .executeTakeFirstOrThrow());
    await insertExternalIds(db, accountId, 'status', [[id, statusId]]);
    known.set(id, statusId);
    imported += 1;
  }
  return imported;
}

export async function importTags(batch: ImportBatch, records: readonly PlacedRecord<RecordOf<'tag'>>[]) {
  const { db, options, refuse } = batch;
  const { accountId } = options;
  const known = await findRows(db, accountId, 'tag', idsOf(records));
  const boards = await findRows(
    db,
    accountId,
    'board',
    records.map(({ record }) => record.board),
  );
  let imported = 0;
  for (const { place, record } of records) {
    if (known.has(record.id)) continue;
    const { type: _, id, board, ...tag } = record;
    const boardId = boards.get(board);
    if (boardId === undefined) {
      refuse(place, unknownRef('tag', 'board', board));
      continue;
    }
    const ofBoard = { account_id: accountId, board_id: boardId };
    const existing = await db
      .selectFrom('tags')
      .select(t => ['id', sql<boolean>`lower(${t.ref('name')}) = lower(${tag.name})`.as('is_same')])
      .where(t => t.and(ofBoard))
      .execute();
    const same = existing.find(({ is_same }) => is_same);
    if (!same && existing.length >= maxTagsOfBoard) {
      refuse(place, `tag: a board has at most ${maxTagsOfBoard} tags`);
      continue;
    }
    const { id: tagId } =
      same ??
      (await db
        .insertInto('tags')
        .values({ ...tag, ...ofBoard })
        .returning('id')
        .executeTakeFirstOrThrow());
    await insertExternalIds(db, accountId, 'tag', [[id, tagId]]);
    known.set(id, tagId);
    imported += 1;
  }
  return imported;
}
