/** Waits for work up to a limit, then fails. The work itself continues, and its result is ignored. */
export async function inTime<T>(work: PromiseLike<T>, limitMs: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} has not ended after ${limitMs / 1000} s`)), limitMs);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** Like inTime, but returns `otherwise` if the work fails or takes too long. */
export function inTimeOr<T>(work: Promise<T>, limitMs: number, otherwise: T): Promise<T> {
  return inTime(work, limitMs, 'the work').catch(() => otherwise);
}
