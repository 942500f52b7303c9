import { isObject, isSame, type Json, memberOf } from './json.ts';

const descriptive = new Set(['description', 'summary', 'title', 'example', 'examples', 'tags', 'externalDocs']);

/** Counts the descriptive texts that differ. Compares only places that both documents have. */
export function countDescriptions(base: Json | undefined, head: Json | undefined): number {
  if (Array.isArray(base) && Array.isArray(head)) {
    return base.reduce<number>((sum, one, n) => sum + countDescriptions(one, head[n]), 0);
  }
  if (!isObject(base) || !isObject(head)) return 0;
  let count = 0;
  for (const key of new Set([...Object.keys(base), ...Object.keys(head)])) {
    const [one, other] = [memberOf(base, key), memberOf(head, key)];
    // A schema may have a field with the name `title`. The value is then a schema and not a text.
    const isDescriptive =
      descriptive.has(key) && !(isObject(one ?? other ?? null) && key !== 'example' && key !== 'examples');
    if (isDescriptive) count += isSame(one, other) ? 0 : 1;
    else count += countDescriptions(one, other);
  }
  return count;
}
