import { expect, test } from 'vitest';
import {
  type Change,
  compareDocuments,
  type Json,
  type JsonObject,
  parseDocument,
} from '../../scripts/openapi-diff/main.ts';

export type { Json, JsonObject };

export const string = { type: 'string' };
export const integer = { type: 'integer' };
export const done = { 200: { description: 'Done.' } };
export const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
export const json = (schema: Json) => ({ 'application/json': { schema } });

/** Two complete OpenAPI documents, before and after a change. */
export interface Pair {
  base: JsonObject;
  head: JsonObject;
}

/** Returns a small complete OpenAPI document. */
export function documentWith(parts: JsonObject): JsonObject {
  return { openapi: '3.1.0', info: { title: 'Small', version: '1.0.0' }, paths: {}, ...parts };
}

/** Returns a document whose only operation is POST /things. The operation has the given members. */
export function operationWith(operation: JsonObject, parts: JsonObject = {}): JsonObject {
  return documentWith({ paths: { '/things': { post: { responses: done, ...operation } } }, ...parts });
}

/** Returns two documents, each with one operation. */
export function operations(base: JsonObject, head: JsonObject): Pair {
  return { base: operationWith(base), head: operationWith(head) };
}

/** The components for the references in the schemas of two documents. */
interface Components {
  base?: JsonObject;
  head?: JsonObject;
}

/** Returns two documents with the given schemas as their request bodies. */
export function sent(base: Json, head: Json, components: Components = {}): Pair {
  return documentsWith(schema => ({ requestBody: { required: true, content: json(schema) } }), base, head, components);
}

/** Returns two documents whose response bodies have the given schemas. */
export function received(base: Json, head: Json, components: Components = {}, status = 200): Pair {
  const answer = (schema: Json) => ({ responses: { [status]: { description: 'An answer.', content: json(schema) } } });
  return documentsWith(answer, base, head, components);
}

function documentsWith(write: (schema: Json) => JsonObject, base: Json, head: Json, components: Components): Pair {
  const documentOf = (schema: Json, schemas: JsonObject | undefined) =>
    operationWith(write(schema), schemas ? { components: { schemas } } : {});
  return { base: documentOf(base, components.base), head: documentOf(head, components.head) };
}

/** Returns an object schema with these fields. An exclamation mark after a name makes the field required. */
export function object(fields: JsonObject, others: JsonObject = {}): JsonObject {
  const names = Object.keys(fields);
  const properties = Object.fromEntries(Object.entries(fields).map(([name, one]) => [name.replace('!', ''), one]));
  const required = names.filter(name => name.endsWith('!')).map(name => name.slice(0, -1));
  return { type: 'object', properties, ...(required.length > 0 ? { required } : {}), ...others };
}

export function changesOf({ base, head }: Pair): Change[] {
  return compareDocuments(parseDocument('base', JSON.stringify(base)), parseDocument('head', JSON.stringify(head)))
    .changes;
}

/**
 * Returns all changes between two documents as one text, such as `breaking path-removed, additive path-added`. The most
 * severe changes come first. Equal texts are repeated.
 */
export function verdictsOf(pair: Pair): string {
  return (
    changesOf(pair)
      .map(({ level, rule }) => `${level} ${rule}`)
      .join(', ') || 'no change'
  );
}

/**
 * Defines a test for each pair of documents. The keys of `cases` are the expected results. Each value contains the
 * pairs with this result, keyed by the name of the pair.
 */
export function testVerdicts(cases: Record<string, Record<string, Pair>>): void {
  const rows = Object.entries(cases).flatMap(([verdict, pairs]) =>
    Object.entries(pairs).map(([name, pair]) => [name, verdict, pair] as const),
  );
  test.each(rows)('openapi-diff reports the API change "%s" as %s', (_, verdict, pair) => {
    expect(verdictsOf(pair)).toBe(verdict);
  });
}
