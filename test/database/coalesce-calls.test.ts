import { expect, test } from 'vitest';
import { coalesceCalls, coalesceCallsByAccount } from '../../server/database/coalesce-calls.ts';

test('coalesceCallsByAccount() combines calls that arrive together into one call for each account, and each caller gets its own result', async () => {
  const runs: [number, number[]][] = [];
  const double = coalesceCallsByAccount(async (accountId, items: { accountId: number; n: number }[]) => {
    runs.push([accountId, items.map(({ n }) => n)]);
    return items.map(({ n }) => `${accountId}: ${2 * n}`);
  });
  const items = [7, 8, 7, 9, 8].map((accountId, n) => ({ accountId, n }));
  expect(await Promise.all(items.map(double))).toEqual(['7: 0', '8: 2', '7: 4', '9: 6', '8: 8']);
  expect(runs).toEqual([
    [7, [0, 2]],
    [8, [1, 4]],
    [9, [3]],
  ]);
});

test('if the combined call of coalesceCallsByAccount() for one account fails, the calls for other accounts succeed', async () => {
  const call = coalesceCallsByAccount(async (accountId, items: { accountId: number }[]) => {
    if (accountId === 8) throw new Error('8 failed');
    return items.map(() => accountId);
  });
  const results = await Promise.allSettled([7, 8, 7, 8].map(accountId => call({ accountId })));
  expect(results.map(result => (result.status === 'fulfilled' ? result.value : result.reason.message))).toEqual([
    7,
    '8 failed',
    7,
    '8 failed',
  ]);
});

test('if calls of a coalesced function arrive while a batch runs, they wait for it and then run in batches of at most `maxBatchSize` calls', async () => {
  const runs: number[][] = [];
  const started = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const call = coalesceCalls(
    async (items: number[]) => {
      runs.push(items);
      started.resolve();
      await end.promise;
      return items;
    },
    { maxBatchSize: 2 },
  );
  const first = call(1);
  await started.promise;
  const later = [call(2), call(3), call(4)];
  end.resolve();
  expect(await Promise.all([first, ...later])).toEqual([1, 2, 3, 4]);
  expect(runs).toEqual([[1], [2, 3], [4]]);
});

test('if two batches of coalesced calls may run in parallel, the first call runs immediately, and the calls that arrive meanwhile form the second batch', async () => {
  const runs: number[][] = [];
  const call = coalesceCalls(
    async (items: number[]) => {
      runs.push(items);
      return items;
    },
    { maxUnderWay: 2 },
  );
  const results = [call(1), call(2), call(3)];
  expect(runs).toEqual([[1]]);
  expect(await Promise.all(results)).toEqual([1, 2, 3]);
  expect(runs).toEqual([[1], [2, 3]]);
});

test('if a batch of coalesced calls hangs, later calls wait at most `patienceMs` milliseconds and then run in a new batch', async () => {
  const started = Promise.withResolvers<void>();
  const stuck = Promise.withResolvers<number[]>();
  const call = coalesceCalls(
    (items: number[]) => {
      started.resolve();
      return items.includes(1) ? stuck.promise : Promise.resolve(items);
    },
    { patienceMs: 20 },
  );
  const first = call(1);
  await started.promise;
  expect(await call(2)).toBe(2);
  stuck.resolve([1]);
  expect(await first).toBe(1);
});
