import { median } from 'simple-statistics';

/** Whether the median is below 1 by more than the spread. */
export function isBelowSpread(ratios: number[]): boolean {
  return 1 - median(ratios) > spreadOf(ratios);
}

/** Returns the difference between the largest and the smallest ratio. */
export function spreadOf(ratios: number[]): number {
  return Math.max(...ratios) - Math.min(...ratios);
}
