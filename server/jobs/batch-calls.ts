interface Call<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Makes one call of the many that come while the last is under way: a statement for thirty deliveries costs hardly more
 * than one for a single delivery. A call alone waits for nothing but the end of the event loop's turn. Answers come in
 * the order of the items; an error is everybody's.
 */
export function batchCalls<Item, Result>(
  run: (items: Item[]) => Promise<Result[]>,
  maxItems = 200,
): (item: Item) => Promise<Result> {
  let waiting: Call<Item, Result>[] = [];
  let isRunning = false;

  async function runWaiting() {
    while (waiting.length > 0) {
      const calls = waiting.slice(0, maxItems);
      waiting = waiting.slice(maxItems);
      try {
        const results = await run(calls.map(({ item }) => item));
        for (const [index, call] of calls.entries()) call.resolve(results[index] as Result);
      } catch (error) {
        for (const call of calls) call.reject(error);
      }
    }
    isRunning = false;
  }

  return item =>
    new Promise<Result>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (isRunning) return;
      isRunning = true;
      setImmediate(runWaiting);
    });
}

/** As batchCalls, with one call for each account of a batch. The calls of a batch run side by side. */
export function batchCallsByAccount<Item extends { accountId: number }, Result>(
  run: (accountId: number, items: Item[]) => Promise<Result[]>,
): (item: Item) => Promise<Result> {
  return batchCalls(async (items: Item[]) => {
    const byAccount = Map.groupBy(items, ({ accountId }) => accountId);
    const results = new Map<Item, Result>();
    await Promise.all(
      byAccount.entries().map(async ([accountId, ofAccount]) => {
        const found = await run(accountId, ofAccount);
        for (const [index, item] of ofAccount.entries()) results.set(item, found[index] as Result);
      }),
    );
    return items.map(item => results.get(item) as Result);
  });
}
