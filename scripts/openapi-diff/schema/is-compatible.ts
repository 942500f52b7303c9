import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { check_compat, initSync } from 'jsoncompat';
import { canonicalText, type JsonObject } from '../json.ts';
import type { Direction } from './shape.ts';

const require = createRequire(import.meta.url);
let isReady = false;
const known = new Map<string, boolean>();

/**
 * Whether the new schema is safe for a client of the old schema. In requests, it must allow all values of the old
 * schema. In responses, it must allow no others. If the library jsoncompat cannot prove that, the change counts as
 * unsafe.
 *
 * The library alone is not sufficient. It answers only yes or no, ignores formats and readOnly, reports a merged allOf
 * as narrower, and ignores unevaluatedProperties. Therefore it gets schemas with these parts resolved. It decides about
 * keywords without a rule, and whether other alternatives include a removed or added one. Where the rules found nothing
 * breaking or risky, it searches for changes that they missed. It never withdraws a finding. It accepts a new optional
 * field of a request, because clients do not send fields that their document does not describe.
 */
export function isCompatible(direction: Direction, base: JsonObject, head: JsonObject): boolean {
  const [baseText, headText] = [canonicalText(base), canonicalText(head)];
  if (baseText === headText) return true;
  const key = `${direction} ${baseText} ${headText}`;
  let answer = known.get(key);
  if (answer === undefined) {
    answer = ask(baseText, headText, direction === 'request' ? 'deserializer' : 'serializer');
    known.set(key, answer);
  }
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
