import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { check_compat, initSync } from 'jsoncompat';
import { canonicalText, type JsonObject } from '../json.ts';
import type { Direction } from './shape.ts';

const require = createRequire(import.meta.url);
let isReady = false;
const known = new Map<string, boolean>();

/**
 * Whether the head is safe for a client of the base: it accepts all old requests, or sends only old responses. Unproved
 * cases count as unsafe.
 *
 * The library alone is not sufficient: it returns only one bit, ignores formats and readOnly, reports a merged allOf as
 * narrower, and ignores unevaluatedProperties. Therefore its schemas have these parts resolved, and it is used only for
 * keywords without a rule and as a check of the walk. Like us, it accepts a new optional field of a request, because no
 * client sends undescribed fields.
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
    // The library refuses unsupported keywords and unsatisfiable schemas.
    return false;
  }
}
