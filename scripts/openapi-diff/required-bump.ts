import type { Difference } from './change.ts';

const parts = ['major', 'minor', 'patch'] as const;
type Part = (typeof parts)[number];

/** Returns which part of the version number (semver.org) must increase in a release with these differences. */
export function requiredBump({ counts }: Difference): Part {
  if (counts.breaking > 0) return 'major';
  return counts.risky + counts.additive > 0 ? 'minor' : 'patch';
}

/** Whether the version `to` increases this part of the version `from`, or a higher part. */
export function isRaisedBy(part: Part, from: string, to: string): boolean {
  const [before, after] = [from, to].map(version => version.split('-')[0]?.split('.').map(Number) ?? []);
  const n = parts.findIndex((_, index) => before?.[index] !== after?.[index]);
  return n !== -1 && n <= parts.indexOf(part) && (after?.[n] ?? 0) > (before?.[n] ?? 0);
}
