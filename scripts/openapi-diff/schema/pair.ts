import { isObject, type Json } from '../json.ts';
import { type RuleId, rules } from '../rules/rules.ts';
import { quote } from '../sentence.ts';
import { readShape } from './read-shape.ts';
import type { Direction, Fragment, SchemaReader, Shape } from './shape.ts';

/** All comparisons of schemas in one direction. */
export interface SchemaComparison {
  direction: Direction;
  base: SchemaReader;
  head: SchemaReader;
  pairs: Map<Shape, SchemaPair[]>;
  /** The answers of the library jsoncompat by their questions. */
  answers: Map<string, boolean>;
  /** Whether no client notices if the second schema replaces the first one. */
  isSafe(base: Shape, head: Shape): boolean;
}

/**
 * A schema in the base document and its counterpart in the head document. The comparison visits each pair at most once.
 */
export interface SchemaPair {
  comparison: SchemaComparison;
  direction: Direction;
  base: Shape;
  head: Shape;
  state: 'new' | 'begun' | 'compared';
  /** The findings about this pair without the schemas inside it. */
  findings: LocalFinding[];
  inner: { pair: SchemaPair; place: Place }[];
  /** Whether this pair, or a pair inside it, has a finding. Undefined if not known yet. */
  isChanged: boolean | undefined;
  /** Whether neither this pair nor a pair inside it has a breaking or risky finding. Undefined if not known yet. */
  isSafe: boolean | undefined;
  /** Whether a walk has reported the findings of this pair. */
  isVisited: boolean;
}

/** A finding that is independent of the place of the pair in a body. */
interface LocalFinding {
  rule: RuleId;
  /** Returns the message about a value, with a name such as `the body`. */
  message: (subject: string) => string;
  /** The field relative to the pair of schemas. */
  field: string;
  base: string;
  head: string;
  /** The only values that the finding concerns: error keys (`error.key`), all other values, or values that may be missing. */
  only?: 'error key' | 'no error key' | 'optional';
}

/** The place of a value in its outer value. */
export interface Place {
  /**
   * The kind determines the name of the value in messages. An alternative of a union is the same value as the union.
   */
  kind: 'field' | 'any field' | 'item' | 'alternative';
  /** The field relative to the outer pair, such as `title`, `*` or `[]`. */
  field: string;
  /** Whether the value is never missing, so that its default has no effect. */
  isAlwaysSent: boolean;
}

/** Returns the name of a value for a message, made from the name of its outer value. */
export function nameAt({ kind, field }: Place, outer: string): string {
  if (kind === 'field') return quote(field);
  if (kind === 'any field') return `a value of ${outer}`;
  if (kind === 'item') return field === '[]' ? `an item of ${outer}` : `item ${field.slice(1, -1)} of ${outer}`;
  return outer;
}

/** Adds a finding. Its message is a function, or a text that continues the sentence after the name of the value. */
export function report(
  { findings, base, head }: SchemaPair,
  rule: RuleId,
  what: string | ((subject: string) => string),
  at: Partial<LocalFinding> = {},
): void {
  const message = typeof what === 'string' ? (subject: string) => `${subject} ${what}.` : what;
  findings.push({ rule, message, field: '', base: base.pointer, head: head.pointer, ...at });
}

/** Adds a pair of child schemas to the comparison. */
export function enter({ comparison, inner }: SchemaPair, place: Place, base: Fragment, head: Fragment): void {
  if (isEqualLeaf(base, head)) return;
  const pair = pairOf(comparison, readShape(comparison.base, base), readShape(comparison.head, head));
  inner.push({ pair, place });
}

export function pairOf(comparison: SchemaComparison, base: Shape, head: Shape): SchemaPair {
  const partners = comparison.pairs.get(base) ?? [];
  const known = partners.find(pair => pair.head === head);
  if (known) return known;
  const unknown = { state: 'new', isChanged: undefined, isSafe: undefined, isVisited: false } as const;
  const { direction } = comparison;
  const pair: SchemaPair = { comparison, direction, base, head, findings: [], inner: [], ...unknown };
  partners.push(pair);
  comparison.pairs.set(base, partners);
  return pair;
}

/** Whether a finding is breaking or risky for values other than error keys. */
export function isSerious({ rule, only }: LocalFinding): boolean {
  return rules[rule].level !== 'additive' && only !== 'error key';
}

const restRules = {
  request: {
    safe: ['request-schema-widened', 'accepts all old values, and maybe more'],
    unsafe: ['request-schema-narrowed', 'may refuse old values'],
  },
  response: {
    safe: ['response-schema-narrowed', 'allows only old values'],
    unsafe: ['response-schema-widened', 'may allow new values'],
  },
} as const;

/**
 * Reports a difference that has no rule of its own. It is safe if every value of the sender's schema is also a value of
 * the receiver's schema.
 */
export function reportRest(pair: SchemaPair, isSafe: boolean, place?: Place): void {
  const [rule, what] = restRules[pair.direction][isSafe ? 'safe' : 'unsafe'];
  const name = (subject: string) => (place ? nameAt(place, subject) : subject);
  report(pair, rule, subject => `the schema of ${name(subject)} ${what}.`, { field: place?.field ?? '' });
}

/**
 * Whether two schemas are equal and refer to no other schemas. Such schemas cannot differ, so the comparison need not
 * read them. Most fields of a large document are such schemas.
 */
function isEqualLeaf(base: Fragment, head: Fragment): boolean {
  return base.length === head.length && base.every(({ value }, n) => isEqual(value, head[n]?.value));
}

function isEqual(base: Json, head: Json | undefined): boolean {
  if (Array.isArray(base)) {
    return Array.isArray(head) && base.length === head.length && base.every((one, n) => isEqual(one, head[n]));
  }
  if (!isObject(base) || !isObject(head)) return base === head;
  const keys = Object.keys(base);
  if (keys.length !== Object.keys(head).length) return false;
  return keys.every(
    key =>
      key !== '$ref' && key !== 'discriminator' && Object.hasOwn(head, key) && isEqual(base[key] ?? null, head[key]),
  );
}
