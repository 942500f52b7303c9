import type { JsonObject } from '../json.ts';
import { isCompatible, isJudged } from './is-compatible.ts';
import { groups } from './keywords.ts';
import { isSerious, reportSafe, reportUnexplained, type SchemaPair } from './pair.ts';
import { type Fragment, noMap, type Shape } from './shape.ts';
import { type Constraint, writeConstraint, writeLocally } from './write-schema.ts';

/**
 * Compares keywords that have no rule of their own, such as `not` and `if`. A change is safe only if there is a proof:
 * the new schema drops keywords of requests or adds keywords to responses, or the library jsoncompat proves the change.
 */
export function compareRest(pair: SchemaPair): void {
  const { base, head, comparison } = pair;
  if (base.rest.length === 0 && head.rest.length === 0) return;
  const had = base.rest.map(one => writeConstraint(comparison.base, one));
  const has = head.rest.map(one => writeConstraint(comparison.head, one));
  const removed = missingIn(has, had);
  const added = missingIn(had, has);
  if (removed.length === 0 && added.length === 0) return;
  if (isProven(pair, { had, has, removed, added })) reportSafe(pair);
  else reportUnexplained(pair);
}

/**
 * The known keywords in `rest` that can only refuse values, beside any other keywords. A schema accepts no fewer values
 * without such a keyword. An unknown keyword might also allow more values.
 */
const constraints = new Set([
  ...groups.flat(),
  'contentSchema',
  'dependencies',
  'dependentRequired',
  'dependentSchemas',
  'not',
  'propertyNames',
]);

function missingIn(others: readonly Constraint[], constraints: readonly Constraint[]): Constraint[] {
  const texts = new Set(others.map(({ text }) => text));
  return constraints.filter(({ text }) => !texts.has(text));
}

interface Constraints {
  had: Constraint[];
  has: Constraint[];
  removed: Constraint[];
  added: Constraint[];
}

/** Whether each value of the sender's schema is also a value of the receiver's schema. */
function isProven({ base, comparison }: SchemaPair, { had, has, removed, added }: Constraints): boolean {
  const onlyReceived = comparison.direction === 'request' ? added : removed;
  const isKnown = (one: Constraint) =>
    isJudgedFully(one) || Object.keys(one.keywords).every(keyword => constraints.has(keyword));
  if (![...added, ...removed].every(isKnown)) return false;
  // The meaning of these keywords depends on the other keywords of the schema.
  if ([...had, ...has].some(one => isAbout(one, 'unevaluatedProperties') || isAbout(one, 'unevaluatedItems'))) {
    return false;
  }
  if (onlyReceived.length === 0) return true;
  if (!onlyReceived.every(isJudgedFully)) return false;
  // A keyword that jsoncompat does not judge may be left out here, because the sender's schema has it too.
  return isCompatible(comparison, writeWith(base, had), writeWith(base, has)) === true;
}

function isAbout({ keywords }: Constraint, keyword: string): boolean {
  return Object.hasOwn(keywords, keyword);
}

function isJudgedFully({ keywords, definitions, isComplete }: Constraint): boolean {
  return isComplete && isJudged({ ...keywords, $defs: definitions });
}

/**
 * Writes the base schema with these constraints, because other rules report the changes of all other parts.
 */
function writeWith(base: Shape, constraints: readonly Constraint[]): JsonObject {
  const judged = constraints.filter(isJudgedFully);
  const schema = writeLocally(
    base,
    judged.map(({ keywords }) => keywords),
  );
  return { ...schema, $defs: Object.assign({}, ...judged.map(({ definitions }) => definitions)) };
}

/**
 * Checks the verdict of the rules with the library jsoncompat. If the rules find no breaking or risky change, the
 * library must find the two schemas compatible. Other comparisons check the schemas of their fields and items.
 */
export function audit(pair: SchemaPair): void {
  const { base, head, comparison } = pair;
  if (pair.findings.some(one => isSerious(one) && one.only !== 'optional')) return;
  const isForbidden = (shape: Shape, name: string) =>
    shape.fields.required.has(name) && !shape.fields.properties.has(name);
  const names = [
    ...new Set([base, head].flatMap(({ fields }) => [...fields.properties.keys(), ...fields.required])),
  ].filter(
    name =>
      base.fields.properties.has(name) !== head.fields.properties.has(name) ||
      base.fields.required.has(name) !== head.fields.required.has(name) ||
      isForbidden(base, name),
  );
  const [before, after] = [base, head].map(shape => writeLocally(withFields(shape, names)));
  if (isCompatible(comparison, before ?? {}, after ?? {}) === false) reportUnexplained(pair);
}

/**
 * Returns a schema with some of its fields, under numbers instead of their names. Many changes then give the same
 * schemas, so that the library has fewer questions to answer.
 */
function withFields(shape: Shape, names: readonly string[]): Shape {
  const numbered = names.map((name, n): [string, string] => [name, `field ${n}`]);
  const properties = numbered.filter(([name]) => shape.fields.properties.has(name));
  const required = numbered.filter(([name]) => shape.fields.required.has(name));
  const fields = {
    ...shape.fields,
    patterned: noMap,
    properties: new Map(properties.map(([, number]): [string, Fragment] => [number, []])),
    required: new Set(required.map(([, number]) => number)),
  };
  return { ...shape, fields };
}
