import { expect, test } from 'vitest';
import { queryOfText } from '../../../server/database/query.ts';
import type { UserEraser } from '../../../server/domain/erasure/batches.ts';
import { createDatabaseForFile } from '../../helpers/database.ts';
import { createUser } from '../../helpers/fixtures.ts';
import { requestDeletion } from './populate.ts';
import { runCleanUp } from './run.ts';

const db = await createDatabaseForFile();
// A table of an extension. Its foreign key does not cascade, so the notes of a user must be deleted before the user.
await db.sql('create table notes (user_id bigint references users, body text)');

const deleteNotes = queryOfText<never>('delete from notes where user_id = $1', 1);

async function createAuthor(): Promise<number> {
  const userId = await createUser(db);
  await db.sql(`insert into notes values ($1, 'A note')`, [userId]);
  await requestDeletion(db, userId);
  return userId;
}

test('an extension erases its data about a user in the transaction that deletes the user, before the user is deleted', async () => {
  const userId = await createAuthor();
  const notes: UserEraser = {
    name: 'notes',
    async eraseUser(transaction, id) {
      const rows = await transaction.query(queryOfText('select from users where id = $1', 1), [id]);
      expect(rows).toHaveLength(1);
      await transaction.query(deleteNotes, [id]);
    },
  };
  const outcome = await runCleanUp(db, { erasers: [{ name: 'without data' }, notes] });
  expect(outcome).toMatchObject({ users: [{ id: userId }], failed: [] });
  expect(await db.sql('select from notes')).toEqual([]);
});

test('if an extension fails to erase its data about a user, the user and the data stay, and the next erasure run removes both', async () => {
  const userId = await createAuthor();
  let isBroken = true;
  const notes: UserEraser = {
    name: 'notes',
    async eraseUser(transaction, id) {
      await transaction.query(deleteNotes, [id]);
      if (isBroken) throw new Error('Something else is wrong');
    },
  };
  expect(await runCleanUp(db, { erasers: [notes] })).toMatchObject({
    users: [],
    failed: [{ what: 'user', id: userId }],
  });
  expect(await db.sql('select user_id from notes')).toEqual([{ user_id: userId }]);
  expect(await db.sql('select from users where id = $1', [userId])).toHaveLength(1);

  isBroken = false;
  expect(await runCleanUp(db, { erasers: [notes] })).toMatchObject({ users: [{ id: userId, isResumed: true }] });
  expect(await db.sql('select from notes')).toEqual([]);
});
