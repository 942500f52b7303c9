import type { Json, JsonObject } from '../json.ts';

/** The keywords that neither allow nor refuse values. */
const annotations = new Set([
  'title',
  'description',
  'examples',
  'example',
  'deprecated',
  'readOnly',
  'writeOnly',
  'default',
  'definitions',
  'externalDocs',
  'xml',
  'discriminator',
]);

/** The keywords that refer to other schemas, although they begin with a dollar sign as annotations do. */
const references = new Set(['$ref', '$dynamicRef', '$recursiveRef']);

/** Whether a keyword neither allows nor refuses values. An unknown keyword may refuse values. */
export function isAnnotation(keyword: string): boolean {
  if (keyword.startsWith('$')) return !references.has(keyword);
  return annotations.has(keyword) || keyword.startsWith('x-');
}

/** The keywords with a property of their own in `Shape`. */
const compared = new Set([
  '$ref',
  'additionalProperties',
  'allOf',
  'anyOf',
  'const',
  'contentEncoding',
  'contentMediaType',
  'enum',
  'exclusiveMaximum',
  'exclusiveMinimum',
  'format',
  'items',
  'maxItems',
  'maxLength',
  'maxProperties',
  'maximum',
  'minItems',
  'minLength',
  'minProperties',
  'minimum',
  'multipleOf',
  'oneOf',
  'pattern',
  'patternProperties',
  'prefixItems',
  'properties',
  'required',
  'type',
  'uniqueItems',
]);

/** Keywords that have a meaning only together. */
export const groups = [
  ['if', 'then', 'else'],
  ['contains', 'minContains', 'maxContains'],
];

/**
 * Returns the keywords of a schema that `Shape` keeps in `rest`: all constraints without a property in `Shape`. Keywords
 * that have a meaning only together share an object.
 */
export function restOf(schema: JsonObject): JsonObject[] {
  const left = Object.keys(schema).filter(keyword => !isAnnotation(keyword) && !compared.has(keyword));
  const lists = [...groups, ...left.filter(keyword => !groups.flat().includes(keyword)).map(keyword => [keyword])];
  return lists
    .map(list =>
      list.filter(keyword => left.includes(keyword)).map((one): [string, Json] => [one, schema[one] ?? null]),
    )
    .filter(entries => entries.length > 0)
    .map(entries => Object.fromEntries(entries));
}
