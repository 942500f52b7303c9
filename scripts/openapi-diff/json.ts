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

export function sortedBy<Value>(values: Iterable<Value>, textOf: (value: Value) => string): Value[] {
  const listed = Array.from(values, value => [textOf(value), value] as const);
  return listed.sort(byFirst).map(([, value]) => value);
}

/** Compares two pairs by their first texts. Compares code units, so that the order is the same on every machine. */
function byFirst([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Lists all keys of two lists of pairs, each with its value from the first list and its value from the second list. */
export function matchKeys<Value>(
  had: Iterable<readonly [string, Value]>,
  has: Iterable<readonly [string, Value]>,
): [key: string, was: Value | undefined, is: Value | undefined][] {
  const [before, after] = [new Map(had), new Map(has)];
  return [...new Set([...before.keys(), ...after.keys()])].map(key => [key, before.get(key), after.get(key)]);
}

interface Cache<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

/** Returns the value of a key in a cache. If the cache lacks the key, computes the value and adds it. */
export function remember<Key, Value>(cache: Cache<Key, Value>, key: Key, compute: () => Value): Value {
  const value = cache.get(key) ?? compute();
  cache.set(key, value);
  return value;
}

/** Capitalizes the first letter of a text, so that the text can begin a sentence. */
export function sentence(subject: string): string {
  return `${subject.charAt(0).toUpperCase()}${subject.slice(1)}`;
}

/** Quotes a name from a document as code, so that no output format interprets the characters of the name. */
export function quote(name: string): string {
  return `\`${name.replaceAll('`', "'").replace(/\s+/g, ' ')}\``;
}

/** Writes a value as one line of text for a sentence. Shortens a long text. */
export function textOfValue(value: Json): string {
  const text = canonicalText(value);
  return quote(text.length > 80 ? `${text.slice(0, 77)}...` : text);
}

export function textOfValues(values: readonly Json[]): string {
  const shown = values.slice(0, 8).map(textOfValue).join(', ');
  return values.length > 8 ? `${shown} and ${values.length - 8} more` : shown;
}
