import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { check_compat, initSync } from 'jsoncompat';
import { canonicalText, type Json, type JsonObject } from '../json.ts';
import { isAnnotation } from './keywords.ts';
import type { Direction } from './shape.ts';

const require = createRequire(import.meta.url);
let isReady = false;

/**
 * The maximum number of different questions to jsoncompat in one comparison. It needs up to 100 ms for each answer, and
 * a document may have thousands of changes.
 */
const mostQuestions = 60;

/**
 * Whether the new schema is safe for a client of the old schema. It must accept all old requests, or send only old
 * responses. Returns undefined if nothing is known. The change then counts as unsafe, unless a rule knows that it is safe.
 *
 * The library jsoncompat alone is not sufficient. It answers only yes or no, ignores readOnly, reports a merged allOf as
 * narrower, and ignores every keyword that it does not know. Therefore it gets schemas with these parts resolved. It
 * decides only about keywords without a rule, and checks the verdicts of the rules. Like openapi-diff, it accepts a new
 * optional field of a request, because clients do not send fields that their document does not describe.
 */
export function isCompatible(
  { direction, answers }: { direction: Direction; answers: Map<string, boolean> },
  base: JsonObject,
  head: JsonObject,
): boolean | undefined {
  const [baseText, headText] = [canonicalText(base), canonicalText(head)];
  if (baseText === headText) return true;
  const key = `${direction} ${baseText} ${headText}`;
  const known = answers.get(key);
  if (known !== undefined || answers.size >= mostQuestions) return known;
  const answer = ask(baseText, headText, direction === 'request' ? 'deserializer' : 'serializer');
  answers.set(key, answer);
  return answer;
}

function ask(base: string, head: string, role: 'serializer' | 'deserializer'): boolean {
  if (!isReady) {
    initSync({ module: readFileSync(require.resolve('jsoncompat/jsoncompat_wasm_bg.wasm')) });
    isReady = true;
  }
  try {
    return check_compat(base, head, role);
  } catch {
    // The library throws for unsupported keywords and for schemas that no value satisfies.
    return false;
  }
}

/** How the keywords that jsoncompat judges contain schemas. It wrongly calls every change of other keywords safe. */
const judged: Readonly<Record<string, 'value' | 'schema' | 'list' | 'map'>> = {
  ...same('value', 'type enum const required multipleOf minimum maximum exclusiveMinimum exclusiveMaximum $ref'),
  ...same('value', 'minLength maxLength pattern minItems maxItems uniqueItems minContains maxContains'),
  ...same('value', 'minProperties maxProperties'),
  ...same('schema', 'additionalProperties propertyNames items contains not if then else'),
  ...same('list', 'allOf anyOf oneOf prefixItems'),
  ...same('map', 'properties $defs'),
};

function same<Kind>(kind: Kind, keywords: string): Record<string, Kind> {
  return Object.fromEntries(keywords.split(' ').map(keyword => [keyword, kind]));
}

/** Whether jsoncompat judges every keyword of a schema and of the schemas in it. */
export function isJudged(schema: Json): boolean {
  if (typeof schema !== 'object' || schema === null) return true;
  return Object.entries(schema).every(([keyword, value]) => {
    const kind = judged[keyword];
    if (kind === undefined) return isAnnotation(keyword);
    if (kind === 'value') return true;
    return kind === 'schema' ? isJudged(value) : Object.values(value as JsonObject).every(isJudged);
  });
}
