import type { Report } from './change.ts';
import { isTrue, type Located, type OpenApiDocument } from './document.ts';
import type { RuleId } from './rules/rules.ts';
import { compareSchemas } from './schema/compare-schemas.ts';
import type { SchemaComparison } from './schema/pair.ts';
import type { Direction } from './schema/shape.ts';
import { sentence } from './sentence.ts';

/** Two OpenAPI documents that are compared, and the function that receives the findings. */
export interface Comparison {
  base: OpenApiDocument;
  head: OpenApiDocument;
  schemas: Readonly<Record<Direction, SchemaComparison>>;
  report: Report;
}

/** An operation that both documents contain, or a part of such an operation. */
export interface Place {
  comparison: Comparison;
  operation: string;
  where: string;
  /** Whether the client receives the request and sends the response, as for a webhook. */
  isReceived: boolean;
  isError: boolean;
}

/** A part of the API in both documents. If one document lacks the part, its location there is the nearest parent. */
export interface Pair {
  base: Located;
  head: Located;
}

export function tell(place: Place, rule: RuleId, message: string, { base, head }: Pair): void {
  const { operation, where } = place;
  place.comparison.report({
    rule,
    message: sentence(message),
    operation,
    where,
    field: '',
    base: base.pointer,
    head: head.pointer,
  });
}

/**
 * Compares a schema in one direction. The new server must accept every old request, and send only responses that old
 * clients expect. `isAlwaysSent` is whether the value is never missing, so that its default has no effect.
 */
export function compareSchemasAt(
  place: Place,
  subject: string,
  direction: Direction,
  base: Located | undefined,
  head: Located | undefined,
  isAlwaysSent = false,
): void {
  const { operation, where, isError, comparison } = place;
  const root = { operation, where, subject, isError, isAlwaysSent };
  compareSchemas(comparison.schemas[direction], root, comparison.report, base ? [base] : [], head ? [head] : []);
}

export function compareDeprecation(place: Place, subject: string, pair: Pair): void {
  const is = isTrue(pair.head, 'deprecated');
  if (isTrue(pair.base, 'deprecated') === is) return;
  tell(place, is ? 'deprecated' : 'deprecation-lifted', `${subject} is ${is ? '' : 'no longer '}deprecated.`, pair);
}

/** Lists the keys of both documents. A value is undefined if its document lacks the key. */
export function matchKeys<Value>(
  had: Iterable<readonly [string, Value]>,
  has: Iterable<readonly [string, Value]>,
): [key: string, was: Value | undefined, is: Value | undefined][] {
  const [before, after] = [new Map(had), new Map(has)];
  return [...new Set([...before.keys(), ...after.keys()])].map(key => [key, before.get(key), after.get(key)]);
}

/** The rule and the message for each kind of change of a part. In a message, `{}` stands for the name of the part. */
type Turns<Name extends string> = { readonly [Turn in Name]: readonly [rule: RuleId, message: string] };
export type PresenceRules = Turns<'removed' | 'optional' | 'required' | 'added'> & Partial<Turns<'addedRequired'>>;

/** Compares whether a part of the API is required or optional. An undefined argument means that the part is missing. */
export function comparePresence(
  place: Place,
  rules: PresenceRules,
  subject: string,
  was: boolean | undefined,
  is: boolean | undefined,
  pair: Pair,
): void {
  if (was === is) return;
  const { removed, required, optional, added, addedRequired = added } = rules;
  const [whenRequired, whenOptional] = was === undefined ? [addedRequired, added] : [required, optional];
  const [rule, message] = is === undefined ? removed : is ? whenRequired : whenOptional;
  tell(
    place,
    rule,
    message.replace('{}', () => subject),
    pair,
  );
}
