import { isSerious, type Report } from '../change.ts';
import type { RuleId } from '../rules/rules.ts';
import type { SchemaReader } from './read-shape.ts';
import type { Direction, Fragment, Shape } from './shape.ts';

/** The place of a value in the API, and the value's name in sentences. */
export interface Site {
  operation: string;
  where: string;
  field: string;
  subject: string;
  /** Whether the value is in an error response. Clients depend on `error.key` in it. */
  isError: boolean;
}

export interface SchemaComparison {
  direction: Direction;
  base: SchemaReader;
  head: SchemaReader;
  report: Report;
  /** The pairs of schemas that are known to be equal. A schema that many operations share is compared only once. */
  equal: Set<string>;
}

/** A walk through the schema of a body or a parameter and all schemas in it. */
export interface Walk {
  comparison: SchemaComparison;
  /**
   * The number of visits of each pair. `entered` has the pairs of the current path, because a schema may contain
   * itself.
   */
  times: Map<string, number>;
  entered: Set<string>;
  found: number;
  /** Compares a pair of schemas that is part of the pair in `within`. */
  enter(within: Step, site: Site, base: Fragment, head: Fragment): void;
  enterShapes(within: Step, site: Site, base: Shape, head: Shape): void;
}

/** A pair of schemas on the walk, with the pairs inside it. */
export interface Step {
  site: Site;
  base: Shape;
  head: Shape;
  within: Step[];
  /** Whether this pair, or a pair inside it, has a breaking or risky finding. */
  isExplained: boolean;
  /** The unfinished pairs that this pair leads back to through a recursive schema. */
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

/** Reports that two schemas may be incompatible, although no specific rule found a difference. */
export function reportUnexplained(walk: Walk, step: Step): void {
  const { subject } = step.site;
  if (walk.comparison.direction === 'request') {
    report(walk, step, 'request-schema-narrowed', `The schema of ${subject} may refuse old values.`);
  } else {
    report(walk, step, 'response-schema-widened', `The schema of ${subject} may allow new values.`);
  }
}
