import { activeSpan, runInSpan, type Span } from '../observability/active-span.ts';

export interface Coalescing {
  /** The maximum number of batches that run at the same time. */
  maxUnderWay?: number;
  maxBatchSize?: number;
  /** After this time, a running batch counts as stuck and another batch may start. Default: no limit. */
  patienceMs?: number;
}

interface Call<Item, Result> {
  item: Item;
  span: Span | undefined;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Coalesces calls into batches, so that one round trip to the database serves many calls. A batch starts at the end of
 * the event loop's turn, or when a running batch ends. If several batches may run and no batch is running, a call
 * starts a batch immediately. `run` returns the results in the order of the items. If `run` throws, every call of the
 * batch gets the error.
 */
export function coalesceCalls<Item, Result>(
  run: (items: Item[]) => Promise<Result[]>,
  limits?: Coalescing,
): (item: Item) => Promise<Result> {
  return coalesce(calls => settle(calls, run), limits);
}

/**
 * Works like coalesceCalls, but calls `run` separately for each account of a batch. An error affects only the calls of
 * one account.
 */
export function coalesceCallsByAccount<Item extends { accountId: number }, Result>(
  run: (accountId: number, items: Item[]) => Promise<Result[]>,
): (item: Item) => Promise<Result> {
  return coalesce(async calls => {
    const byAccount = Map.groupBy(calls, ({ item }) => item.accountId);
    await Promise.all(
      byAccount.entries().map(([accountId, ofAccount]) => settle(ofAccount, items => run(accountId, items))),
    );
  });
}

async function settle<Item, Result>(
  calls: Call<Item, Result>[],
  run: (items: Item[]) => Promise<Result[]>,
): Promise<void> {
  try {
    const results = await run(calls.map(({ item }) => item));
    for (const [index, call] of calls.entries()) call.resolve(results[index] as Result);
  } catch (error) {
    for (const call of calls) call.reject(error);
  }
}

/**
 * Returns a function that coalesces its calls. `settleBatch` resolves or rejects each call of a batch, and itself never
 * rejects.
 */
function coalesce<Item, Result>(
  settleBatch: (calls: Call<Item, Result>[]) => Promise<void>,
  { maxUnderWay = 1, maxBatchSize = 200, patienceMs }: Coalescing = {},
): (item: Item) => Promise<Result> {
  const waiting: Call<Item, Result>[] = [];
  let underWay = 0;
  let isScheduled = false;

  function startBatches() {
    isScheduled = false;
    while (underWay < maxUnderWay && waiting.length > 0) void startBatch(waiting.splice(0, maxBatchSize));
  }

  async function startBatch(calls: Call<Item, Result>[]) {
    underWay++;
    let isUnderWay = true;
    const giveWay = () => {
      if (!isUnderWay) return;
      isUnderWay = false;
      underWay--;
      startBatches();
    };
    const timer = patienceMs === undefined ? undefined : setTimeout(giveWay, patienceMs);
    // The batch may start in the context of an earlier call, so it continues the trace of its own first call.
    await runInSpan(calls.find(({ span }) => span)?.span, () => settleBatch(calls));
    clearTimeout(timer);
    giveWay();
  }

  return item =>
    new Promise((resolve, reject) => {
      waiting.push({ item, span: activeSpan(), resolve, reject });
      if (isScheduled || underWay >= maxUnderWay) return;
      // This call starts a batch immediately. Further calls in this turn of the event loop form a second batch.
      if (underWay === 0 && maxUnderWay > 1) return startBatches();
      isScheduled = true;
      setImmediate(startBatches);
    });
}
