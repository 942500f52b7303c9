import { isSerious, type Report } from '../change.ts';
import type { RuleId } from '../rules/rules.ts';
import type { SchemaReader } from './read-shape.ts';
import type { Direction, Fragment, Shape } from './shape.ts';

/** The place of a value, and its name in sentences. */
export interface Site {
  operation: string;
  where: string;
  field: string;
  subject: string;
  /** Whether it is in an error response. Clients depend on its `error.key`. */
  isError: boolean;
}

/** The comparison of the schemas of two documents in one direction. */
export interface SchemaComparison {
  direction: Direction;
  base: SchemaReader;
  head: SchemaReader;
  report: Report;
  /** Pairs that are known to be equal. Schemas of many operations are compared only once. */
  equal: Set<string>;
}

/** One walk from a body or a parameter through its contents. */
export interface Walk {
  comparison: SchemaComparison;
  /** The number of visits of each pair, and the pairs of the current path. A schema may contain itself. */
  times: Map<string, number>;
  entered: Set<string>;
  found: number;
  /** Visits a pair within the step. */
  enter(within: Step, site: Site, base: Fragment, head: Fragment): void;
  enterShapes(within: Step, site: Site, base: Shape, head: Shape): void;
}

/** A pair of schemas on the walk, and the pairs within it. */
export interface Step {
  site: Site;
  base: Shape;
  head: Shape;
  within: Step[];
  /** Whether this pair or its contents have a severe finding. */
  isExplained: boolean;
  /** The pairs that contain this one, also through a recursive schema. */
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

/** Reports a possible problem without a specific rule. */
export function reportUnexplained(walk: Walk, step: Step): void {
  const { subject } = step.site;
  if (walk.comparison.direction === 'request') {
    report(walk, step, 'request-schema-narrowed', `The schema of ${subject} may refuse old values.`);
  } else {
    report(walk, step, 'response-schema-widened', `The schema of ${subject} may allow new values.`);
  }
}
