import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { type Administration, AdministrationError } from '../../../server/domain/administration.ts';
import { operatorIn } from '../../helpers/administration.ts';
import type { TestDatabase } from '../../helpers/database.ts';
import { countLockWaits } from '../../helpers/lock-waits.ts';
import { snapshot } from '../../helpers/snapshot.ts';

/** Runs an administrative operation in one transaction, in the same way as the command line tool. */
export function administer<T>(
  { database }: TestDatabase,
  work: (admin: Administration) => Promise<T>,
  now = new Date(),
): Promise<T> {
  return database.transaction(transaction => work(operatorIn(transaction, now)));
}

/**
 * Runs two operations at the same time, in the order that most likely causes a race condition. The second operation
 * starts when the first operation has done everything except its commit. The first operation commits when the second
 * operation has ended or waits for a lock.
 */
export async function administerAtOnce(
  db: TestDatabase,
  first: (admin: Administration) => Promise<unknown>,
  second: (admin: Administration) => Promise<unknown>,
): Promise<PromiseSettledResult<unknown>[]> {
  let others: Promise<unknown> | undefined;
  const commits = administer(db, async admin => {
    await first(admin);
    others = administer(db, second);
    let isDone = false;
    const done = () => {
      isDone = true;
    };
    others.then(done, done);
    while (!isDone && (await countLockWaits(db)) === 0) await sleep(5);
  });
  await commits;
  return Promise.allSettled([commits, others]);
}

/**
 * Expects that an operation throws an AdministrationError with a message of one line. Expects that the operation leaves
 * the database unchanged.
 */
export async function expectRefusal(
  db: TestDatabase,
  work: (admin: Administration) => Promise<unknown>,
  reason: AdministrationError['reason'],
  message: string | RegExp,
) {
  const before = await snapshot(db);
  const failure = await administer(db, work).then(
    () => undefined,
    error => error,
  );
  expect(failure).toBeInstanceOf(AdministrationError);
  expect(failure).toMatchObject({ reason, message: expect.stringMatching(message) });
  expect(failure.message).not.toContain('\n');
  expect(await snapshot(db)).toEqual(before);
}
