import type { Report } from '../change.ts';
import type { OpenApiDocument } from '../document.ts';
import { sentence } from '../sentence.ts';
import { compareFields, compareItems } from './compare-children.ts';
import { compareDiscriminators } from './compare-discriminators.ts';
import { audit, compareRest } from './compare-rest.ts';
import { compareBounds, compareValues } from './compare-values.ts';
import { compareVariants } from './compare-variants.ts';
import { isSerious, nameAt, pairOf, type SchemaComparison, type SchemaPair } from './pair.ts';
import { readersOf, readShape } from './read-shape.ts';
import type { Direction, Fragment, Shape } from './shape.ts';

export function beginComparisons(base: OpenApiDocument, head: OpenApiDocument): Record<Direction, SchemaComparison> {
  const [before, after] = [readersOf(base), readersOf(head)];
  const begin = (direction: Direction): SchemaComparison => {
    const comparison: SchemaComparison = {
      direction,
      base: before[direction],
      head: after[direction],
      pairs: new Map(),
      answers: new Map(),
      isSafe: (old, other) => isSafe(comparison, old, other),
    };
    return comparison;
  };
  return { request: begin('request'), response: begin('response') };
}

/** The place of a whole body or parameter in the API. */
export interface Root {
  operation: string;
  where: string;
  subject: string;
  /** Whether the value is in an error response. Clients depend on `error.key` in it. */
  isError: boolean;
  isAlwaysSent: boolean;
}

interface Visit {
  pair: SchemaPair;
  subject: string;
  /** The field from the start of the body, such as `data[].title`. */
  field: string;
  isAlwaysSent: boolean;
  outer: Visit | undefined;
}

/** The maximum number of reported fields of one body with the same changed schema. */
const mostTimes = 16;

/**
 * After this number of visits, visits each pair of schemas only once. In some documents, most schemas refer to most
 * others. The output then lists every change, but not every place of a change.
 */
const manyVisits = 60;

/**
 * Reports the changes of a body or a parameter, each at its shortest path. Compares each pair of schemas only once, even
 * if many operations share the pair.
 */
export function compareSchemas(
  comparison: SchemaComparison,
  root: Root,
  report: Report,
  base: Fragment,
  head: Fragment,
): void {
  const pair = pairOf(comparison, readShape(comparison.base, base), readShape(comparison.head, head));
  const { subject, isAlwaysSent } = root;
  const visits: Visit[] = isChanged(pair) ? [{ pair, subject, field: '', isAlwaysSent, outer: undefined }] : [];
  const times = new Map<SchemaPair, number>();
  // The loop also visits the pairs that it adds.
  for (const visit of visits) {
    visit.pair.isVisited = true;
    reportAt(root, report, visit);
    for (const { pair, place } of visit.pair.inner) {
      if (!isChanged(pair) || (visits.length >= manyVisits && pair.isVisited)) continue;
      const count = times.get(pair) ?? 0;
      if (count >= mostTimes || isWithin(visit, pair)) continue;
      if (visits.length >= manyVisits) pair.isVisited = true;
      times.set(pair, count + 1);
      const isAlternative = place.kind === 'alternative';
      visits.push({
        pair,
        subject: nameAt(place, visit.subject),
        field: joinFields(visit.field, place.field),
        isAlwaysSent: isAlternative ? visit.isAlwaysSent : place.isAlwaysSent,
        outer: visit,
      });
    }
  }
}

/** Whether the comparison of a pair runs inside a comparison of the same pair, because a schema can contain itself. */
function isWithin(visit: Visit, pair: SchemaPair): boolean {
  for (let one: Visit | undefined = visit; one !== undefined; one = one.outer) if (one.pair === pair) return true;
  return false;
}

function reportAt({ operation, where, isError }: Root, report: Report, visit: Visit): void {
  const isErrorKey = isError && visit.field === 'error.key';
  for (const { rule, message, field, base, head, only } of visit.pair.findings) {
    if (only === (isErrorKey ? 'no error key' : 'error key') || (only === 'optional' && visit.isAlwaysSent)) continue;
    const text = sentence(message(visit.subject));
    report({ rule, message: text, field: joinFields(visit.field, field), base, head, operation, where });
  }
}

function joinFields(outer: string, inner: string): string {
  return outer === '' || inner === '' || inner.startsWith('[') ? `${outer}${inner}` : `${outer}.${inner}`;
}

/** Compares two schemas, but not the schemas inside them. */
function compareOnce(pair: SchemaPair): void {
  if (pair.state !== 'new') return;
  const { base, head } = pair;
  pair.state = 'begun';
  compareValues(pair);
  compareDiscriminators(pair);
  if (base.variants.length > 0 || head.variants.length > 0) {
    compareVariants(pair);
  } else {
    compareBounds(pair);
    if (base.kinds.includes('object') && head.kinds.includes('object')) compareFields(pair);
    if (base.kinds.includes('array') && head.kinds.includes('array')) compareItems(pair);
    compareRest(pair);
    audit(pair);
  }
  pair.state = 'compared';
}

/** Whether two schemas, or the schemas inside them, have a finding. */
function isChanged(pair: SchemaPair): boolean {
  if (pair.isChanged === undefined) findChanged(pair);
  return pair.isChanged === true;
}

/** Compares all pairs of schemas inside the given pair. Marks the pairs that have a finding inside them. */
function findChanged(pair: SchemaPair): void {
  const unknown = new Set([pair]);
  const changed: SchemaPair[] = [];
  const around = new Map<SchemaPair, SchemaPair[]>();
  // The loop also visits the pairs that it adds.
  for (const one of unknown) {
    compareOnce(one);
    one.isChanged = one.findings.length > 0 || one.inner.some(({ pair }) => pair.isChanged === true);
    if (one.isChanged) changed.push(one);
    for (const { pair } of one.inner) {
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

/** The maximum nesting of proofs: a proof may need other proofs. A deeper proof counts as failed. */
const mostDepth = 24;
let depth = 0;

/**
 * Whether no client notices if the head schema replaces the base schema. Proves this by comparing the two schemas and
 * all schemas in them.
 */
function isSafe(comparison: SchemaComparison, base: Shape, head: Shape): boolean {
  const root = pairOf(comparison, base, head);
  if (root.isSafe !== undefined) return root.isSafe;
  if (depth >= mostDepth) return false;
  depth += 1;
  try {
    const visited = new Set([root]);
    for (const pair of visited) {
      if (pair.isSafe === true) continue;
      compareOnce(pair);
      // Does not store the result: a schema that contains itself may need this proof for its own comparison, which is
      // not complete yet.
      if (pair.state === 'begun') return false;
      if (pair.isSafe === false || visited.size > mostPairs || pair.findings.some(isSerious)) {
        root.isSafe = false;
        return false;
      }
      for (const { pair: inside } of pair.inner) visited.add(inside);
    }
    root.isSafe = true;
    return true;
  } finally {
    depth -= 1;
  }
}
