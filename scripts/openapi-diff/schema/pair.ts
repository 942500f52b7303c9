import { quote, remember } from '../json.ts';
import { type RuleId, rules } from '../rules.ts';
import { readShape } from './read-shape.ts';
import type { Direction, Fragment, SchemaReader, Shape } from './shape.ts';

/** All comparisons of request schemas, or all comparisons of response schemas. */
export interface SchemaComparison {
  direction: Direction;
  base: SchemaReader;
  head: SchemaReader;
  pairs: Map<Shape, SchemaPair[]>;
  /** The cached answers of the library jsoncompat. A key contains the two compared schemas. */
  answers: Map<string, boolean>;
}

/** A schema in the base document and its counterpart in the head document. Each pair is compared at most once. */
export interface SchemaPair {
  comparison: SchemaComparison;
  direction: Direction;
  base: Shape;
  head: Shape;
  state: 'new' | 'begun' | 'compared';
  /** The findings about the two schemas themselves, without the findings about schemas inside them. */
  findings: LocalFinding[];
  inner: { pair: SchemaPair; place: Place }[];
  /** Whether a visit has already reported the findings of this pair. */
  isVisited?: boolean;
  /** Whether this pair, or a pair inside it, has a finding. Undefined until this has been determined. */
  isChanged?: boolean;
  /** Whether this pair, or a pair inside it, has a breaking or risky finding. Undefined until this is determined. */
  isUnsafe?: boolean;
}

/** A finding about a pair of schemas, without the place of the pair in a request or response. */
interface LocalFinding {
  rule: RuleId;
  /** Returns the message. The argument `subject` names the changed value in the message, for example `the body`. */
  message: (subject: string) => string;
  /** The path of the field inside the schemas of this pair. */
  field: string;
  base: string;
  head: string;
  /** Limits the finding to error keys (`error.key`), to all other values, or to values that may be missing. */
  only?: 'error key' | 'no error key' | 'optional';
}

/** The place of a value inside the value that contains it. */
export interface Place {
  /** Determines the name of the value in messages. An alternative of a union has the name of the union. */
  kind: 'field' | 'any field' | 'item' | 'alternative';
  /** The path of the field inside the containing value, such as `title`, `*` or `[]`. */
  field: string;
  /** Whether the value is always present, so that its default has no effect. An alternative depends on its union. */
  isAlwaysSent?: boolean;
}

/** Returns the name of an inner value for a message. The name may contain the name of the outer value. */
export function nameAt({ kind, field }: Place, outer: string): string {
  if (kind === 'field') return quote(field);
  if (kind === 'any field') return `a value of ${outer}`;
  if (kind === 'item') return field === '[]' ? `an item of ${outer}` : `item ${field.slice(1, -1)} of ${outer}`;
  return outer;
}

/** Adds a finding. `what` returns the message, or is the text after the name of the changed value in the message. */
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
  // Skips equal schemas without references, because they cannot differ. Most fields of a large document are unchanged.
  const [text, newText] = [base, head].map(fragment => JSON.stringify(fragment.map(({ value }) => value)));
  if (text === newText && !/"(\$ref|discriminator)":/.test(text ?? '')) return;
  const pair = pairOf(comparison, readShape(comparison.base, base), readShape(comparison.head, head));
  inner.push({ pair, place });
}

export function pairOf(comparison: SchemaComparison, base: Shape, head: Shape): SchemaPair {
  const partners = remember(comparison.pairs, base, () => []);
  const known = partners.find(pair => pair.head === head);
  if (known) return known;
  const { direction } = comparison;
  const pair: SchemaPair = { comparison, direction, base, head, findings: [], inner: [], state: 'new' };
  partners.push(pair);
  return pair;
}

/** Whether a finding is breaking or risky for values other than error keys. */
export function isSerious({ rule, only }: LocalFinding): boolean {
  return rules[rule].level !== 'additive' && only !== 'error key';
}

const restMessages = {
  'request-schema-widened': 'accepts all old values, and maybe more',
  'request-schema-narrowed': 'may refuse old values',
  'response-schema-widened': 'may allow new values',
  'response-schema-narrowed': 'allows only old values',
};

/** Reports a difference without its own rule. It is safe if the receiver accepts every value of the sender. */
export function reportRest(pair: SchemaPair, isSafe: boolean, place?: Place): void {
  const { direction } = pair;
  const rule = `${direction}-schema-${isSafe === (direction === 'request') ? 'widened' : 'narrowed'}` as const;
  const nameOf = (subject: string) => (place ? nameAt(place, subject) : subject);
  const message = (subject: string) => `the schema of ${nameOf(subject)} ${restMessages[rule]}.`;
  report(pair, rule, message, { field: place?.field ?? '' });
}
