import { expect, test } from 'vitest';
import { queryOfText } from '../../../server/database/query.ts';
import type { Administration } from '../../../server/domain/administration.ts';
import { findModerator } from '../../../server/domain/members/find-actor.ts';
import { listPendingIdeas, pagePendingIdeas, pendingSort } from '../../../server/domain/moderation/list-submissions.ts';
import { approveIdea, rejectIdea } from '../../../server/domain/moderation/moderate-idea.ts';
import { placeOf } from '../../../server/domain/pagination.ts';
import { createDatabaseForFile } from '../../helpers/database.ts';
import { createBoard, createMember, createWorld, insertIdea } from '../../helpers/fixtures.ts';
import { snapshot } from '../../helpers/snapshot.ts';
import { administer, administerAtOnce, expectRefusal } from './administer.ts';

const db = await createDatabaseForFile();
const world = await createWorld(db, { preModeration: true });

const freezeBoard = queryOfText('update boards set is_frozen = true where id = $1', 1);
const now = new Date('2026-03-01T12:00:00.123Z');
const submit = () => insertIdea(db, world, { moderationState: 'pending', createdAt: new Date('2026-01-01') });
const approve = (ideaId: number) => administer(db, admin => approveIdea(admin, world.accountId, ideaId), now);
const reject = (ideaId: number, reason: string) =>
  administer(db, admin => rejectIdea(admin, world.accountId, ideaId, reason), now);
const stored = async (ideaId: number) => {
  const [row] = await db.sql<{ moderation_state: string; rejection_reason: string | null; updated_at: string }>(
    'select moderation_state, rejection_reason, updated_at from ideas where id = $1',
    [ideaId],
  );
  return row && { ...row, updated_at: new Date(row.updated_at) };
};

test('if one pending idea is approved several times at the same time, only one approval takes effect', async () => {
  const ideaId = await submit();
  const results = await Promise.all([approve(ideaId), approve(ideaId), approve(ideaId)]);
  expect(results.filter(isChanged => isChanged)).toHaveLength(1);
  expect(await stored(ideaId)).toEqual({ moderation_state: 'published', rejection_reason: null, updated_at: now });
});

test('the server stores the reason for the rejection of an idea, and a second rejection does not change the stored reason', async () => {
  const ideaId = await submit();
  expect(await reject(ideaId, ' Spam ')).toBe(true);
  expect(await reject(ideaId, 'Again')).toBe(false);
  expect(await stored(ideaId)).toEqual({ moderation_state: 'rejected', rejection_reason: 'Spam', updated_at: now });
});

test('the approval of a published idea changes nothing, and the rejection of a published idea gets a conflict', async () => {
  const ideaId = await insertIdea(db, world);
  const before = await snapshot(db);
  expect(await approve(ideaId)).toBe(false);
  expect(await snapshot(db)).toEqual(before);
  await expectRefusal(
    db,
    admin => rejectIdea(admin, world.accountId, ideaId, 'No'),
    'conflict',
    'is published: only a pending one can be rejected',
  );
});

test('a rejected idea cannot be approved', async () => {
  const ideaId = await submit();
  await reject(ideaId, 'No');
  await expectRefusal(
    db,
    admin => approveIdea(admin, world.accountId, ideaId),
    'conflict',
    'was rejected: only a pending one can be approved',
  );
});

test('when an approval and a rejection of one idea run at the same time, the first succeeds and the second gets a conflict', async () => {
  const ideaId = await submit();
  const results = await administerAtOnce(
    db,
    admin => approveIdea(admin, world.accountId, ideaId),
    admin => rejectIdea(admin, world.accountId, ideaId, 'No'),
  );
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  expect(await stored(ideaId)).toMatchObject({ moderation_state: 'published', rejection_reason: null });
});

test('an idea cannot be approved while its board is being frozen', async () => {
  const board = await createBoard(db, world.accountId);
  const ideaId = await insertIdea(db, { ...world, boardId: board.id }, { moderationState: 'pending' });
  const results = await administerAtOnce(
    db,
    ({ query }) => query(freezeBoard, [board.id]),
    admin => approveIdea(admin, world.accountId, ideaId),
  );
  expect(results).toMatchObject([{ status: 'fulfilled' }, { status: 'rejected', reason: { reason: 'conflict' } }]);
  expect(await stored(ideaId)).toMatchObject({ moderation_state: 'pending' });
});

test('an idea that does not exist, belongs to another account or is on a frozen board can be neither approved nor rejected', async () => {
  const other = await createWorld(db);
  const ideaId = await submit();
  const frozenBoard = await createBoard(db, world.accountId, { isFrozen: true });
  const frozen = await insertIdea(db, { ...world, boardId: frozenBoard.id }, { moderationState: 'pending' });
  const changes = [
    approveIdea,
    (admin: Administration, accountId: number, id: number) => rejectIdea(admin, accountId, id, 'No'),
  ];
  for (const change of changes) {
    await expectRefusal(db, admin => change(admin, world.accountId, 2 ** 52), 'not_found', 'has no idea');
    await expectRefusal(db, admin => change(admin, other.accountId, ideaId), 'not_found', 'has no idea');
    await expectRefusal(db, admin => change(admin, world.accountId, frozen), 'conflict', 'is frozen');
  }
  await expectRefusal(
    db,
    admin => rejectIdea(admin, world.accountId, ideaId, ' '),
    'invalid',
    'The reason must not be empty',
  );
});

test('the approval queue of an account shows its pending ideas, oldest first', async () => {
  const own = await createWorld(db, { preModeration: true });
  const second = await createBoard(db, own.accountId);
  const add = (day: number, boardId = own.boardId, moderationState: 'pending' | 'published' = 'pending') =>
    insertIdea(db, { ...own, boardId }, { moderationState, createdAt: new Date(Date.UTC(2026, 2, day)) });
  const late = await add(3);
  const early = await add(1);
  const elsewhere = await add(2, second.id);
  await add(1, own.boardId, 'published');
  const queue = async (boardId: number | null, limit = 10) =>
    (await administer(db, admin => listPendingIdeas(admin, own.accountId, boardId, limit))).map(({ id }) => id);
  expect(await queue(null)).toEqual([early, elsewhere, late]);
  expect(await queue(own.boardId)).toEqual([early, late]);
  expect(await queue(null, 1)).toEqual([early]);

  // Reads the moderation queue in pages of one idea each. Two of the pending ideas have the same creation time.
  const twin = await add(2, second.id);
  const seen: number[] = [];
  for (let cursor: string | undefined | null; cursor !== null; ) {
    const place = placeOf({ cursor }, pendingSort, 1);
    const page = await administer(db, admin => pagePendingIdeas(admin, own.accountId, null, place));
    seen.push(...page.rows.map(({ id }) => id));
    cursor = page.nextCursor;
  }
  expect(seen).toEqual([early, elsewhere, twin, late]);
});

test("only owners, admins and moderators of a board's account can act as moderators on the board", async () => {
  const other = await createWorld(db);
  const ideaId = await submit();
  const find = (userId: number, board: Parameters<typeof findModerator>[2], accountId = world.accountId) =>
    findModerator(db.database, { accountId, userId }, board);
  for (const role of ['owner', 'admin', 'moderator'] as const) {
    const userId = await createMember(db, world.accountId, role);
    const actor = {
      accountId: world.accountId,
      boardId: world.boardId,
      userId,
      tokenId: null,
      voterId: 0,
      isModerator: true,
    };
    expect(await find(userId, { ideaId })).toEqual(actor);
    const [voter] = await db.sql<{ id: number }>(
      'insert into voters (account_id, user_id) values ($1, $2) returning id',
      [world.accountId, userId],
    );
    expect(await find(userId, { slug: world.boardSlug })).toEqual({ ...actor, voterId: voter?.id });
  }
  const memberId = await createMember(db, world.accountId, 'member');
  const nobodies: Parameters<typeof find>[] = [
    [memberId, { ideaId }],
    [memberId, { slug: world.boardSlug }],
    [other.ownerId, { ideaId }],
    [other.ownerId, { ideaId }, other.accountId],
    [world.ownerId, { slug: other.boardSlug }],
    [world.ownerId, { ideaId: 2 ** 52 }],
  ];
  for (const one of nobodies) await expect(find(...one)).rejects.toMatchObject({ key: 'not_found' });
});
