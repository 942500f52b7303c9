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

test('an extension erases its data about a user while the row of the user still has the e-mail address', async () => {
  const userId = await createUser(db);
  const [user] = await db.sql('select email from users where id = $1', [userId]);
  await requestDeletion(db, userId);
  const emails: unknown[] = [];
  const reader: UserEraser = {
    name: 'reader',
    async eraseUser(transaction, id) {
      emails.push(...(await transaction.query(queryOfText('select email from users where id = $1', 1), [id])));
    },
  };
  expect(await runCleanUp(db, { erasers: [reader] })).toMatchObject({ users: [{ id: userId }], failed: [] });
  expect(emails[0]).toEqual(user);
});

test('if an extension fails in the first transaction of an erasure, the profile of the user stays unchanged', async () => {
  const userId = await createAuthor();
  const [before] = await db.sql('select * from users where id = $1', [userId]);
  const broken: UserEraser = { name: 'broken', eraseUser: () => Promise.reject(new Error('Something is wrong')) };
  expect(await runCleanUp(db, { erasers: [broken] })).toMatchObject({ failed: [{ what: 'user', id: userId }] });
  expect(await db.sql('select * from users where id = $1', [userId])).toEqual([before]);
  await db.sql('delete from notes');
  await runCleanUp(db, { erasers: [] });
});

test("if an extension fails in the last transaction of an erasure, the user and the extension's data stay, and the next clean-up removes both", async () => {
  const userId = await createAuthor();
  let isBroken = true;
  let calls = 0;
  const notes: UserEraser = {
    name: 'notes',
    async eraseUser(transaction, id) {
      calls += 1;
      if (calls === 1) return;
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
