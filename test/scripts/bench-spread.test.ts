import { expect, test } from 'vitest';
import { isBelowSpread } from '../../scripts/bench/spread.ts';

test("the benchmark's comparison of two server versions finds a slowdown that is larger than the spread of the rounds", () => {
  expect(isBelowSpread([0.9, 0.91, 0.89, 0.9, 0.92])).toBe(true);
});

test.each([
  ['a slowdown within the spread of the rounds', [0.97, 1.02, 0.95, 0.98, 0.96]],
  ['a single slow round', [1, 1.01, 0.6, 1, 0.99]],
  ['a version that is faster in each round', [1.1, 1.12, 1.09, 1.1, 1.11]],
])("the benchmark's comparison of two server versions accepts %s", (_case, ratios) => {
  expect(isBelowSpread(ratios)).toBe(false);
});
