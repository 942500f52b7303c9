import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { check_compat, initSync } from 'jsoncompat';
import { canonicalText, type JsonObject } from '../json.ts';
import type { Direction } from './shape.ts';

const require = createRequire(import.meta.url);
let isReady = false;
const known = new Map<string, boolean>();

/**
 * Whether the head is safe for a client of the base: it takes every request that the base took, or answers nothing that
 * the base did not. What cannot be proved counts as unsafe.
 *
 * What was found of the library, and why the walk does not leave everything to it: it judges in one bit, knows neither
 * formats nor readOnly, takes a merged allOf for a narrower one, and lets unevaluatedProperties pass. So it is given
 * schemas in which those are resolved, and is asked where the walk has no rule of its own, and whether it missed
 * something. An optional new field of a request is compatible to it, as it is to us: no client sends what is not
 * described.
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
    // It refuses keywords that it does not know how to compare, and schemas that nothing satisfies.
    return false;
  }
}
