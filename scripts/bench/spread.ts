import { median } from 'simple-statistics';

/** Whether the median is below 1 by more than half of the difference between the largest and the smallest ratio. */
export function isBelowSpread(ratios: number[]): boolean {
  return 1 - median(ratios) > spreadOf(ratios);
}

export function spreadOf(ratios: number[]): number {
  return (Math.max(...ratios) - Math.min(...ratios)) / 2;
}
