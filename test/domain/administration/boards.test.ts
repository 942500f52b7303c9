import { beforeEach, expect, test } from 'vitest';
import { statusOfCategory } from '../../../contract/status.ts';
import type { Administration } from '../../../server/domain/administration.ts';
import { type BoardChanges, createBoard, updateBoard } from '../../../server/domain/boards/edit-board.ts';
import { requireBoard } from '../../../server/domain/boards/find-board.ts';
import {
  addStatus,
  listStatuses,
  removeStatus,
  requireStatus,
  type StatusFields,
  updateStatus,
} from '../../../server/domain/statuses/board-statuses.ts';
import { addTag, removeTag, requireTag, updateTag } from '../../../server/domain/tags/board-tags.ts';
import { createDatabaseForFile } from '../../helpers/database.ts';
import { createWorld, insertIdea, type World } from '../../helpers/fixtures.ts';
import { administer, administerAtOnce, expectRefusal } from './administer.ts';

let world: World;
let board: { id: number; accountId: number };

const db = await createDatabaseForFile();
beforeEach(async () => {
  world = await createWorld(db);
  board = { id: world.boardId, accountId: world.accountId };
});

const update = (changes: BoardChanges) =>
  administer(db, async admin =>
    updateBoard(admin, await requireBoard(admin, world.accountId, world.boardSlug), changes),
  );
const refuseUpdate = (changes: BoardChanges, reason: 'invalid' | 'conflict', message: string) =>
  expectRefusal(
    db,
    async admin => updateBoard(admin, await requireBoard(admin, world.accountId, world.boardSlug), changes),
    reason,
    message,
  );

test('a new board has one default status in each of the six categories, with the key that the API shows for the category', async () => {
  const statuses = await administer(db, async admin => {
    const created = await createBoard(admin, { accountId: world.accountId, slug: 'new', name: 'New' });
    return listStatuses(admin, created);
  });
  expect(Object.fromEntries(statuses.map(({ category, key }) => [category, key]))).toEqual(statusOfCategory);
  expect(statuses.map(({ label }) => label)).toEqual([
    'Open',
    'Planned',
    'In progress',
    'Done',
    'Declined',
    'Archived',
  ]);
});

test('two boards of one account cannot have the same slug, but boards of different accounts can', async () => {
  const { accountId: otherAccountId } = await createWorld(db);
  const input = { slug: world.boardSlug, name: 'Same' };
  await administer(db, admin => createBoard(admin, { ...input, accountId: otherAccountId }));
  await expectRefusal(
    db,
    admin => createBoard(admin, { ...input, accountId: world.accountId }),
    'conflict',
    'Another board of the account has the slug',
  );
  await expectRefusal(
    db,
    async admin => updateBoard(admin, await requireBoard(admin, otherAccountId, 'elsewhere'), {}),
    'not_found',
    'The account has no board "elsewhere"',
  );
});

test('the start of a submission or voting window must be before its end, even if an update changes only one of the two times', async () => {
  const [early, late] = [new Date('2026-03-01T00:00:00Z'), new Date('2026-04-01T00:00:00Z')];
  for (const which of ['submission', 'voting'] as const) {
    const prefix = which === 'submission' ? 'submissions' : 'voting';
    const ends = (openAt: Date | null, closeAt: Date | null) =>
      ({ [`${prefix}OpenAt`]: openAt, [`${prefix}CloseAt`]: closeAt }) as BoardChanges;
    await refuseUpdate(ends(late, early), 'invalid', `The ${which} window must open before it closes`);
    await refuseUpdate(ends(early, early), 'invalid', `The ${which} window must open before it closes`);
    await update(ends(early, late));
    await refuseUpdate({ [`${prefix}OpenAt`]: late } as BoardChanges, 'invalid', 'must open before it closes');
    await update({ [`${prefix}CloseAt`]: null } as BoardChanges);
    await update({ [`${prefix}OpenAt`]: late } as BoardChanges);
  }
  expect(
    await db.sql(
      `select submissions_open_at = $2 and voting_open_at = $2 as is_moved, submissions_close_at, voting_close_at
      from boards where id = $1`,
      [world.boardId, late],
    ),
  ).toEqual([{ is_moved: true, submissions_close_at: null, voting_close_at: null }]);
});

test('an update of a board changes only the given fields', async () => {
  await update({ isFrozen: true, preModeration: true, description: 'What next?' });
  await update({ name: 'Renamed' });
  expect(
    await db.sql('select slug, name, description, is_frozen, pre_moderation from boards where id = $1', [board.id]),
  ).toEqual([
    { slug: world.boardSlug, name: 'Renamed', description: 'What next?', is_frozen: true, pre_moderation: true },
  ]);
  await refuseUpdate({ name: 'Lost', description: 'x'.repeat(5001) }, 'invalid', 'at most 5000 characters');
});

const keys = async () => (await administer(db, admin => listStatuses(admin, board))).map(({ key }) => key);
const change = (key: string, changes: Partial<StatusFields>) =>
  administer(db, async admin => updateStatus(admin, await requireStatus(admin, board, key), changes));
const remove = (key: string) =>
  administer(db, async admin => removeStatus(admin, await requireStatus(admin, board, key)));
const refuseChange = (key: string, changes: Partial<StatusFields>, message: string) =>
  expectRefusal(
    db,
    async admin => updateStatus(admin, await requireStatus(admin, board, key), changes),
    'conflict',
    message,
  );
const refuseRemoval = (key: string, message: string) =>
  expectRefusal(db, async admin => removeStatus(admin, await requireStatus(admin, board, key)), 'conflict', message);

test('a new status gets the requested position, or the last position if the request names no position', async () => {
  const add = (key: string, position?: number) =>
    administer(db, admin =>
      addStatus(admin, board, { key, category: 'active', label: key, ...(position && { position }) }),
    );
  await add('last');
  await add('third', 3);
  await add('far', 1000);
  expect(await keys()).toEqual([
    'open',
    'planned',
    'third',
    'in_progress',
    'done',
    'declined',
    'archived',
    'last',
    'far',
  ]);
  await change('far', { position: 1 });
  await change('open', { position: 3 });
  expect((await keys()).slice(0, 4)).toEqual(['far', 'planned', 'open', 'third']);
});

test('a status cannot be removed from its board while an idea has this status, even if the idea is rejected', async () => {
  await insertIdea(db, world, { status: 'planned', moderationState: 'rejected' });
  await refuseRemoval('planned', '1 idea has the status planned: move them to another first');
  await remove('declined');
  expect(await keys()).toEqual(['open', 'planned', 'in_progress', 'done', 'archived']);
});

test('a status that only deleted ideas have can be removed, and the deleted ideas get another status of the board', async () => {
  const id = await insertIdea(db, world, { status: 'planned', moderationState: 'deleted' });
  const [before] = await db.sql('select updated_at from ideas where id = $1', [id]);
  await remove('planned');
  expect(await keys()).not.toContain('planned');
  expect(
    await db.sql(
      `select i.updated_at, i.moderation_state, s.key from ideas i join statuses s on s.id = i.status_id
      where i.id = $1 and s.board_id = i.board_id`,
      [id],
    ),
  ).toEqual([{ ...before, moderation_state: 'deleted', key: 'open' }]);
});

test('the last status of a board in the category `inbox` cannot be removed or moved to another category', async () => {
  await refuseRemoval('open', "open is the board's last status of the category inbox");
  await refuseChange('open', { category: 'planned' }, "open is the board's last status of the category inbox");
  await change('open', { category: 'inbox', label: 'New' });
  await change('planned', { category: 'inbox' });
  await change('open', { category: 'planned' });
  await refuseRemoval('planned', "planned is the board's last status of the category inbox");
});

test('if two requests remove the last two statuses in the category `inbox` of a board at the same time, one of the statuses stays', async () => {
  await change('planned', { category: 'inbox' });
  const removal = (key: string) => async (admin: Administration) =>
    removeStatus(admin, await requireStatus(admin, board, key));
  const results = await administerAtOnce(db, removal('open'), removal('planned'));
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
});

test('after two concurrent moves of statuses on one board, no two statuses of the board have the same position', async () => {
  const move = (key: string, position: number) => async (admin: Administration) =>
    updateStatus(admin, await requireStatus(admin, board, key), { position });
  // The second move reads the old position of its status, because the first move has not committed yet.
  const results = await administerAtOnce(db, move('archived', 1), move('done', 3));
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  expect(await keys()).toEqual(['archived', 'open', 'done', 'planned', 'in_progress', 'declined']);
  expect(await db.sql('select count(distinct position)::int from statuses where board_id = $1', [board.id])).toEqual([
    { count: 6 },
  ]);
});

test('when two requests remove the same status at the same time, the second removal gets not_found', async () => {
  const removal = async (admin: Administration) => removeStatus(admin, await requireStatus(admin, board, 'declined'));
  const results = await administerAtOnce(db, removal, removal);
  expect(results).toMatchObject([{ status: 'fulfilled' }, { reason: { reason: 'not_found' } }]);
});

test('a status key must be unique on its board and consist of allowed characters', async () => {
  await refuseChange('done', { key: 'open', label: 'Lost' }, 'Another status of the board has the key open');
  for (const key of ['', 'A', '_a', 'a b', 'é', 'a'.repeat(51)]) {
    await expectRefusal(
      db,
      admin => addStatus(admin, board, { key, category: 'active', label: 'A' }),
      'invalid',
      'The key .* must be 1 to 50',
    );
  }
  await expectRefusal(
    db,
    admin => addStatus(admin, board, { key: 'a', category: 'active', label: 'a'.repeat(61) }),
    'invalid',
    'The label must have at most 60 characters',
  );
  await change('done', { key: '0-done_', isHidden: true, allowVotes: false, allowComments: false });
  expect(
    await db.sql(
      `select key, category, label, is_hidden, allow_votes, allow_comments from statuses
      where board_id = $1 and key = '0-done_'`,
      [board.id],
    ),
  ).toEqual([
    {
      key: '0-done_',
      category: 'completed',
      label: 'done',
      is_hidden: true,
      allow_votes: false,
      allow_comments: false,
    },
  ]);
});

test('the name of a tag is unique on its board, ignoring case, and the color of a tag is stored in lower case', async () => {
  await administer(db, admin => addTag(admin, board, { name: ' Billing ', color: '#0F766E' }));
  await administer(db, admin => addTag(admin, board, { name: 'Other', color: '#000000' }));
  await expectRefusal(
    db,
    admin => addTag(admin, board, { name: 'BILLING', color: '#000000' }),
    'conflict',
    'Another tag of the board has the name "BILLING"',
  );
  await expectRefusal(
    db,
    async admin => updateTag(admin, await requireTag(admin, board, 'other'), { name: 'billing' }),
    'conflict',
    'Another tag',
  );
  for (const color of ['', 'red', '#fff', '0f766e', '#0f766g', '#0f766e0']) {
    await expectRefusal(db, admin => addTag(admin, board, { name: 'C', color }), 'invalid', 'The color .* must be #');
  }
  expect(await db.sql('select name, color from tags where board_id = $1 order by id', [board.id])).toEqual([
    { name: 'Billing', color: '#0f766e' },
    { name: 'Other', color: '#000000' },
  ]);
});

test('a board can have at most 200 tags, even if two requests add a tag at the same time', async () => {
  const fill = (count: number) =>
    db.sql(
      `insert into tags (account_id, board_id, name, color)
      select $1, $2, 'tag ' || n, '#0f766e' from generate_series(1, $3::int) n`,
      [board.accountId, board.id, count],
    );
  const add = (name: string) => (admin: Administration) => addTag(admin, board, { name, color: '#0f766e' });
  const count = async () => (await db.sql('select from tags where board_id = $1', [board.id])).length;
  await fill(199);
  const results = await administerAtOnce(db, add('first'), add('second'));
  expect(results).toMatchObject([
    { status: 'fulfilled' },
    { status: 'rejected', reason: { reason: 'conflict', message: expect.stringContaining('at most 200 tags') } },
  ]);
  expect(await count()).toBe(200);
  await expectRefusal(db, add('third'), 'conflict', 'A board can have at most 200 tags: remove a tag first');
  await administer(db, async admin => removeTag(admin, await requireTag(admin, board, 'tag 1')));
  await administer(db, add('third'));
  expect(await count()).toBe(200);
});

test('a board can have at most 50 statuses, even if two requests add a status at the same time', async () => {
  const add = (key: string) => (admin: Administration) =>
    addStatus(admin, board, { key, category: 'active', label: key });
  const count = async () => (await db.sql('select from statuses where board_id = $1', [board.id])).length;
  await db.sql(
    `insert into statuses (account_id, board_id, key, category, label, position)
    select $1, $2, 'status-' || n, 'active', 'Status', 100 + n from generate_series(1, 43) n`,
    [board.accountId, board.id],
  );
  const results = await administerAtOnce(db, add('first'), add('second'));
  expect(results).toMatchObject([
    { status: 'fulfilled' },
    { status: 'rejected', reason: { reason: 'conflict', message: expect.stringContaining('at most 50 statuses') } },
  ]);
  expect(await count()).toBe(50);
  await expectRefusal(db, add('third'), 'conflict', 'A board can have at most 50 statuses: remove a status first');
  await administer(db, async admin => removeStatus(admin, await requireStatus(admin, board, 'status-1')));
  await administer(db, add('third'));
  expect(await count()).toBe(50);
});

test('a board with more tags and statuses than the maximum can still change a tag and a status and remove a status', async () => {
  await db.sql(
    `insert into tags (account_id, board_id, name, color)
    select $1, $2, 'tag ' || n, '#0f766e' from generate_series(1, 201) n`,
    [board.accountId, board.id],
  );
  await db.sql(
    `insert into statuses (account_id, board_id, key, category, label, position)
    select $1, $2, 'status-' || n, 'active', 'Status', 100 + n from generate_series(1, 45) n`,
    [board.accountId, board.id],
  );
  await administer(db, async admin => updateTag(admin, await requireTag(admin, board, 'tag 1'), { name: 'renamed' }));
  await administer(db, async admin =>
    updateStatus(admin, await requireStatus(admin, board, 'status-1'), { label: 'X' }),
  );
  await administer(db, async admin => removeStatus(admin, await requireStatus(admin, board, 'status-1')));
  expect(await db.sql('select from tags where board_id = $1', [board.id])).toHaveLength(201);
  expect(await db.sql('select from statuses where board_id = $1', [board.id])).toHaveLength(50);
});

test('when a tag is removed from a board, its ideas lose the tag and are not deleted', async () => {
  const ideaId = await insertIdea(db, world);
  await administer(db, admin => addTag(admin, board, { name: 'Billing', color: '#0f766e' }));
  await db.sql(
    'insert into idea_tags (idea_id, tag_id, account_id) select $1, id, account_id from tags where board_id = $2',
    [ideaId, board.id],
  );
  await administer(db, async admin => removeTag(admin, await requireTag(admin, board, 'billing')));
  expect(await db.sql('select * from idea_tags where idea_id = $1', [ideaId])).toEqual([]);
  expect(await db.sql('select id from ideas where id = $1', [ideaId])).toHaveLength(1);
});

test('a board cannot be created, published or renamed if it would be public and have the slug of another public board', async () => {
  const other = await createWorld(db, { isPublic: true });
  const taken = `Another public board has the slug ${other.boardSlug}, and with it the page /b/${other.boardSlug}`;
  const isPublic = async () =>
    (await db.sql<{ is_public: boolean }>('select is_public from boards where id = $1', [world.boardId]))[0]?.is_public;

  const inAccount = { accountId: world.accountId, slug: other.boardSlug, name: 'A board' };
  await expectRefusal(db, admin => createBoard(admin, { ...inAccount, isPublic: true }), 'conflict', taken);
  await update({ slug: other.boardSlug });
  const change = (changes: BoardChanges, slug = other.boardSlug) =>
    [
      async (admin: Administration) => updateBoard(admin, await requireBoard(admin, world.accountId, slug), changes),
    ] as const;
  await expectRefusal(db, ...change({ isPublic: true }), 'conflict', taken);
  await administer(db, ...change({ slug: world.boardSlug, isPublic: true }));
  expect(await isPublic()).toBe(true);
  await expectRefusal(db, ...change({ slug: other.boardSlug }, world.boardSlug), 'conflict', taken);

  // A private board may have the same slug as a public board of another account.
  await administer(db, ...change({ isPublic: false }, world.boardSlug));
  await update({ slug: other.boardSlug });
  expect(await isPublic()).toBe(false);
});
