import { childOf, DocumentError, itemsOf, type Located, targetOf, textOf } from '../document.ts';
import { isObject, type JsonObject } from '../json.ts';
import type { Fragment } from './shape.ts';

/** A schema object without its `$ref` and `allOf`. The schemas in `$ref` and `allOf` are separate atoms. */
export interface Atom extends Located {
  value: JsonObject;
  /**
   * Whether the keyword `unevaluatedProperties` of this atom considers the fields of all other atoms. Inside a part of
   * an `allOf`, the keyword considers only the fields of that part.
   */
  isOutermost: boolean;
}

/** Returns the atoms that a value must satisfy, or undefined if one schema is `false`, which no value satisfies. */
export function atomsOf(fragment: Fragment): Atom[] | undefined {
  const atoms: Atom[] = [];
  const passed = new Set<string>();
  let isPossible = true;
  const expand = (node: Located, isOutermost: boolean) => {
    if (node.value === true || passed.has(node.pointer)) return;
    passed.add(node.pointer);
    if (node.value === false) {
      isPossible = false;
      return;
    }
    if (!isObject(node.value)) throw new DocumentError(`${node.document.name}: there is no schema at ${node.pointer}`);
    const { $ref, allOf, ...own } = node.value;
    if (Object.keys(own).length > 0) atoms.push({ ...node, value: own, isOutermost });
    if (typeof $ref === 'string') {
      expand(targetOf(node, $ref), isOutermost && Object.keys(own).every(isAnnotation));
    }
    for (const one of itemsOf(childOf(node, 'allOf'))) expand(one, false);
  };
  for (const part of fragment) expand(part, fragment.length === 1);
  return isPossible ? atoms : undefined;
}

/** Returns the JSON pointer that the output shows for a schema. Follows the references of the schema. */
export function pointerOf([node]: Fragment, passed = new Set<string>()): string {
  if (node === undefined) return '#';
  const reference = textOf(node, '$ref');
  if (reference === undefined || passed.has(node.pointer)) return node.pointer;
  return pointerOf([targetOf(node, reference)], passed.add(node.pointer));
}

/** Returns a list of alternatives for each `anyOf` and `oneOf` of an atom. */
export function unionsOf(atom: Atom): Located[][] {
  return ['anyOf', 'oneOf'].map(key => itemsOf(childOf(atom, key))).filter(union => union.length > 0);
}

/** Splits a text at white space. Returns the set of its words, which are keywords of JSON Schema. */
export function keywordsOf(text: string): Set<string> {
  return new Set(text.split(/\s+/));
}

const annotations = keywordsOf(
  'title description examples example deprecated readOnly writeOnly default definitions externalDocs xml discriminator',
);

/** The keywords with a dollar sign that are not annotations, because they refer to other schemas. */
const references = keywordsOf('$ref $dynamicRef $recursiveRef');

/** Whether a keyword neither allows nor refuses values. An unknown keyword may refuse values, so it does not count. */
export function isAnnotation(keyword: string): boolean {
  if (keyword.startsWith('$')) return !references.has(keyword);
  return annotations.has(keyword) || keyword.startsWith('x-');
}

/** The keywords whose content `Shape` (a normalized schema) keeps in separate properties. */
const compared = keywordsOf(
  `$ref allOf anyOf oneOf type const enum format contentEncoding contentMediaType pattern minLength maxLength
  minimum maximum exclusiveMinimum exclusiveMaximum multipleOf items prefixItems minItems maxItems uniqueItems
  properties patternProperties additionalProperties required minProperties maxProperties`,
);

/** Groups of keywords that have a meaning only together, such as `if` and `then`. */
export const groups = [
  ['if', 'then', 'else'],
  ['contains', 'minContains', 'maxContains'],
];

/**
 * Returns the keywords that `Shape` (a normalized schema) keeps in `rest`: all constraints without a property in
 * `Shape`. Keywords that have a meaning only together share an object.
 */
export function restOf(schema: JsonObject): JsonObject[] {
  const left = Object.keys(schema).filter(keyword => !isAnnotation(keyword) && !compared.has(keyword));
  const alone = left.filter(keyword => !groups.flat().includes(keyword)).map(keyword => [keyword]);
  return [...groups, ...alone]
    .map(list => list.filter(keyword => left.includes(keyword)))
    .filter(list => list.length > 0)
    .map(list => Object.fromEntries(list.map(keyword => [keyword, schema[keyword] ?? null])));
}
