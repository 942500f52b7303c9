import type { Report } from '../change.ts';
import type { Located } from '../document.ts';
import { sentence } from '../json.ts';
import { compareFields, compareItems } from './compare-children.ts';
import { audit, compareRest } from './compare-rest.ts';
import { compareLimits, compareValues } from './compare-values.ts';
import { compareDiscriminators, compareVariants } from './compare-variants.ts';
import { isSerious, nameAt, pairOf, type SchemaComparison, type SchemaPair } from './pair.ts';
import { readShape } from './read-shape.ts';
import type { Direction, Fragment, SchemaReader, Shape } from './shape.ts';

export function beginComparison(base: Located, head: Located, direction: Direction): SchemaComparison {
  const marker = direction === 'request' ? 'readOnly' : 'writeOnly';
  const readerOf = (root: Located): SchemaReader => {
    const isUsed = JSON.stringify(root.value).includes(`"${marker}":true`);
    return { root, shapes: new Map(), marker: isUsed ? marker : undefined };
  };
  return { direction, base: readerOf(base), head: readerOf(head), pairs: new Map(), answers: new Map() };
}

/** The place of a whole body or parameter in the API. */
export interface Root {
  operation: string;
  where: string;
  subject: string;
  /** Whether the value is part of an error response. A changed value of `error.key` then has its own rules. */
  isError: boolean;
  isAlwaysSent: boolean;
  report: Report;
}

interface Visit {
  pair: SchemaPair;
  subject: string;
  /** The path of the field, starting at the body, such as `data[].title`. */
  field: string;
  isAlwaysSent: boolean;
  outer: Visit | undefined;
}

/** The maximum number of fields of one body that the comparison reports if they have the same changed schema. */
const mostTimes = 16;

/**
 * After this number of visits, the comparison visits each pair of schemas only once, because in some documents most
 * schemas refer to most others. The output then lists every change, but not every place of a change.
 */
const manyVisits = 60;

/**
 * Reports the changes of a body or a parameter, the shortest paths of fields first. Compares each pair of schemas only
 * once, even if many operations share the pair.
 */
export function compareSchemas(comparison: SchemaComparison, root: Root, base: Fragment, head: Fragment): void {
  const pair = pairOf(comparison, readShape(comparison.base, base), readShape(comparison.head, head));
  const { subject, isAlwaysSent } = root;
  const visits: Visit[] = isChanged(pair) ? [{ pair, subject, field: '', isAlwaysSent, outer: undefined }] : [];
  const times = new Map<SchemaPair, number>();
  // The loop also visits the pairs that are added to the list while the loop runs.
  for (const visit of visits) {
    visit.pair.isVisited = true;
    reportAt(root, visit);
    for (const { pair, place } of visit.pair.inner) {
      if (!isChanged(pair) || (visits.length >= manyVisits && pair.isVisited)) continue;
      const count = times.get(pair) ?? 0;
      if (count >= mostTimes || isWithin(visit, pair)) continue;
      if (visits.length >= manyVisits) pair.isVisited = true;
      times.set(pair, count + 1);
      const field = joinFields(visit.field, place.field);
      const isAlwaysSent = place.isAlwaysSent ?? visit.isAlwaysSent;
      visits.push({ pair, subject: nameAt(place, visit.subject), field, isAlwaysSent, outer: visit });
    }
  }
}

/** Whether the path to this visit already contains the pair, because a schema contains itself. */
function isWithin(visit: Visit, pair: SchemaPair): boolean {
  for (let one: Visit | undefined = visit; one !== undefined; one = one.outer) if (one.pair === pair) return true;
  return false;
}

function reportAt({ operation, where, isError, report }: Root, visit: Visit): void {
  const isErrorKey = isError && visit.field === 'error.key';
  for (const { message, field, only, ...finding } of visit.pair.findings) {
    if (only === (isErrorKey ? 'no error key' : 'error key') || (only === 'optional' && visit.isAlwaysSent)) continue;
    const text = sentence(message(visit.subject));
    report({ ...finding, message: text, field: joinFields(visit.field, field), operation, where });
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
    compareVariants(pair, isSafe);
  } else {
    compareLimits(pair);
    if (base.kinds.includes('object') && head.kinds.includes('object')) compareFields(pair);
    if (base.kinds.includes('array') && head.kinds.includes('array')) compareItems(pair);
    compareRest(pair);
    audit(pair);
  }
  pair.state = 'compared';
}

function isChanged(pair: SchemaPair): boolean {
  return leadsTo(pair, 'isChanged', ({ findings }) => findings.length > 0);
}

/** The maximum depth of recursive calls of isSafe(). A deeper call returns false. */
const mostDepth = 24;
let depth = 0;

/**
 * Whether the head schema can replace the base schema without an effect on clients. Returns false if the comparison of
 * these schemas is already running, because a schema contains itself.
 */
function isSafe(comparison: SchemaComparison, base: Shape, head: Shape): boolean {
  if (depth >= mostDepth) return false;
  depth += 1;
  try {
    const isUnsafe = ({ state, findings }: SchemaPair) => state === 'begun' || findings.some(isSerious);
    return !leadsTo(pairOf(comparison, base, head), 'isUnsafe', isUnsafe);
  } finally {
    depth -= 1;
  }
}

/** Whether a test succeeds for a pair or for a pair inside it. Stores each final result in the property `answer`. */
function leadsTo(root: SchemaPair, answer: 'isChanged' | 'isUnsafe', test: (pair: SchemaPair) => boolean): boolean {
  if (root[answer] !== undefined) return root[answer];
  const visited = new Set([root]);
  // The loop also visits the pairs that are added to the list while the loop runs.
  for (const pair of visited) {
    if (pair[answer] === false) continue;
    compareOnce(pair);
    if (pair[answer] || test(pair)) {
      if (pair.state === 'compared') root[answer] = true;
      return true;
    }
    for (const { pair: inside } of pair.inner) visited.add(inside);
  }
  for (const pair of visited) pair[answer] = false;
  return false;
}
