import { childOf, childrenOf, exists, isTrue, itemsOf, type Located } from '../document.ts';
import { canonicalText, type Json, remember, sortedBy } from '../json.ts';
import { type Atom, atomsOf, restOf } from './atoms.ts';
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
  // The shape has properties for `unevaluatedProperties` and `unevaluatedItems` if they only consider merged keywords.
  const leftOf = ({ value, isOutermost }: Atom) =>
    restOf(value).filter(({ unevaluatedProperties: fields, unevaluatedItems: items }) => {
      const isMerged = isEvaluated && isOutermost && (fields !== undefined || (items !== undefined && !hasContains));
      return !isMerged && fields !== true && items !== true;
    });
  return {
    pointer,
    fieldsPointer: pointer,
    kinds: left,
    values: listed,
    limits: limitsOf(atoms, left),
    ...(left.includes('array') ? itemsIn(atoms, isEvaluated && !hasContains) : { prefixItems: [], items: [] }),
    fields: left.includes('object') ? fieldsOf(reader, atoms, isEvaluated) : noFields,
    variants: [],
    rest: sortedBy(atoms.flatMap(leftOf), canonicalText),
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
  const lists = atoms.flatMap(({ value: { type } }) => (type === undefined ? [] : [[type].flat()]));
  return kinds.filter(kind =>
    lists.every(types => types.includes(kind) || (types.includes('number') && isNumber(kind))),
  );
}

function valuesOf(atoms: readonly Atom[]): Json[] | undefined {
  const constants = atoms.flatMap(atom => nodesAt(atom, 'const')).map(({ value }) => [value as Json]);
  const lists = [...atoms.map(({ value }) => value.enum).filter(Array.isArray), ...constants];
  const [first, ...others] = lists.map(list => new Map(list.map(one => [canonicalText(one), one])));
  const common = first && [...first].filter(([text]) => others.every(other => other.has(text)));
  return common && sortedBy(common, ([text]) => text).map(([, value]) => value);
}

/**
 * Merges the fields of all atoms. A field must satisfy every atom. If an atom does not list the field, the atom's
 * schema for additional fields applies.
 */
function fieldsOf({ marker }: SchemaReader, atoms: readonly Atom[], isEvaluated: boolean): Fields {
  const required = new Set(
    atoms
      .flatMap(({ value: { required } }) => (Array.isArray(required) ? required : []))
      .filter(name => typeof name === 'string'),
  );
  const declared = atoms.map(atom => new Map(childrenOf(childOf(atom, 'properties'))));
  const names = new Set([...declared.flatMap(fields => [...fields.keys()]), ...required]);
  const properties = new Map<string, Fragment>();
  const hidden = new Map<string, string>();
  const patterned = new Map<string, Located[]>();
  for (const [pattern, node] of atoms.flatMap(atom => childrenOf(childOf(atom, 'patternProperties')))) {
    remember(patterned, pattern, () => []).push(node);
  }
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
    patterned: patterned.size > 0 ? patterned : noMap,
    hidden: hidden.size > 0 ? hidden : noMap,
  };
}

function fieldOf(atom: Atom, name: string, declared: Located | undefined): Located[] {
  const patterned = childrenOf(childOf(atom, 'patternProperties'));
  const matching = patterned.filter(([pattern]) => isMatch(pattern, name)).map(([, node]) => node);
  const listed = declared ? [declared, ...matching] : matching;
  return listed.length > 0 ? listed : limitsAt(atom, 'additionalProperties');
}

/** Whether a name matches a pattern of `patternProperties`. An invalid pattern matches no name. */
function isMatch(pattern: string, name: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(name);
  } catch {
    return false;
  }
}

function nodesAt(node: Located, key: string): Located[] {
  return [childOf(node, key)].filter(exists);
}

/** Returns a list with the schema of a keyword, such as `items`, if the schema has a constraint. */
function limitsAt(atom: Atom, key: string): Located[] {
  return nodesAt(atom, key).filter(one => !isOpen([one]));
}

function limitsOf(atoms: readonly Atom[], left: readonly Kind[]): Shape['limits'] {
  const used = facets.filter(({ kinds }) => kinds.some(kind => left.includes(kind)));
  const read = used.map(({ name, read }) => [name, read(atoms, !left.includes('fraction'))] as const);
  return Object.fromEntries(read.filter(([, { length }]) => length > 0));
}

/** Merges the schemas of array items. Without `items`, `unevaluatedItems` applies to the items after `prefixItems`. */
function itemsIn(atoms: readonly Atom[], isEvaluated: boolean): Pick<Shape, 'prefixItems' | 'items'> {
  const lists = atoms.map(atom => ({ listed: itemsOf(childOf(atom, 'prefixItems')), others: limitsAt(atom, 'items') }));
  const length = Math.max(0, ...lists.map(({ listed }) => listed.length));
  const prefixItems = Array.from({ length }, (_, n) =>
    lists.flatMap(({ listed, others }) => (listed[n] ? [listed[n]] : others)),
  );
  if (!isEvaluated || hasAny(atoms, 'items')) return { prefixItems, items: lists.flatMap(({ others }) => others) };
  return { prefixItems, items: atoms.flatMap(atom => (atom.isOutermost ? limitsAt(atom, 'unevaluatedItems') : [])) };
}
