import { type Change, type Finding, foldFindings } from './change.ts';
import { compareOperations } from './compare-operations.ts';
import { compareSchemaNames } from './compare-schema-names.ts';
import { alignPrefixes } from './compare-servers.ts';
import type { Comparison } from './comparison.ts';
import type { OpenApiDocument } from './document.ts';
import { isObject, isSame, type Json, memberOf } from './json.ts';
import type { Level } from './rules/rule.ts';
import { beginComparisons } from './schema/compare-schemas.ts';

/** The differences between two documents from a client's point of view. */
export interface Difference {
  base: string;
  head: string;
  counts: Record<Level, number>;
  /** The number of changes that the accept file accepts. `counts` does not include them. */
  accepted: number;
  /** The number of changed descriptions, summaries, titles, examples and tags. Clients do not depend on them. */
  descriptions: number;
  changes: Change[];
}

export function compareDocuments(oldDocument: OpenApiDocument, newDocument: OpenApiDocument): Difference {
  const [base, head] = alignPrefixes(oldDocument, newDocument);
  const findings: Finding[] = [];
  const report = (finding: Finding) => findings.push(finding);
  const comparison: Comparison = { base, head, report, schemas: beginComparisons(base, head) };
  compareOperations(comparison);
  compareSchemaNames(comparison);
  const changes = foldFindings(findings);
  const descriptions = countDescriptions(base.root.value, head.root.value);
  return { base: base.name, head: head.name, ...countLevels(changes), descriptions, changes };
}

/** Counts the changes of each level, without the accepted changes. */
export function countLevels(changes: readonly Change[]): Pick<Difference, 'counts' | 'accepted'> {
  const counts = { breaking: 0, risky: 0, additive: 0 };
  let accepted = 0;
  for (const change of changes) {
    if (change.accepted === undefined) counts[change.level] += 1;
    else accepted += 1;
  }
  return { counts, accepted };
}

const descriptive = new Set(['description', 'summary', 'title', 'example', 'examples', 'tags', 'externalDocs']);

/** Counts the descriptive texts that differ. Compares only places that both documents have. */
function countDescriptions(base: Json | undefined, head: Json | undefined): number {
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
