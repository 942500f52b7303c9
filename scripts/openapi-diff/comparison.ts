import type { Report } from './change.ts';
import { childOf, type Located, type OpenApiDocument } from './document.ts';
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

/** An operation that both documents have, or a part of the operation. */
export interface Place {
  comparison: Comparison;
  operation: string;
  where: string;
  /** Whether the client receives the request and sends the response, as for a webhook. */
  isReceived: boolean;
  isError: boolean;
}

/** A part in both documents. If one document lacks the part, its location there is the nearest parent. */
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
  const was = childOf(pair.base, 'deprecated')?.value === true;
  const is = childOf(pair.head, 'deprecated')?.value === true;
  if (was === is) return;
  if (is) tell(place, 'deprecated', `${subject} is deprecated.`, pair);
  else tell(place, 'deprecation-lifted', `${subject} is no longer deprecated.`, pair);
}
