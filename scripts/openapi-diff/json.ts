export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns a member of an object. Does not return an inherited property such as `constructor`. */
export function memberOf(value: Json | undefined, key: string): Json | undefined {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Writes a value as text. Equal values give equal texts, even if their members are in another order. */
export function canonicalText(value: Json): string {
  return JSON.stringify(value, (_, one: Json) =>
    isObject(one) ? Object.fromEntries(Object.entries(one).sort(byFirst)) : one,
  );
}

export function isSame(a: Json | undefined, b: Json | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return canonicalText(a) === canonicalText(b);
}

/** Compares two pairs by their first texts. Compares code units, so that the order is the same on every machine. */
export function byFirst([a]: readonly [string, ...unknown[]], [b]: readonly [string, ...unknown[]]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Lists all keys of two lists of pairs. Each key comes with its value from the first list and its value from the second
 * list.
 */
export function matchKeys<Value>(
  had: Iterable<readonly [string, Value]>,
  has: Iterable<readonly [string, Value]>,
): [key: string, was: Value | undefined, is: Value | undefined][] {
  const [before, after] = [new Map(had), new Map(has)];
  return [...new Set([...before.keys(), ...after.keys()])].map(key => [key, before.get(key), after.get(key)]);
}
