/**
 * Runs work when the limits allow another call. There is one limit for each key, and one limit for all keys together. A
 * key names a row that the work locks, such as `idea:7`. Throws a LockNotFreeError on a timeout, or if too many calls
 * wait already.
 */
export type InTurn = <T>(keys: readonly string[], work: () => Promise<T>) => Promise<T>;

export interface TurnOptions {
  /** The number of calls that may run at the same time for one key. */
  width: number;
  /** The number of calls that may run at the same time for all keys together. */
  total: number;
  /** The maximum time that a call waits until it may run. */
  patienceMs: number;
}

/**
 * The maximum number of calls that wait for one key, or for the limit of all keys. Each waiting call belongs to an open
 * request but holds no database connection. Further calls fail immediately.
 */
const maxWaiting = 1_000;

/** Means that a lock did not become free in time. The code is PostgreSQL's lock_not_available. */
class LockNotFreeError extends Error {
  override readonly name = 'LockNotFreeError';
  readonly code = '55P03';
}

/**
 * Limits the database connections that wait for the same row. Further calls for the row wait in this process and hold
 * no connection. All calls together get only a part of the pool, so that reads can use the other connections.
 */
export function buildTurns({ width, total, patienceMs }: TurnOptions): InTurn {
  const places = new Map<string, Places>();
  const all = new Places(total);

  return async (keys, work) => {
    const deadline = performance.now() + patienceMs;
    const entered: (() => void)[] = [];
    try {
      // Takes the keys in sorted order, so that two calls cannot wait for each other.
      for (const key of [...new Set(keys)].sort()) {
        const own = places.get(key) ?? new Places(width);
        places.set(key, own);
        await own.take(deadline);
        entered.push(() => {
          own.leave();
          if (own.isUnused) places.delete(key);
        });
      }
      await all.take(deadline);
      entered.push(() => all.leave());
      return await work();
    } finally {
      for (const leave of entered.reverse()) leave();
    }
  };
}

interface Waiting {
  resolve(): void;
  timer: NodeJS.Timeout;
}

/** A semaphore with a number of places. Callers get free places in the order of their requests. */
class Places {
  readonly #size: number;
  readonly #waiting = new Set<Waiting>();
  #taken = 0;

  constructor(size: number) {
    this.#size = size;
  }

  get isUnused(): boolean {
    return this.#taken === 0;
  }

  take(deadline: number): Promise<void> {
    if (this.#taken < this.#size) {
      this.#taken++;
      return Promise.resolve();
    }
    if (this.#waiting.size >= maxWaiting) throw new LockNotFreeError('too many requests wait for one lock');
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        this.#waiting.delete(one);
        reject(new LockNotFreeError('a lock was not free in time'));
      };
      const one = { resolve, timer: setTimeout(giveUp, Math.max(0, deadline - performance.now())) };
      this.#waiting.add(one);
    });
  }

  leave() {
    const [next] = this.#waiting;
    if (!next) {
      this.#taken--;
      return;
    }
    this.#waiting.delete(next);
    clearTimeout(next.timer);
    next.resolve();
  }
}
