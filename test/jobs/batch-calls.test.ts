import { expect, test } from 'vitest';
import { batchCallsByAccount } from '../../server/jobs/batch-calls.ts';

test('calls for several accounts run once for each account, and each gets its own result', async () => {
  const runs: [number, number[]][] = [];
  const double = batchCallsByAccount(async (accountId, items: { accountId: number; n: number }[]) => {
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
