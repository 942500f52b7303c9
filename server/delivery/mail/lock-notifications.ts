import type { WorkerLocks } from '../dependencies.ts';

/** The error of a job that could not lock its notifications. The worker runs such a job again later. */
export const beingMailed = 'Another job is mailing a notification of this mail';

/**
 * Locks notifications, so that only one job at a time mails each of them. A job must lock a notification before it reads
 * whether the notification is already mailed, and may unlock it only after it has marked it as mailed. Returns a
 * function that unlocks the notifications. Returns undefined if another job has locked one of them.
 */
export async function lockNotifications(
  locks: WorkerLocks,
  ids: readonly number[],
): Promise<(() => Promise<void>) | undefined> {
  const keys = ids.map(id => `notification:${id}`);
  const areLocked = await Promise.all(keys.map(key => locks.tryLock(key)));
  const locked = keys.filter((_, index) => areLocked[index]);
  const unlock = async () => {
    await Promise.all(locked.map(key => locks.unlock(key)));
  };
  if (locked.length === keys.length) return unlock;
  await unlock();
  return undefined;
}
