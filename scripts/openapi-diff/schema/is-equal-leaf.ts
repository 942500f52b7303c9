import { isObject, type Json } from '../json.ts';
import type { Fragment } from './shape.ts';

/**
 * Whether two schemas are equal and refer to no other schemas. Such schemas cannot differ, so nobody has to read them. Most
 * fields of a large document are such schemas.
 */
export function isEqualLeaf(base: Fragment, head: Fragment): boolean {
  return base.length === head.length && base.every(({ value }, n) => isEqual(value, head[n]?.value));
}

function isEqual(base: Json, head: Json | undefined): boolean {
  if (Array.isArray(base)) {
    return Array.isArray(head) && base.length === head.length && base.every((one, n) => isEqual(one, head[n]));
  }
  if (!isObject(base) || !isObject(head)) return base === head;
  const keys = Object.keys(base);
  if (keys.length !== Object.keys(head).length) return false;
  return keys.every(
    key =>
      key !== '$ref' && key !== 'discriminator' && Object.hasOwn(head, key) && isEqual(base[key] ?? null, head[key]),
  );
}
