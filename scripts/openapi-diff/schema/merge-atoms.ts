import { childOf, childrenOf, isTrue, itemsOf, type Located } from '../document.ts';
import { byFirst, canonicalText, type Json, type JsonObject } from '../json.ts';
import { type Atom, atomsOf, isMatch, propertiesOf, requiredOf, restOf } from './atoms.ts';
import {
  type Fields,
  type Fragment,
  isClosed,
  isNumber,
  isOpen,
  type Kind,
  kindOf,
  kindOfSize,
  kinds,
  type Limit,
  type Lists,
  type Numbers,
  noFields,
  noLists,
  noMap,
  noNumbers,
  type SchemaReader,
  type Shape,
  type Size,
  sizes,
} from './shape.ts';

/** Merges schema objects (atoms) into one normalized schema (shape), which allows the values that all atoms allow. */
export function mergeAtoms(reader: SchemaReader, atoms: readonly Atom[], pointer: string): Shape {
  const allowed = kindsOf(atoms);
  const listed = valuesOf(atoms)?.filter(value => allowed.includes(kindOf(value)));
  const left = listed === undefined ? allowed : allowed.filter(kind => listed.some(value => kindOf(value) === kind));
  const isEvaluated = !hasAny(atoms, 'if') && !hasAny(atoms, 'dependentSchemas');
  const hasContains = hasAny(atoms, 'contains');
  const isNumeric = left.some(isNumber);
  return {
    pointer,
    fieldsPointer: pointer,
    kinds: left,
    values: listed,
    numbers: isNumeric ? numbersOf(atoms, !left.includes('fraction')) : noNumbers,
    sizes: sizesOf(atoms, left),
    patterns: left.includes('string') ? textsOf(atoms, 'pattern') : [],
    formats: isNumeric || left.includes('string') ? formatsOf(atoms) : [],
    lists: left.includes('array') ? listsOf(atoms, isEvaluated && !hasContains) : noLists,
    fields: left.includes('object') ? fieldsOf(reader, atoms, isEvaluated) : noFields,
    variants: [],
    rest: atoms
      .flatMap(({ value, isOutermost }) =>
        restOf(value).filter(one => {
          if (one.unevaluatedProperties === true || one.unevaluatedItems === true) return false;
          const isMerged = isEvaluated && isOutermost;
          if (Object.hasOwn(one, 'unevaluatedProperties')) return !isMerged;
          return !(Object.hasOwn(one, 'unevaluatedItems') && isMerged && !hasContains);
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
 * Merges the fields of all schema objects (atoms). Each atom either describes a field or has a rule for additional
 * fields, and the field must satisfy all atoms.
 */
function fieldsOf({ document, marker }: SchemaReader, atoms: readonly Atom[], isEvaluated: boolean): Fields {
  const required = new Set(atoms.flatMap(requiredOf));
  const declared = atoms.map(propertiesOf);
  const names = new Set([...declared.flatMap(fields => [...fields.keys()]), ...required]);
  const properties = new Map<string, Fragment>();
  const hidden = new Map<string, string>();
  for (const name of [...names].sort()) {
    // Does not use flatMap, which would reserve memory for 17 elements in each of these many short lists.
    const [first = [], ...others] = atoms.map((atom, n) => fieldOf(atom, name, declared[n]?.get(name)));
    const fragment = first.concat(...others);
    if (isClosed(fragment)) continue;
    if (marker && atomsOf(document, fragment)?.some(({ value }) => value[marker] === true)) {
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

function nodesAt(node: Located | undefined, key: string): Located[] {
  const child = childOf(node, key);
  return child === undefined ? [] : [child];
}

/** Returns the schema of a keyword, such as `items`. Returns undefined if this schema has no constraint. */
function limitsAt(atom: Atom, key: string): Located[] {
  return nodesAt(atom, key).filter(one => !isOpen([one]));
}

function listsOf(atoms: readonly Atom[], isEvaluated: boolean): Lists {
  return {
    isUnique: atoms.some(({ value }) => value.uniqueItems === true),
    prefixItems: prefixItemsOf(atoms),
    items: restItemsOf(atoms, isEvaluated),
  };
}

/**
 * Returns the schema of the array items after `prefixItems`. Without `items`, `unevaluatedItems` applies to these
 * items.
 */
function restItemsOf(atoms: readonly Atom[], isEvaluated: boolean): Located[] {
  if (!isEvaluated || hasAny(atoms, 'items')) return atoms.flatMap(atom => limitsAt(atom, 'items'));
  return atoms.flatMap(atom => (atom.isOutermost ? limitsAt(atom, 'unevaluatedItems') : []));
}

function prefixItemsOf(atoms: readonly Atom[]): Fragment[] {
  const lists = atoms.map(atom => ({ listed: itemsOf(childOf(atom, 'prefixItems')), others: limitsAt(atom, 'items') }));
  const length = Math.max(0, ...lists.map(({ listed }) => listed.length));
  return Array.from({ length }, (_, n) => lists.flatMap(({ listed, others }) => (listed[n] ? [listed[n]] : others)));
}

function textsOf(atoms: readonly Atom[], keyword: string): string[] {
  const texts = atoms.map(({ value }) => value[keyword]).filter(value => typeof value === 'string');
  return [...new Set(texts)].sort();
}

function formatsOf(atoms: readonly Atom[]): string[] {
  const encodings = textsOf(atoms, 'contentEncoding').map(one => `contentEncoding ${one}`);
  const mediaTypes = textsOf(atoms, 'contentMediaType').map(one => `contentMediaType ${one}`);
  return [...textsOf(atoms, 'format'), ...encodings, ...mediaTypes];
}

/** Returns the values of a numeric keyword, such as `minimum`, in all schema objects (atoms). */
function valuesAt(atoms: readonly Atom[], keyword: string): number[] {
  return atoms.map(({ value }) => value[keyword]).filter(value => typeof value === 'number');
}

function numbersOf(atoms: readonly Atom[], isInteger: boolean): Numbers {
  const multiples = valuesAt(atoms, 'multipleOf').filter(one => one !== 1 || !isInteger);
  // Negates the values, so that the same code can find the lowest upper bound and the highest lower bound.
  const upper = lowerOf(
    valuesAt(atoms, 'maximum').map(value => -value),
    valuesAt(atoms, 'exclusiveMaximum').map(value => -value),
    isInteger,
  );
  return {
    lower: lowerOf(valuesAt(atoms, 'minimum'), valuesAt(atoms, 'exclusiveMinimum'), isInteger),
    upper: upper && { ...upper, value: 0 - upper.value },
    multiples: [...new Set(multiples)].sort((a, b) => a - b),
  };
}

/** Returns the highest lower bound. For an integer, "greater than 0" is the same as "at least 1". */
function lowerOf(inclusive: readonly number[], exclusive: readonly number[], isInteger: boolean): Limit | undefined {
  const limits = [
    ...inclusive.map(value => ({ value: isInteger ? Math.ceil(value) : value, isExclusive: false })),
    ...exclusive.map(value =>
      isInteger ? { value: Math.floor(value) + 1, isExclusive: false } : { value, isExclusive: true },
    ),
  ];
  return limits.sort((a, b) => b.value - a.value || Number(b.isExclusive) - Number(a.isExclusive))[0];
}

function sizesOf(atoms: readonly Atom[], left: readonly Kind[]): Shape['sizes'] {
  const found: Partial<Record<Size, number>> = {};
  for (const size of sizes) {
    const values = valuesAt(atoms, size);
    if (values.length === 0 || !left.includes(kindOfSize(size))) continue;
    const value = size.startsWith('min') ? Math.max(...values) : Math.min(...values);
    if (value > 0 || size.startsWith('max')) found[size] = value;
  }
  return found;
}
