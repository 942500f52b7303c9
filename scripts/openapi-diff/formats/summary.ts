import type { Difference } from '../compare-documents.ts';
import { levels } from '../rules/rule.ts';

/** Summarizes the differences: `2 breaking, 1 additive; 3 descriptions or examples differ`. */
export function summarize({ counts, accepted, descriptions }: Difference): string {
  const found = levels.filter(level => counts[level] > 0).map(level => `${counts[level]} ${level}`);
  if (accepted > 0) found.push(`${accepted} accepted`);
  const changes = found.length > 0 ? found.join(', ') : 'No change that a client can see';
  if (descriptions === 0) return changes;
  return `${changes}; ${descriptions} ${descriptions === 1 ? 'description or example differs' : 'descriptions or examples differ'}`;
}
