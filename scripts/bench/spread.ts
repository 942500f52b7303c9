import { median } from 'simple-statistics';

/** Whether the median of the ratios is below 1 by more than the spread of the ratios. */
export function isBelowSpread(ratios: number[]): boolean {
  return 1 - median(ratios) > spreadOf(ratios);
}

/** Returns the spread: the difference between the largest and the smallest ratio. */
export function spreadOf(ratios: number[]): number {
  return Math.max(...ratios) - Math.min(...ratios);
}
