import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { check_compat, initSync } from 'jsoncompat';
import { canonicalText, type Json, type JsonObject, remember } from '../json.ts';
import { groups, isAnnotation, keywordsOf } from './atoms.ts';
import { isSerious, reportRest, type SchemaComparison, type SchemaPair } from './pair.ts';
import { type Fragment, noMap, type Shape } from './shape.ts';
import { type Constraint, writeConstraint, writePlain } from './write-schema.ts';

/**
 * Compares keywords that have no rule of their own, such as `not` and `if`. A change is safe if it only removes
 * constraints from requests or adds constraints to responses, or if the library jsoncompat finds it safe.
 */
export function compareRest(pair: SchemaPair): void {
  const { base, head, comparison, direction } = pair;
  const had = base.rest.map(one => writeConstraint(comparison.base, one));
  const has = head.rest.map(one => writeConstraint(comparison.head, one));
  const isIn = (list: Constraint[], { text }: Constraint) => list.some(one => one.text === text);
  const removed = had.filter(one => !isIn(has, one));
  const added = has.filter(one => !isIn(had, one));
  if (removed.length + added.length === 0) return;
  const onlyReceived = direction === 'request' ? added : removed;
  // A change can break a client only through a constraint that the receiver has and the sender lacks. The change is
  // safe if jsoncompat supports all of these constraints and finds the schemas compatible.
  const isProven =
    [...removed, ...added].every(isKnown) &&
    ![...had, ...has].some(({ keywords }) => 'unevaluatedProperties' in keywords || 'unevaluatedItems' in keywords) &&
    onlyReceived.every(isJudgedFully) &&
    (onlyReceived.length === 0 || isCompatible(comparison, writeWith(base, had), writeWith(base, has)) === true);
  reportRest(pair, isProven);
}

/**
 * The keywords in `rest` that can only refuse values. Without such a keyword, a schema accepts the same values or more.
 * An unknown keyword is not listed, because it might also allow more values.
 */
const constraints = new Set([
  ...groups.flat(),
  ...keywordsOf('contentSchema dependencies dependentRequired dependentSchemas not propertyNames'),
]);

function isKnown(one: Constraint): boolean {
  return isJudgedFully(one) || Object.keys(one.keywords).every(keyword => constraints.has(keyword));
}

function isJudgedFully({ keywords, definitions, isComplete }: Constraint): boolean {
  return isComplete && isJudged({ ...keywords, $defs: definitions });
}

/** Writes the base schema with the given constraints. Other rules report changes in other parts of the schema. */
function writeWith(base: Shape, constraints: readonly Constraint[]): JsonObject {
  const judged = constraints.filter(isJudgedFully);
  const keywords = judged.map(one => one.keywords);
  return { ...writePlain(base, keywords), $defs: Object.assign({}, ...judged.map(({ definitions }) => definitions)) };
}

/** Reports an unsafe change if only jsoncompat finds one. Other calls check the schemas of fields and items. */
export function audit(pair: SchemaPair): void {
  const { base, head, comparison } = pair;
  if (pair.findings.some(one => isSerious(one) && one.only !== 'optional')) return;
  const [had, has] = [base.fields, head.fields];
  const all = new Set([had, has].flatMap(({ properties, required }) => [...properties.keys(), ...required]));
  const isOther = (name: string) =>
    had.properties.has(name) !== has.properties.has(name) || had.required.has(name) !== has.required.has(name);
  const isForbidden = (name: string) => had.required.has(name) && !had.properties.has(name);
  const names = [...all].filter(name => isOther(name) || isForbidden(name));
  const [before, after] = [writePlain(withFields(base, names)), writePlain(withFields(head, names))];
  if (isCompatible(comparison, before, after) === false) reportRest(pair, false);
}

/**
 * Returns a schema that keeps only the given fields and replaces their names by numbers. Many different changes then
 * give the same schemas, so that the library has fewer questions to answer.
 */
function withFields(shape: Shape, names: readonly string[]): Shape {
  const { properties, required } = shape.fields;
  const numbersIn = (listed: { has: (name: string) => boolean }) =>
    names.flatMap((name, n) => (listed.has(name) ? [`field ${n}`] : []));
  const fields = {
    ...shape.fields,
    patterned: noMap,
    properties: new Map(numbersIn(properties).map((number): [string, Fragment] => [number, []])),
    required: new Set(numbersIn(required)),
  };
  return { ...shape, fields };
}

/** The maximum number of questions to jsoncompat, which needs up to 100 ms for an answer, in one comparison. */
const mostQuestions = 60;

/**
 * Asks jsoncompat whether the new schema accepts all old requests, or allows only old responses. Returns undefined
 * after too many questions. The change then counts as unsafe, unless the other rules have found it safe.
 *
 * jsoncompat is not sufficient for the whole comparison: it answers only yes or no, ignores readOnly, reports a merged
 * allOf as narrower, and ignores every keyword that it does not know. Therefore this code resolves readOnly and allOf
 * before it calls jsoncompat.
 */
function isCompatible(comparison: SchemaComparison, base: JsonObject, head: JsonObject): boolean | undefined {
  const { direction, answers } = comparison;
  const [baseText, headText] = [canonicalText(base), canonicalText(head)];
  if (baseText === headText) return true;
  const key = `${baseText} ${headText}`;
  if (answers.size >= mostQuestions && !answers.has(key)) return undefined;
  return remember(answers, key, () => {
    loadLibrary();
    try {
      return check_compat(baseText, headText, direction === 'request' ? 'deserializer' : 'serializer');
    } catch {
      // The library throws an error for unsupported keywords and for schemas that no value satisfies.
      return false;
    }
  });
}

let isLoaded = false;

/** Loads jsoncompat before the first question, because most comparisons have no question. */
function loadLibrary(): void {
  if (isLoaded) return;
  initSync({ module: readFileSync(createRequire(import.meta.url).resolve('jsoncompat/jsoncompat_wasm_bg.wasm')) });
  isLoaded = true;
}

/** The keywords that jsoncompat supports, by the type of their values. It wrongly calls changes of others safe. */
const judged = {
  plain: keywordsOf(
    `type enum const required multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength pattern
    minItems maxItems uniqueItems minContains maxContains minProperties maxProperties $ref`,
  ),
  schema: keywordsOf('additionalProperties propertyNames items contains not if then else'),
  schemas: keywordsOf('allOf anyOf oneOf prefixItems properties $defs'),
};

/** Whether the library jsoncompat supports every keyword of a schema and of the schemas inside it. */
function isJudged(schema: Json): boolean {
  if (typeof schema !== 'object' || schema === null) return true;
  return Object.entries(schema).every(([keyword, value]) => {
    if (judged.schemas.has(keyword)) return Object.values(value as JsonObject).every(isJudged);
    return judged.schema.has(keyword) ? isJudged(value) : judged.plain.has(keyword) || isAnnotation(keyword);
  });
}
