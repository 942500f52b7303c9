/**
 * Waits for work. If the work takes longer than the limit, throws. The work then continues, and its result is ignored.
 */
export async function inTime<T>(work: PromiseLike<T>, limitMs: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} has not ended after ${limitMs / 1000} s`)), limitMs);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

export function inTimeOr<T>(work: Promise<T>, limitMs: number, otherwise: T): Promise<T> {
  return inTime(work, limitMs, 'the work').catch(() => otherwise);
}
