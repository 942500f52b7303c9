import type { Report } from '../change.ts';
import { type RuleId, rules } from '../rules/rules.ts';
import { quote } from '../sentence.ts';
import { readShape, type SchemaReader } from './read-shape.ts';
import type { Direction, Fragment, Shape } from './shape.ts';

/** The value's name in sentences, and its field relative to the outer pair of schemas. */
export interface Site {
  subject: string;
  field: string;
  /** In an error response: the field from the start of the body, if it is the beginning of `error.key`. */
  errorPath: string | undefined;
  /** Whether the value is never missing, so that its default has no effect. */
  isAlwaysSent: boolean;
}

export interface SchemaComparison {
  direction: Direction;
  base: SchemaReader;
  head: SchemaReader;
  report: Report;
  pairs: Map<Shape, Map<Shape, SchemaPair>>;
  /** The answers of the library jsoncompat by their questions. */
  answers: Map<string, boolean>;
  /** Compares two schemas without their children. */
  compare(pair: SchemaPair, site: Site): Step;
  /** Whether no client notices if the second schema replaces the first one. */
  isSafe(base: Shape, head: Shape): boolean;
}

/** A schema in the base document and its counterpart in the head document. */
export interface SchemaPair {
  base: Shape;
  head: Shape;
  /** The comparisons of this pair, by subject. The subject is part of the messages. */
  steps: Map<string, Step>;
  /** Whether this pair, or a pair inside it, has a finding. Undefined if not known yet. */
  isChanged: boolean | undefined;
  /** Whether neither this pair nor a pair inside it has a breaking or risky finding. Undefined if not known yet. */
  isSafe: boolean | undefined;
  /** Whether a walk has reported the findings of this pair. */
  isVisited: boolean;
}

/** The comparison of one pair of schemas, with the pairs of their children. */
export interface Step {
  comparison: SchemaComparison;
  site: Site;
  base: Shape;
  head: Shape;
  findings: LocalFinding[];
  inner: { pair: SchemaPair; site: Site }[];
  isComplete: boolean;
}

/** A finding with its field relative to the pair of schemas. */
interface LocalFinding {
  rule: RuleId;
  message: string;
  field: string;
  base: string;
  head: string;
}

export function report(step: Step, rule: RuleId, message: string, at?: { base?: string; head?: string }): void {
  const { pointer: base } = step.base;
  const { pointer: head } = step.head;
  step.findings.push({ rule, message, field: step.site.field, base, head, ...at });
}

/** Adds a pair of child schemas to the comparison. */
export function enter(step: Step, site: Site, base: Fragment, head: Fragment): void {
  const { comparison } = step;
  enterShapes(step, site, readShape(comparison.base, base), readShape(comparison.head, head));
}

export function enterShapes(step: Step, site: Site, base: Shape, head: Shape): void {
  step.inner.push({ pair: pairOf(step.comparison, base, head), site });
}

export function pairOf({ pairs }: SchemaComparison, base: Shape, head: Shape): SchemaPair {
  let partners = pairs.get(base);
  if (partners === undefined) {
    partners = new Map();
    pairs.set(base, partners);
  }
  let pair = partners.get(head);
  if (pair === undefined) {
    pair = { base, head, steps: new Map(), isChanged: undefined, isSafe: undefined, isVisited: false };
    partners.set(head, pair);
  }
  return pair;
}

/** Returns the site of a field. */
export function siteOf(site: Site, name: string, isAlwaysSent: boolean): Site {
  return {
    subject: quote(name),
    field: joinFields(site.field, name),
    errorPath: errorPathOf(site, name),
    isAlwaysSent,
  };
}

function errorPathOf({ errorPath }: Site, name: string): string | undefined {
  const path = errorPath === undefined ? undefined : joinFields(errorPath, name);
  return path === 'error' || path === 'error.key' ? path : undefined;
}

export function joinFields(outer: string, inner: string): string {
  return outer === '' || inner === '' || inner.startsWith('[') ? `${outer}${inner}` : `${outer}.${inner}`;
}

/** Whether the pair of schemas has a breaking or risky finding of its own. */
export function hasSerious({ findings }: Step): boolean {
  return findings.some(({ rule }) => rules[rule].level !== 'additive');
}

/** Reports that two schemas may be incompatible, although no specific rule found a difference. */
export function reportUnexplained(step: Step): void {
  const { subject } = step.site;
  if (step.comparison.direction === 'request') {
    report(step, 'request-schema-narrowed', `The schema of ${subject} may refuse old values.`);
  } else {
    report(step, 'response-schema-widened', `The schema of ${subject} may allow new values.`);
  }
}

/** Reports that every value of the sender's schema is also a value of the receiver's schema. */
export function reportSafe(step: Step): void {
  const { subject } = step.site;
  if (step.comparison.direction === 'request') {
    report(step, 'request-schema-widened', `The schema of ${subject} accepts all old values, and maybe more.`);
  } else {
    report(step, 'response-schema-narrowed', `The schema of ${subject} allows only old values.`);
  }
}
