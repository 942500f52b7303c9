import { type Change, type Finding, foldFindings, isUnused } from './change.ts';
import { compareOperations } from './compare-operations.ts';
import { alignPrefixes } from './compare-servers.ts';
import { type Part, partAt, partsAt, tell } from './comparison.ts';
import { exists, type Located, type OpenApiDocument, rootOf } from './document.ts';
import { isObject, isSame, type Json, memberOf } from './json.ts';
import type { Level } from './rules.ts';
import { beginComparison } from './schema/compare-schemas.ts';
import { readShape } from './schema/read-shape.ts';
import type { SchemaReader } from './schema/shape.ts';
import { identityOf } from './schema/write-schema.ts';
import { quote } from './sentence.ts';

/** The differences between two documents from a client's point of view. */
export interface Difference {
  base: string;
  head: string;
  counts: Record<Level, number>;
  /** The number of changes that the accept file accepts. `counts` does not include these changes. */
  accepted: number;
  /**
   * The number of breaking and risky changes that affect no client in the usage document. `counts` does not include
   * these changes.
   */
  unused: number;
  /** The number of changed descriptions, summaries, titles, examples and tags. Clients do not depend on these texts. */
  descriptions: number;
  changes: Change[];
}

export function compareDocuments(oldDocument: OpenApiDocument, newDocument: OpenApiDocument): Difference {
  const [base, head] = alignPrefixes(oldDocument, newDocument).map(rootOf) as [Located, Located];
  const findings: Finding[] = [];
  const report = (finding: Finding) => findings.push(finding);
  const schemas = {
    request: beginComparison(base, head, 'request'),
    response: beginComparison(base, head, 'response'),
  };
  const comparison = { report, schemas };
  const root = { comparison, base, head, operation: '', where: '', isReceived: false, isError: false };
  compareOperations(root);
  compareSchemaNames(root);
  const changes = foldFindings(findings);
  const descriptions = countDescriptions(base.value, head.value);
  return { base: oldDocument.name, head: newDocument.name, ...countLevels(changes), descriptions, changes };
}

/**
 * Compares the names of schemas. Requests and responses do not contain these names, but generated clients use them as
 * type names.
 */
function compareSchemaNames(root: Part): void {
  const { base, head } = root.comparison.schemas.response;
  const identityAt = (reader: SchemaReader, schema: Located) => identityOf(reader, readShape(reader, [schema]));
  const all = partsAt(partAt(root, 'components'), 'schemas');
  const added = all.filter(([, one]) => !exists(one.base));
  for (const [name, schema] of all) {
    if (exists(schema.head) || !exists(schema.base)) continue;
    const identity = identityAt(base, schema.base);
    const renamed = added.find(([, other]) => identityAt(head, other.head) === identity);
    const message = `The schema ${quote(name)} is ${renamed ? `now called ${quote(renamed[0])}` : 'gone'}.`;
    tell({ ...schema, head: (renamed?.[1] ?? schema).head }, 'schema-name-removed', message);
  }
}

/** Counts the changes of each level. Counts the accepted and the unused changes separately. */
export function countLevels(changes: readonly Change[]): Pick<Difference, 'counts' | 'accepted' | 'unused'> {
  const counts = { breaking: 0, risky: 0, additive: 0 };
  let [accepted, unused] = [0, 0];
  for (const change of changes) {
    if (change.accepted !== undefined) accepted += 1;
    else if (isUnused(change)) unused += 1;
    else counts[change.level] += 1;
  }
  return { counts, accepted, unused };
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
    // A field of a schema may have the name `title`. The value is then a schema and not a descriptive text.
    const isDescriptive =
      descriptive.has(key) && !(isObject(one ?? other ?? null) && key !== 'example' && key !== 'examples');
    if (isDescriptive) count += isSame(one, other) ? 0 : 1;
    else count += countDescriptions(one, other);
  }
  return count;
}
