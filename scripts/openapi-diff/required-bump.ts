import type { Difference } from './compare-documents.ts';

const parts = ['major', 'minor', 'patch'] as const;
type Part = (typeof parts)[number];

/** Returns the part of the version number (semver.org) that a release with these differences must raise. */
export function requiredBump({ counts }: Difference): Part {
  if (counts.breaking > 0) return 'major';
  return counts.risky + counts.additive > 0 ? 'minor' : 'patch';
}

/** Whether the step from one version to the other raises this part of the version number or a higher part. */
export function isRaisedBy(part: Part, from: string, to: string): boolean {
  const [before, after] = [from, to].map(version => version.split('-')[0]?.split('.').map(Number) ?? []);
  const n = parts.findIndex((_, index) => before?.[index] !== after?.[index]);
  return n !== -1 && n <= parts.indexOf(part) && (after?.[n] ?? 0) > (before?.[n] ?? 0);
}
