import { type Report, type Turns, turnBetween } from './change.ts';
import { childOf, childrenOf, exists, follow, isTrue, type Located, nothingIn } from './document.ts';
import { matchKeys, sentence } from './json.ts';
import type { RuleId } from './rules.ts';
import { compareSchemas } from './schema/compare-schemas.ts';
import type { SchemaComparison } from './schema/pair.ts';
import type { Direction } from './schema/shape.ts';

/** A part of an operation in both documents. One document may lack the part. */
export interface Part {
  base: Located;
  head: Located;
  operation: string;
  where: string;
  /** Whether the client receives the request and sends the response, as a receiver of webhooks does. */
  isReceived: boolean;
  isError: boolean;
  /** The comparisons of all schemas in the two documents. */
  schemas: Readonly<Record<Direction, SchemaComparison>>;
  report: Report;
}

export function tell({ report, operation, where, base, head }: Part, rule: RuleId, message: string): void {
  report({ rule, message: sentence(message), operation, where, field: '', base: base.pointer, head: head.pointer });
}

export function partAt(part: Part, key: string): Part {
  return { ...part, base: childOf(part.base, key), head: childOf(part.head, key) };
}

export function followed(part: Part): Part {
  return { ...part, base: follow(part.base), head: follow(part.head) };
}

/** Applies a function, such as `textOf`, to a part in the base document and in the head document. */
export function both<Value>({ base, head }: Part, read: (node: Located) => Value): [was: Value, is: Value] {
  return [read(base), read(head)];
}

/** Combines the inner parts of a part from both documents by key. Includes parts that only one document has. */
export function matchParts(part: Part, [had, has]: readonly [Parts, Parts]): [key: string, part: Part][] {
  return matchKeys(had, has).map(([key, was, is]) => {
    return [key, { ...part, base: was ?? nothingIn(part.base), head: is ?? nothingIn(part.head) }];
  });
}

type Parts = Iterable<readonly [string, Located]>;

/** Lists the members of an object inside a part, such as all `links` of a response. */
export function partsAt(part: Part, key: string): [key: string, part: Part][] {
  const around = partAt(part, key);
  return matchParts(around, both(around, childrenOf));
}

/** Compares the schemas of a part. If the sender never omits the value (`isAlwaysSent`), its default has no effect. */
export function compareSchemaOf(part: Part, subject: string, direction: Direction, isAlwaysSent = false): void {
  const [base, head] = both(part, schema => [schema].filter(exists));
  compareSchemas(part.schemas[direction], { ...part, subject, isAlwaysSent }, base, head);
}

export function compareDeprecation(part: Part, subject: string): void {
  const [was, is] = both(part, node => isTrue(node, 'deprecated'));
  if (was !== is)
    tell(part, is ? 'deprecated' : 'deprecation-lifted', `${subject} is ${is ? '' : 'no longer '}deprecated.`);
}

/** Reports a part that became required or optional, was added or removed. Returns a part that both documents have. */
export function comparePresence(part: Part, turns: Turns, subject: string): Part | undefined {
  const isInBoth = exists(part.base) && exists(part.head);
  const there = isInBoth ? followed(part) : part;
  const [was, is] = both(part, node => (exists(node) ? isTrue(follow(node), 'required') : undefined));
  const turn = turnBetween(turns, was, is, subject);
  if (turn) tell(there, ...turn);
  return isInBoth ? there : undefined;
}
