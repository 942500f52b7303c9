/** Means that too many calls wait in a queue. */
export class BusyError extends Error {
  override readonly name = 'BusyError';
}

export interface QueueOptions {
  /** The number of calls that may run at the same time. */
  maxRunning: number;
  /** The number of calls that may wait. */
  maxWaiting: number;
}

/**
 * Builds a queue for work that needs much memory or CPU time. Returns a function that runs work as soon as fewer than
 * `maxRunning` calls run in this process. The function throws a BusyError if too many calls wait already.
 */
export function buildQueue({ maxRunning, maxWaiting }: QueueOptions) {
  let running = 0;
  const waiting: (() => void)[] = [];

  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (waiting.length >= maxWaiting) throw new BusyError('too many calls wait in a queue');
    if (running < maxRunning) running++;
    // The number of running calls stays the same here: when a call ends, the next waiting call takes its place.
    else await new Promise<void>(resolve => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
