import { childOf, childrenOf, exists, isTrue, itemsOf, type Located } from '../document.ts';
import { byFirst, canonicalText, type Json, type JsonObject } from '../json.ts';
import { type Atom, atomsOf, isMatch, propertiesOf, requiredOf, restOf } from './atoms.ts';
import { facets } from './facets.ts';
import {
  type Fields,
  type Fragment,
  isClosed,
  isNumber,
  isOpen,
  type Kind,
  kindOf,
  kinds,
  noFields,
  noMap,
  type SchemaReader,
  type Shape,
} from './shape.ts';

/** Merges schema objects (atoms) into one normalized schema (shape), which allows the values that all atoms allow. */
export function mergeAtoms(reader: SchemaReader, atoms: readonly Atom[], pointer: string): Shape {
  const allowed = kindsOf(atoms);
  const listed = valuesOf(atoms)?.filter(value => allowed.includes(kindOf(value)));
  const left = listed === undefined ? allowed : allowed.filter(kind => listed.some(value => kindOf(value) === kind));
  const isEvaluated = !hasAny(atoms, 'if') && !hasAny(atoms, 'dependentSchemas');
  const hasContains = hasAny(atoms, 'contains');
  return {
    pointer,
    fieldsPointer: pointer,
    kinds: left,
    values: listed,
    limits: limitsOf(atoms, left),
    ...(left.includes('array') ? itemsIn(atoms, isEvaluated && !hasContains) : { prefixItems: [], items: [] }),
    fields: left.includes('object') ? fieldsOf(reader, atoms, isEvaluated) : noFields,
    variants: [],
    rest: atoms
      .flatMap(({ value, isOutermost }) =>
        restOf(value).filter(({ unevaluatedProperties: fields, unevaluatedItems: items }) => {
          const isMerged =
            isEvaluated && isOutermost && (fields !== undefined || (items !== undefined && !hasContains));
          return !isMerged && fields !== true && items !== true;
        }),
      )
      .sort((a, b) => byFirst([canonicalText(a)], [canonicalText(b)])),
    ...annotationsOf(atoms),
  };
}

function hasAny(atoms: readonly Atom[], keyword: string): boolean {
  return atoms.some(({ value }) => Object.hasOwn(value, keyword));
}

export function annotationsOf(atoms: readonly Atom[]): Pick<Shape, 'discriminator' | 'fallback' | 'isDeprecated'> {
  return {
    discriminator: atoms.flatMap(atom => nodesAt(atom, 'discriminator'))[0],
    fallback: atoms.flatMap(atom => nodesAt(atom, 'default'))[0]?.value,
    isDeprecated: atoms.some(atom => isTrue(atom, 'deprecated')),
  };
}

function kindsOf(atoms: readonly Atom[]): Kind[] {
  let left: Kind[] = [...kinds];
  for (const { value } of atoms) {
    if (value.type === undefined) continue;
    const types = Array.isArray(value.type) ? value.type : [value.type];
    left = left.filter(kind => types.includes(kind) || (types.includes('number') && isNumber(kind)));
  }
  return left;
}

function valuesOf(atoms: readonly Atom[]): Json[] | undefined {
  let left: Map<string, Json> | undefined;
  for (const { value } of atoms) {
    for (const list of [value.enum, Object.hasOwn(value, 'const') ? [value.const as Json] : undefined]) {
      if (!Array.isArray(list)) continue;
      const texts = new Map(list.map(one => [canonicalText(one), one]));
      left = left === undefined ? texts : new Map([...left].filter(([text]) => texts.has(text)));
    }
  }
  return left && [...left].sort(byFirst).map(([, value]) => value);
}

/**
 * Merges the fields of all atoms. A field must satisfy every atom. If an atom does not list the field, the atom's
 * schema for additional fields applies.
 */
function fieldsOf({ marker }: SchemaReader, atoms: readonly Atom[], isEvaluated: boolean): Fields {
  const required = new Set(atoms.flatMap(requiredOf));
  const declared = atoms.map(propertiesOf);
  const names = new Set([...declared.flatMap(fields => [...fields.keys()]), ...required]);
  const properties = new Map<string, Fragment>();
  const hidden = new Map<string, string>();
  for (const name of [...names].sort()) {
    // concat() needs less memory than flatMap() here. flatMap() would reserve space for 17 elements in each of these
    // many short lists.
    const [first = [], ...others] = atoms.map((atom, n) => fieldOf(atom, name, declared[n]?.get(name)));
    const fragment = first.concat(...others);
    if (isClosed(fragment)) continue;
    if (marker && atomsOf(fragment)?.some(({ value }) => value[marker] === true)) {
      hidden.set(name, fragment[0]?.pointer ?? '#');
      required.delete(name);
    } else {
      properties.set(name, fragment);
    }
  }
  const additional = atoms.flatMap(atom => [
    ...limitsAt(atom, 'additionalProperties'),
    ...(isEvaluated && atom.isOutermost ? limitsAt(atom, 'unevaluatedProperties') : []),
  ]);
  return {
    properties,
    required,
    additional,
    patterned: hasAny(atoms, 'patternProperties') ? patternedOf(atoms) : noMap,
    hidden: hidden.size > 0 ? hidden : noMap,
  };
}

function patternedOf(atoms: readonly Atom[]): Map<string, Fragment> {
  const patterned = new Map<string, Fragment>();
  for (const [pattern, node] of atoms.flatMap(atom => childrenOf(childOf(atom, 'patternProperties')))) {
    patterned.set(pattern, [...(patterned.get(pattern) ?? []), node]);
  }
  return patterned;
}

function fieldOf(atom: Atom, name: string, declared: Located | undefined): Located[] {
  const matching = Object.keys((atom.value.patternProperties ?? {}) as JsonObject)
    .filter(pattern => isMatch(pattern, name))
    .flatMap(pattern => nodesAt(childOf(atom, 'patternProperties'), pattern));
  if (declared !== undefined || matching.length > 0) return declared ? [declared, ...matching] : matching;
  return limitsAt(atom, 'additionalProperties');
}

function nodesAt(node: Located, key: string): Located[] {
  return [childOf(node, key)].filter(exists);
}

/**
 * Returns a list with the schema of a keyword, such as `items`. The list is empty if this schema is missing or has no
 * constraint.
 */
function limitsAt(atom: Atom, key: string): Located[] {
  return nodesAt(atom, key).filter(one => !isOpen([one]));
}

function limitsOf(atoms: readonly Atom[], left: readonly Kind[]): Shape['limits'] {
  const used = facets.filter(({ kinds }) => kinds.some(kind => left.includes(kind)));
  const read = used.map(({ name, read }) => [name, read(atoms, !left.includes('fraction'))] as const);
  return Object.fromEntries(read.filter(([, { length }]) => length > 0));
}

/**
 * Merges the schemas of array items. If no atom has `items`, `unevaluatedItems` applies to the items after
 * `prefixItems`.
 */
function itemsIn(atoms: readonly Atom[], isEvaluated: boolean): Pick<Shape, 'prefixItems' | 'items'> {
  const lists = atoms.map(atom => ({ listed: itemsOf(childOf(atom, 'prefixItems')), others: limitsAt(atom, 'items') }));
  const length = Math.max(0, ...lists.map(({ listed }) => listed.length));
  const prefixItems = Array.from({ length }, (_, n) =>
    lists.flatMap(({ listed, others }) => (listed[n] ? [listed[n]] : others)),
  );
  if (!isEvaluated || hasAny(atoms, 'items')) return { prefixItems, items: lists.flatMap(({ others }) => others) };
  return { prefixItems, items: atoms.flatMap(atom => (atom.isOutermost ? limitsAt(atom, 'unevaluatedItems') : [])) };
}
