/** Runs work when each of its keys has a place for it. Throws a LockNotFreeError when that takes too long. */
export type InTurn = <T>(keys: readonly string[], work: () => Promise<T>) => Promise<T>;

export interface TurnOptions {
  /** How much work under one key runs at once. */
  width: number;
  /** How much work runs at once under all keys together. */
  total: number;
  /** How long work waits for its places together. */
  patienceMs: number;
}

/** Work that waits holds a request and no connection. More than this waiting for one key is refused at once. */
const maxWaiting = 1_000;

/** The process could not get a lock in time. The code is the one with which PostgreSQL says so: lock_not_available. */
class LockNotFreeError extends Error {
  override readonly name = 'LockNotFreeError';
  readonly code = '55P03';
}

/**
 * Bounds the connections that wait for one row. Work on a locked row waits in the process, where it costs no connection.
 * All work together gets a part of the pool, so that reads always find a connection.
 */
export function buildTurns({ width, total, patienceMs }: TurnOptions): InTurn {
  const places = new Map<string, Places>();
  const all = new Places(total);

  async function enter(key: string, deadline: number): Promise<() => void> {
    const own = places.get(key) ?? new Places(width);
    places.set(key, own);
    const leave = () => {
      own.leave();
      if (own.isUnused && places.get(key) === own) places.delete(key);
    };
    await own.take(deadline);
    return leave;
  }

  return async (keys, work) => {
    const deadline = performance.now() + patienceMs;
    const entered: (() => void)[] = [];
    try {
      // In one order, so that two pieces of work never wait for each other.
      for (const key of [...new Set(keys)].sort()) entered.push(await enter(key, deadline));
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

/** A number of places, given out in the order of the requests. */
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
