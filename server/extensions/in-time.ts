/** Waits for work that somebody else wrote and that may never end. What comes of it later is left alone. */
export async function inTime<T>(work: PromiseLike<T>, limitMs: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} has not ended after ${limitMs / 1000} s`)), limitMs);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
