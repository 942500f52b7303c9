import type { Report } from '../change.ts';
import type { OpenApiDocument } from '../document.ts';
import { compareBounds } from './compare-bounds.ts';
import { compareDiscriminators } from './compare-discriminators.ts';
import { compareFields } from './compare-fields.ts';
import { compareItems } from './compare-items.ts';
import { compareRest } from './compare-rest.ts';
import { compareValues } from './compare-values.ts';
import { compareVariants } from './compare-variants.ts';
import { isCompatible } from './is-compatible.ts';
import { isChanged, isSafe } from './reach.ts';
import { readShape, type SchemaReader } from './read-shape.ts';
import type { Direction, Fragment, Shape } from './shape.ts';
import {
  hasSerious,
  joinFields,
  pairOf,
  reportUnexplained,
  type SchemaComparison,
  type SchemaPair,
  type Site,
  type Step,
} from './walk.ts';
import { writeLocally } from './write-schema.ts';

export function beginComparison(
  direction: Direction,
  base: OpenApiDocument,
  head: OpenApiDocument,
  report: Report,
): SchemaComparison {
  const reader = (document: OpenApiDocument): SchemaReader => ({ document, direction, shapes: new Map() });
  const schemas = { base: reader(base), head: reader(head) };
  const comparison: SchemaComparison = {
    direction,
    ...schemas,
    report,
    pairs: new Map(),
    answers: new Map(),
    compare: (pair, site) => compareOnce(comparison, pair, site),
    isSafe: (base, head) => isSafe(comparison, base, head),
  };
  return comparison;
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
  site: Site;
  outer: Visit | undefined;
}

/** The maximum number of fields of one body whose schemas are reported, if the fields have the same changed schema. */
const mostTimes = 16;

/**
 * After this number of visits, a walk visits only new pairs of schemas. In some documents, most schemas lead to most
 * others. The walks then report every change, but not every place.
 */
const manyVisits = 60;

/**
 * Reports the changes of a body or a parameter, each at its shortest path. Compares each pair of schemas only once, even
 * if many operations share the pair.
 */
export function compareSchemas(comparison: SchemaComparison, root: Root, base: Fragment, head: Fragment): void {
  const pair = pairOf(comparison, readShape(comparison.base, base), readShape(comparison.head, head));
  const { subject, isError, isAlwaysSent } = root;
  const site = { subject, field: '', errorPath: isError ? '' : undefined, isAlwaysSent };
  const visits: Visit[] = isChanged(comparison, pair) ? [{ pair, site, outer: undefined }] : [];
  const times = new Map<SchemaPair, number>();
  for (const visit of visits) {
    const step = comparison.compare(visit.pair, visit.site);
    visit.pair.isVisited = true;
    if (step.findings.length > 0) reportAt(comparison, root, visit, step);
    for (const { pair, site } of step.inner) {
      if (!isChanged(comparison, pair) || (visits.length >= manyVisits && pair.isVisited)) continue;
      const count = times.get(pair) ?? 0;
      if (count >= mostTimes || isWithin(visit, pair)) continue;
      if (visits.length >= manyVisits) pair.isVisited = true;
      times.set(pair, count + 1);
      visits.push({ pair, site, outer: visit });
    }
  }
}

/** Whether a visit is inside a visit of the same pair. A schema may contain itself. */
function isWithin(visit: Visit, pair: SchemaPair): boolean {
  for (let one: Visit | undefined = visit; one !== undefined; one = one.outer) if (one.pair === pair) return true;
  return false;
}

function reportAt(comparison: SchemaComparison, { operation, where }: Root, visit: Visit, { findings }: Step): void {
  let field = '';
  for (let one: Visit | undefined = visit; one !== undefined; one = one.outer)
    field = joinFields(one.site.field, field);
  for (const one of findings) {
    comparison.report({ ...one, operation, where, field: joinFields(field, one.field) });
  }
}

function compareOnce(comparison: SchemaComparison, pair: SchemaPair, site: Site): Step {
  const key = `${site.subject}\n${site.errorPath}\n${site.isAlwaysSent}`;
  const known = pair.steps.get(key);
  if (known) return known;
  const { base, head } = pair;
  const step: Step = {
    comparison,
    site: { ...site, field: '' },
    base,
    head,
    findings: [],
    inner: [],
    isComplete: false,
  };
  pair.steps.set(key, step);
  compareValues(step);
  compareDiscriminators(step);
  if (base.variants.length > 0 || head.variants.length > 0) {
    compareVariants(step);
  } else {
    compareBounds(step);
    if (base.kinds.includes('object') && head.kinds.includes('object')) compareFields(step);
    if (base.kinds.includes('array') && head.kinds.includes('array')) compareItems(step);
    compareRest(step);
    if (!hasSerious(step)) audit(step);
  }
  step.isComplete = true;
  return step;
}

/**
 * Checks the verdict of the rules with the library jsoncompat. If the rules find no breaking or risky change, the
 * library must find the two schemas compatible. Other comparisons check the schemas of their fields and items.
 */
function audit(step: Step): void {
  const { base, head, comparison } = step;
  const isForbidden = (shape: Shape, name: string) => shape.required.has(name) && !shape.properties.has(name);
  const names = [...new Set([base, head].flatMap(one => [...one.properties.keys(), ...one.required]))].filter(
    name =>
      base.properties.has(name) !== head.properties.has(name) ||
      base.required.has(name) !== head.required.has(name) ||
      isForbidden(base, name),
  );
  const [before, after] = [base, head].map(shape => writeLocally(withFields(shape, names)));
  if (isCompatible(comparison, before ?? {}, after ?? {}) === false) reportUnexplained(step);
}

/**
 * Returns a schema with some of its fields, under numbers instead of their names. Many changes then give the same
 * schemas, so that the library has fewer questions to answer.
 */
function withFields(shape: Shape, names: readonly string[]): Shape {
  const numbered = names.map((name, n): [string, string] => [name, `field ${n}`]);
  const [fields, needed] = [shape.properties, shape.required].map(all => numbered.filter(([name]) => all.has(name)));
  return {
    ...shape,
    patterned: new Map(),
    properties: new Map(fields?.map(([, number]): [string, Fragment] => [number, []])),
    required: new Set(needed?.map(([, number]) => number)),
  };
}
