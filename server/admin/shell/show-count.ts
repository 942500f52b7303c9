import { countLimit } from '../../domain/bounded-count.ts';

const format = new Intl.NumberFormat('en-GB');

/** A number that was counted as far as countLimit, with what is counted: `1 idea`, `more than 1,000 ideas`. */
export function showCount(count: number, one: string, several = `${one}s`): string {
  if (count > countLimit) return `more than ${format.format(countLimit)} ${several}`;
  return `${format.format(count)} ${count === 1 ? one : several}`;
}
