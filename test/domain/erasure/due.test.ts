import { describe, expect, test } from 'vitest';
import { queryOfText } from '../../../server/database/query.ts';
import type { Administration } from '../../../server/domain/administration.ts';
import {
  cancelAccountDeletion,
  cancelUserDeletion,
  requestUserDeletion,
  scheduleAccountDeletion,
} from '../../../server/domain/erasure/request-deletion.ts';
import { addMember, setMemberRole } from '../../../server/domain/members/change-members.ts';
import { buildCrontab } from '../../../server/jobs/tasks.ts';
import { createDatabaseForFile } from '../../helpers/database.ts';
import { createMember, createUser, createWorld } from '../../helpers/fixtures.ts';
import { runJobs } from '../../helpers/jobs.ts';
import { startServerForTest } from '../../helpers/server.ts';
import { administer, administerAtOnce, expectRefusal } from '../administration/administer.ts';
import { requestDeletion, scheduleDeletion } from './populate.ts';
import { runCleanUp } from './run.ts';

const db = await createDatabaseForFile();
const world = await createWorld(db);

const isThere = async (table: 'users' | 'accounts', id: number) =>
  (await db.sql(`select from ${table} where id = $1`, [id])).length === 1;
const begin = (table: 'users' | 'accounts', id: number) =>
  db.sql(`update ${table} set erasure_began_at = now() where id = $1`, [id]);

const lockUser = queryOfText<never>('select from users where id = $1 for update', 1);
const beginErasure = queryOfText<never>('update users set erasure_began_at = now() where id = $1', 1);

const asked = new Date('2026-03-01T12:00:00.000Z');
const later = (days: number, milliseconds = 0) => new Date(asked.getTime() + days * 86_400_000 + milliseconds);

describe('the grace period before an erasure', () => {
  test('the grace period before the erasure of an account is 30 days, exact to the millisecond', async () => {
    const { accountId } = await createWorld(db);
    await administer(db, admin => scheduleAccountDeletion(admin, accountId), asked);
    expect((await runCleanUp(db, { now: later(30, -1) })).accounts).toEqual([]);
    expect(await isThere('accounts', accountId)).toBe(true);
    expect((await runCleanUp(db, { now: later(30) })).accounts.map(({ id }) => id)).toEqual([accountId]);
    expect(await isThere('accounts', accountId)).toBe(false);
  });

  test('the grace period before the erasure of a user is 48 hours, exact to the millisecond', async () => {
    const userId = await createUser(db);
    await administer(db, admin => requestUserDeletion(admin, userId), asked);
    expect((await runCleanUp(db, { now: later(2, -1) })).users).toEqual([]);
    expect(await isThere('users', userId)).toBe(true);
    expect((await runCleanUp(db, { now: later(2) })).users.map(({ id }) => id)).toEqual([userId]);
    expect(await isThere('users', userId)).toBe(false);
  });

  test('the grace periods before the erasure of accounts and users come from the settings of the server', async () => {
    const { accountId } = await createWorld(db);
    const userId = await createUser(db);
    await administer(db, admin => scheduleAccountDeletion(admin, accountId), asked);
    await administer(db, admin => requestUserDeletion(admin, userId), asked);
    const graces = { ACCOUNT_DELETION_GRACE_DAYS: 1, USER_DELETION_GRACE_HOURS: 25 };
    expect(await runCleanUp(db, { graces, now: later(1) })).toMatchObject({ accounts: [{ id: accountId }], users: [] });
    expect(await runCleanUp(db, { graces, now: later(1, 3_600_000) })).toMatchObject({ users: [{ id: userId }] });
  });

  test('if the deletion of a user is requested twice and canceled, the user is not erased, and a later request starts a new grace period', async () => {
    const userId = await createUser(db);
    await administer(db, admin => requestUserDeletion(admin, userId), asked);
    await administer(db, admin => requestUserDeletion(admin, userId), later(1));
    await administer(db, admin => cancelUserDeletion(admin, userId), later(1));
    expect((await runCleanUp(db, { now: later(9) })).users).toEqual([]);
    await administer(db, admin => requestUserDeletion(admin, userId), later(9));
    expect((await runCleanUp(db, { now: later(10) })).users).toEqual([]);
    expect((await runCleanUp(db, { now: later(11) })).users).toMatchObject([{ id: userId }]);
  });

  test('an erasure that has begun continues even if a change of the setting makes the grace period longer', async () => {
    const userId = await createUser(db);
    await requestDeletion(db, userId, 50);
    await begin('users', userId);
    const graces = { ACCOUNT_DELETION_GRACE_DAYS: 300, USER_DELETION_GRACE_HOURS: 3000 };
    expect((await runCleanUp(db, { graces })).users).toMatchObject([{ id: userId, isResumed: true }]);
  });
});

describe('reasons that prevent an erasure', () => {
  test('a user who owns an account is not erased, and the deletion request returns this reason', async () => {
    const owned = await createWorld(db);
    await db.sql(`update accounts set slug = 'tidewater' where id = $1`, [owned.accountId]);
    const held = await administer(db, admin => requestUserDeletion(admin, owned.ownerId), asked);
    expect(held).toEqual(['owner of tidewater']);
    const outcome = await runCleanUp(db, { now: later(3) });
    expect(outcome).toMatchObject({
      users: [],
      held: [{ id: owned.ownerId, heldBy: ['owner of tidewater'] }],
      failed: [],
    });

    const successor = await createMember(db, owned.accountId, 'owner');
    await administer(db, admin => setMemberRole(admin, { accountId: owned.accountId, userId: owned.ownerId }, 'admin'));
    expect(await runCleanUp(db, { now: later(3) })).toMatchObject({ users: [{ id: owned.ownerId }], held: [] });
    expect(await db.sql('select user_id from memberships where account_id = $1', [owned.accountId])).toEqual([
      { user_id: successor },
    ]);
  });

  test('a user who is an operator of the server is not erased', async () => {
    const userId = await createUser(db);
    await requestDeletion(db, userId);
    await db.sql('update users set is_operator = true where id = $1', [userId]);
    expect(await runCleanUp(db)).toMatchObject({
      users: [],
      held: [{ id: userId, heldBy: ['operator of the server'] }],
    });
    await db.sql('update users set is_operator = false where id = $1', [userId]);
    expect(await runCleanUp(db)).toMatchObject({ users: [{ id: userId }], held: [] });
  });

  test("one run of the erasure can erase an account and also the account's owner if the owner owns no other account", async () => {
    const { accountId, ownerId } = await createWorld(db);
    await scheduleDeletion(db, accountId);
    await requestDeletion(db, ownerId);
    expect(await runCleanUp(db)).toMatchObject({ accounts: [{ id: accountId }], users: [{ id: ownerId }], held: [] });
  });

  test('the role admin, moderator or member in an account does not prevent the erasure of a user', async () => {
    for (const role of ['admin', 'moderator', 'member'] as const) {
      const userId = await createMember(db, world.accountId, role);
      await requestDeletion(db, userId);
      expect((await runCleanUp(db)).users).toMatchObject([{ id: userId }]);
    }
  });
});

describe('the start of an erasure', () => {
  test('the deletion of a user or account cannot be canceled after the erasure has begun', async () => {
    const { accountId } = await createWorld(db);
    const userId = await createUser(db);
    await scheduleDeletion(db, accountId);
    await requestDeletion(db, userId);
    await begin('accounts', accountId);
    await begin('users', userId);
    for (const change of [cancelAccountDeletion, scheduleAccountDeletion]) {
      await expectRefusal(db, admin => change(admin, accountId), 'conflict', 'is being erased');
    }
    for (const change of [cancelUserDeletion, requestUserDeletion]) {
      await expectRefusal(db, admin => change(admin, userId), 'conflict', 'The user is being erased');
    }
    expect(await runCleanUp(db)).toMatchObject({ accounts: [{ id: accountId }], users: [{ id: userId }] });
  });

  test("if the cancellation of a user's deletion commits before the erasure begins, the user is kept and the erasure does not begin", async () => {
    const staying = await createUser(db, 'Stays');
    await requestDeletion(db, staying);
    let outcome: Promise<unknown> | undefined;
    // administerAtOnce() starts the clean-up after the cancellation of the deletion has run and before this
    // cancellation commits.
    await administerAtOnce(
      db,
      admin => cancelUserDeletion(admin, staying),
      async () => {
        outcome = runCleanUp(db);
        await outcome;
      },
    );
    expect(await outcome).toMatchObject({ users: [], failed: [] });
    expect(await db.sql('select name, erasure_began_at from users where id = $1', [staying])).toEqual([
      { name: 'Stays', erasure_began_at: null },
    ]);
  });

  test('a user who becomes the owner of an account just before the erasure begins is not erased', async () => {
    const { accountId } = await createWorld(db);
    const member = await createMember(db, accountId, 'member');
    const newcomer = await createUser(db);
    const promotions = new Map<number, (admin: Administration) => Promise<void>>([
      [member, admin => setMemberRole(admin, { accountId, userId: member }, 'owner')],
      [newcomer, admin => addMember(admin, { accountId, userId: newcomer }, 'owner')],
    ]);
    for (const [userId, promote] of promotions) {
      await requestDeletion(db, userId);
      await administerAtOnce(db, promote, async () => {
        expect((await runCleanUp(db)).failed).toEqual([]);
      });
    }
    expect((await runCleanUp(db)).held.map(({ id }) => id)).toEqual([member, newcomer]);
    await db.sql('update users set deletion_requested_at = null');
  });

  test('a request to give a role to a user waits while the erasure of the user begins, and is then refused', async () => {
    const { accountId } = await createWorld(db);
    const member = await createMember(db, accountId, 'member');
    const newcomer = await createUser(db);
    const promotions = new Map<number, (admin: Administration) => Promise<void>>([
      [member, admin => setMemberRole(admin, { accountId, userId: member }, 'owner')],
      [newcomer, admin => addMember(admin, { accountId, userId: newcomer }, 'owner')],
    ]);
    for (const [userId, promote] of promotions) {
      await requestDeletion(db, userId);
      const [, promotion] = await administerAtOnce(
        db,
        async admin => {
          await admin.query(lockUser, [userId]);
          await admin.query(beginErasure, [userId]);
        },
        promote,
      );
      expect(promotion).toMatchObject({ status: 'rejected', reason: { message: 'The user is being erased' } });
    }
    expect((await runCleanUp(db)).users.map(({ id }) => id)).toEqual([member, newcomer]);
  });

  test('a user cannot get a role after their erasure has begun', async () => {
    const { accountId } = await createWorld(db);
    const member = await createMember(db, accountId, 'member');
    const newcomer = await createUser(db);
    for (const userId of [member, newcomer]) {
      await requestDeletion(db, userId);
      await begin('users', userId);
    }
    const refused = [
      (admin: Administration) => setMemberRole(admin, { accountId, userId: member }, 'owner'),
      (admin: Administration) => addMember(admin, { accountId, userId: newcomer }, 'owner'),
    ];
    for (const promote of refused) await expectRefusal(db, promote, 'conflict', 'The user is being erased');
    expect((await runCleanUp(db)).users.map(({ id }) => id)).toEqual([member, newcomer]);
  });
});

test('the deletion of the placeholder for erased users cannot be requested', async () => {
  const [placeholder] = await db.sql<{ id: number }>('select id from users where is_placeholder');
  await expectRefusal(
    db,
    admin => requestUserDeletion(admin, placeholder?.id ?? 0),
    'conflict',
    'The user is being erased',
  );
});

test('no cron task of the server erases an account or user, even if the grace period has ended', async () => {
  const userId = await createUser(db);
  const { accountId } = await createWorld(db);
  await requestDeletion(db, userId, 1000);
  await scheduleDeletion(db, accountId, 1000);
  const server = await startServerForTest({ on: db });
  const tasks = [...buildCrontab([]).matchAll(/^(?:\S+ ){5}(\w+)/gm)].map(([, task]) => task);
  expect(tasks).toContain('clear_expired');
  for (const task of tasks) await db.sql('select graphile_worker.add_job($1)', [task]);
  expect(await runJobs(server)).toEqual([]);
  expect([await isThere('users', userId), await isThere('accounts', accountId)]).toEqual([true, true]);
});
