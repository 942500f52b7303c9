import type { Shape } from './shape.ts';
import { hasSerious, pairOf, type SchemaComparison, type SchemaPair, type Site } from './walk.ts';

const anySite: Site = { subject: 'the value', field: '', errorPath: undefined, isAlwaysSent: false };

/** Whether two schemas, or the schemas inside them, have a finding. */
export function isChanged(comparison: SchemaComparison, pair: SchemaPair): boolean {
  if (pair.isChanged === undefined) findChanged(comparison, pair);
  return pair.isChanged === true;
}

/** Lists all pairs inside the pair, and marks the pairs with a finding inside them. */
function findChanged(comparison: SchemaComparison, pair: SchemaPair): void {
  const unknown = new Set([pair]);
  const changed: SchemaPair[] = [];
  const around = new Map<SchemaPair, SchemaPair[]>();
  // The loop also visits the pairs that it adds.
  for (const one of unknown) {
    const { findings, inner } = comparison.compare(one, anySite);
    // Frees memory, because most pairs have no findings. The walk repeats the comparison of a pair that has findings.
    one.steps.clear();
    one.isChanged = findings.length > 0 || inner.some(({ pair }) => pair.isChanged === true);
    if (one.isChanged) changed.push(one);
    for (const { pair } of inner) {
      if (pair.isChanged !== undefined && !unknown.has(pair)) continue;
      unknown.add(pair);
      const list = around.get(pair);
      if (list) list.push(one);
      else around.set(pair, [one]);
    }
  }
  for (const one of changed) {
    for (const outer of around.get(one) ?? []) {
      if (outer.isChanged === true) continue;
      outer.isChanged = true;
      changed.push(outer);
    }
  }
}

/** The maximum number of pairs that are compared to prove that a schema includes another schema. */
const mostPairs = 2_000;

/** The maximum depth of proofs within proofs. A deeper proof counts as failed. */
const mostDepth = 24;
let depth = 0;

/**
 * Whether no client notices if the head schema replaces the base schema. Proves this by comparing the two schemas and
 * all schemas in them.
 */
export function isSafe(comparison: SchemaComparison, base: Shape, head: Shape): boolean {
  const root = pairOf(comparison, base, head);
  if (root.isSafe !== undefined) return root.isSafe;
  if (depth >= mostDepth) return false;
  depth += 1;
  try {
    const visited = new Set([root]);
    for (const pair of visited) {
      if (pair.isSafe === true) continue;
      const step = comparison.compare(pair, anySite);
      // A schema that contains itself may need this proof for its own comparison, which is then incomplete.
      if (!step.isComplete) return false;
      if (pair.isSafe === false || visited.size > mostPairs || hasSerious(step)) {
        root.isSafe = false;
        return false;
      }
      for (const { pair } of step.inner) visited.add(pair);
    }
    root.isSafe = true;
    return true;
  } finally {
    depth -= 1;
  }
}
