import { expect, test } from 'vitest';
import { buildTurns } from '../../server/database/turns.ts';

/** Returns a task `work` that runs until the test calls `end`. */
function hold() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { work: () => promise, end: resolve };
}

const notFree = { code: '55P03' };

test("a task of buildTurns() that waits too long for another task with the same key fails with PostgreSQL's error code of a lock timeout", async () => {
  const inTurn = buildTurns({ width: 1, total: 10, patienceMs: 20 });
  const first = hold();
  const holding = inTurn(['a'], first.work);
  await expect(inTurn(['a'], async () => 'never')).rejects.toMatchObject(notFree);
  await expect(inTurn(['b', 'a'], async () => 'never')).rejects.toMatchObject(notFree);
  // The task with the keys `b` and `a` has timed out, so it must have released the key `b`.
  expect(await inTurn(['b'], async () => 'other work')).toBe('other work');
  first.end();
  await holding;
  expect(await inTurn(['a', 'b'], async () => 'later')).toBe('later');
});

test('buildTurns() limits the number of tasks that run at the same time, and a task that fails makes room for another', async () => {
  const inTurn = buildTurns({ width: 2, total: 2, patienceMs: 60_000 });
  const fail = () => Promise.reject(new Error('no'));
  for (let n = 0; n < 5; n++) await expect(inTurn(['a'], fail)).rejects.toThrow('no');
  const holds = Array.from({ length: 6 }, hold);
  let running = 0;
  let most = 0;
  const all = holds.map(({ work }, n) =>
    inTurn([`key ${n}`], async () => {
      most = Math.max(most, ++running);
      await work();
      running--;
    }),
  );
  for (const { end } of holds) end();
  await Promise.all(all);
  expect(most).toBe(2);
});

test('tasks of buildTurns() that name the same keys in a different order do not deadlock', async () => {
  const inTurn = buildTurns({ width: 1, total: 4, patienceMs: 60_000 });
  const done: number[] = [];
  const turns = Array.from({ length: 20 }, (_, n) =>
    inTurn(n % 2 ? ['a', 'b'] : ['b', 'a', 'b'], async () => {
      await Promise.resolve();
      done.push(n);
    }),
  );
  await Promise.all(turns);
  expect(done).toHaveLength(20);
});

test('buildTurns() refuses a task immediately if a thousand other tasks already wait for the same key', async () => {
  const inTurn = buildTurns({ width: 1, total: 10, patienceMs: 60_000 });
  const first = hold();
  const all = Array.from({ length: 1_001 }, () => inTurn(['a'], first.work));
  await expect(inTurn(['a'], first.work)).rejects.toMatchObject(notFree);
  first.end();
  await Promise.all(all);
});
