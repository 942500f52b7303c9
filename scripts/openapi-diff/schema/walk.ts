import { isSerious, type Report } from '../change.ts';
import type { RuleId } from '../rules/rules.ts';
import type { SchemaReader } from './read-shape.ts';
import type { Direction, Fragment, Shape } from './shape.ts';

/** Where a value shows, and what a sentence calls it. */
export interface Site {
  operation: string;
  where: string;
  field: string;
  subject: string;
  /** Whether it is in the answer of an error, where `error.key` is what clients rely on. */
  isError: boolean;
}

/** The comparison of the schemas of two documents in one direction. */
export interface SchemaComparison {
  direction: Direction;
  base: SchemaReader;
  head: SchemaReader;
  report: Report;
  /** Pairs that are known to be equal, so that what is shared by many operations is compared once. */
  equal: Set<string>;
}

/** One walk from a body or a parameter to all that it contains. */
export interface Walk {
  comparison: SchemaComparison;
  /** How often each pair was entered, and which are entered now: a schema may contain itself. */
  times: Map<string, number>;
  entered: Set<string>;
  found: number;
  /** Goes on into a pair within the step. */
  enter(within: Step, site: Site, base: Fragment, head: Fragment): void;
  enterShapes(within: Step, site: Site, base: Shape, head: Shape): void;
}

/** A pair of schemas on the walk, and the pairs within it. */
export interface Step {
  site: Site;
  base: Shape;
  head: Shape;
  within: Step[];
  /** Whether something was found, here or within, that a client may have to act on. */
  isExplained: boolean;
  /** The pairs around this one, or walked through before it, of which it is a part by what it contains. */
  parts: Set<string>;
}

export function report(
  walk: Walk,
  step: Step,
  rule: RuleId,
  message: string,
  at?: { base?: string; head?: string },
): void {
  const { operation, where, field } = step.site;
  const { pointer: base } = step.base;
  const { pointer: head } = step.head;
  const finding = { rule, message, operation, where, field, base, head, ...at };
  walk.found += 1;
  if (isSerious(finding)) step.isExplained = true;
  walk.comparison.report(finding);
}

/** Says that something may be wrong, where it cannot be said what. */
export function reportUnexplained(walk: Walk, step: Step): void {
  const { subject } = step.site;
  if (walk.comparison.direction === 'request') {
    report(walk, step, 'request-schema-narrowed', `The schema of ${subject} may refuse what it took.`);
  } else {
    report(walk, step, 'response-schema-widened', `The schema of ${subject} may allow what it did not.`);
  }
}
