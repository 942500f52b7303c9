/** Waits for work that may never end. Fails after the limit, and leaves alone what comes of the work later. */
export async function inTime<T>(work: PromiseLike<T>, limitMs: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} has not ended after ${limitMs / 1000} s`)), limitMs);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/**
 * What a probe asks of the database, or `otherwise` when it fails or takes longer. A probe that hangs is worse than one
 * without an answer.
 */
export function inTimeOr<T>(work: Promise<T>, limitMs: number, otherwise: T): Promise<T> {
  return inTime(work, limitMs, 'the work').catch(() => otherwise);
}
