import type { Change } from '../change.ts';
import type { Difference } from '../compare-documents.ts';
import { actionOf, groupOf, placesOf, summarize } from './phrases.ts';

export function formatText(difference: Difference): string {
  const head = `${difference.base} -> ${difference.head}\n${summarize(difference)}\n`;
  return [head, ...difference.changes.map(formatChange)].join('\n');
}

function formatChange(change: Change): string {
  const { rule, message, base, head } = change;
  const places = placesOf(change, '  - ');
  return `${groupOf(change).padEnd(8)}  ${rule}\n  ${message}${actionOf(change)}\n${places}  base ${base}\n  head ${head}\n`;
}
