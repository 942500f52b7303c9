import type { Difference } from '../compare-documents.ts';

/** For programs. Members are only ever added. */
export function formatJson(difference: Difference): string {
  return `${JSON.stringify(difference, null, 2)}\n`;
}
