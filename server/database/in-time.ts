/**
 * What a probe asks of the database, or `otherwise` when it fails or takes longer: a probe that hangs is worse than one
 * that has to do without. What comes of it later is left alone.
 */
export function inTime<T>(work: Promise<T>, limitMs: number, otherwise: T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<T>(resolve => {
    timer = setTimeout(resolve, limitMs, otherwise);
  });
  return Promise.race([work.catch(() => otherwise), late]).finally(() => clearTimeout(timer));
}
