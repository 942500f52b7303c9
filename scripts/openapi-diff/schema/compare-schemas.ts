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
import { keyOf, readShape, type SchemaReader } from './read-shape.ts';
import type { Direction, Fragment, Shape } from './shape.ts';
import { reportUnexplained, type SchemaComparison, type Site, type Step, type Walk } from './walk.ts';
import { writeSchema } from './write-schema.ts';

export function beginComparison(
  direction: Direction,
  base: OpenApiDocument,
  head: OpenApiDocument,
  report: Report,
): SchemaComparison {
  const reader = (document: OpenApiDocument): SchemaReader => ({ document, direction, shapes: new Map() });
  return { direction, base: reader(base), head: reader(head), report, equal: new Set() };
}

export function compareSchemas(comparison: SchemaComparison, site: Site, base: Fragment, head: Fragment): void {
  const walk: Walk = {
    comparison,
    times: new Map(),
    entered: new Set(),
    found: 0,
    enter: (step, within, one, other) => enter(walk, step, within, one, other),
    enterShapes: (step, within, one, other) => enterShapes(walk, step, within, one, other),
  };
  const outermost = stepOf(site, readShape(comparison.base, base), readShape(comparison.head, head));
  enter(walk, outermost, site, base, head);
  for (const step of outermost.within) audit(walk, step);
  if (walk.found === 0) for (const key of walk.times.keys()) comparison.equal.add(key);
}

/**
 * The maximum number of times that a walk visits one pair of schemas. A report cannot name every field that uses a
 * widely shared schema.
 */
const mostTimes = 16;

function enter(walk: Walk, around: Step, site: Site, base: Fragment, head: Fragment): void {
  const { comparison, times, entered } = walk;
  const key = `${keyOf(comparison.base, base)}\n${keyOf(comparison.head, head)}`;
  if (comparison.equal.has(key)) return;
  const count = times.get(key) ?? 0;
  // The comparison of these two schemas is already running (they are recursive), or has run often enough.
  if (entered.has(key) || count >= mostTimes) {
    around.parts.add(key);
    return;
  }
  times.set(key, count + 1);
  entered.add(key);
  enterShapes(walk, around, site, readShape(comparison.base, base), readShape(comparison.head, head), key);
  entered.delete(key);
}

function enterShapes(walk: Walk, around: Step, site: Site, base: Shape, head: Shape, key = ''): void {
  const step = stepOf(site, base, head);
  compareValues(walk, step);
  compareDiscriminators(walk, step);
  if (base.variants.length > 0 || head.variants.length > 0) {
    compareVariants(walk, step);
  } else {
    compareBounds(walk, step);
    if (base.kinds.has('object') && head.kinds.has('object')) compareFields(walk, step);
    if (base.kinds.has('array') && head.kinds.has('array')) compareItems(walk, step);
    compareRest(walk, step);
  }
  step.parts.delete(key);
  around.within.push(step);
  around.isExplained ||= step.isExplained;
  for (const part of step.parts) around.parts.add(part);
}

function stepOf(site: Site, base: Shape, head: Shape): Step {
  return { site, base, head, within: [], isExplained: false, parts: new Set() };
}

/**
 * Searches for changes that the rules missed. If two schemas and all schemas inside them have no breaking or risky
 * finding, the library jsoncompat must find the two compatible. Otherwise, audits the schemas inside in the same way.
 */
function audit(walk: Walk, step: Step): void {
  if (step.isExplained || step.parts.size > 0) {
    for (const one of step.within) audit(walk, one);
    return;
  }
  const { comparison } = walk;
  const base = writeSchema(comparison.base, step.base);
  const head = writeSchema(comparison.head, step.head);
  if (!isCompatible(comparison.direction, base, head)) reportUnexplained(walk, step);
}
