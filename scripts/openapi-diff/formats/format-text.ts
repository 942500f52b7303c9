import type { Change } from '../change.ts';
import type { Difference } from '../compare-documents.ts';
import { actionOf, placesOf, summarize } from './phrases.ts';

export function formatText(difference: Difference): string {
  const head = `${difference.base} -> ${difference.head}\n${summarize(difference)}\n`;
  return [head, ...difference.changes.map(formatChange)].join('\n');
}

function formatChange(change: Change): string {
  const lines = [
    `${change.level.padEnd(8)}  ${change.rule}`,
    `  ${change.message}${actionOf(change)}`,
    ...placesOf(change).map(place => `  - ${place}`),
    `  base ${change.base}`,
    `  head ${change.head}`,
  ];
  return `${lines.join('\n')}\n`;
}
