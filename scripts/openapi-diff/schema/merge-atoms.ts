import { childOf, childrenOf, itemsOf, type Located, type OpenApiDocument } from '../document.ts';
import { byFirst, canonicalText, type Json, type JsonObject, memberOf } from '../json.ts';
import { type Atom, atomsOf, isMatch, propertiesOf, requiredOf } from './atoms.ts';
import { restOf } from './keywords.ts';
import {
  type Direction,
  type Fragment,
  isClosed,
  isOpen,
  type Kind,
  kindOf,
  kinds,
  type Limit,
  type Shape,
  type Size,
  sizes,
} from './shape.ts';

/** Merges schema objects (atoms) into one normalized schema (shape), which allows the values that all atoms allow. */
export function mergeAtoms(
  document: OpenApiDocument,
  direction: Direction,
  atoms: readonly Atom[],
  pointer: string,
): Shape {
  const allowed = kindsOf(atoms);
  const listed = valuesOf(atoms)?.filter(value => allowed.includes(kindOf(value)));
  const left = listed === undefined ? allowed : allowed.filter(kind => listed.some(value => kindOf(value) === kind));
  const isEvaluated = atoms.every(
    ({ value }) => !Object.hasOwn(value, 'if') && !Object.hasOwn(value, 'dependentSchemas'),
  );
  const hasContains = atoms.some(({ value }) => Object.hasOwn(value, 'contains'));
  const fields = left.includes('object') ? fieldsOf(document, direction, atoms, isEvaluated) : noFields;
  const lists = left.includes('array');
  const isNumeric = left.some(isNumber);
  const prefixItems = lists ? prefixItemsOf(atoms) : [];
  const multiples = numbersOf(atoms, 'multipleOf').filter(one => one !== 1 || left.includes('fraction'));
  return {
    pointer,
    fieldsPointer: pointer,
    kinds: left,
    values: listed,
    lower: isNumeric ? lowerOf(atoms, !left.includes('fraction')) : undefined,
    upper: isNumeric ? upperOf(atoms, !left.includes('fraction')) : undefined,
    sizes: sizesOf(atoms, left),
    multiples: isNumeric ? [...new Set(multiples)].sort((a, b) => a - b) : [],
    patterns: left.includes('string') ? textsOf(atoms, 'pattern') : [],
    formats: isNumeric || left.includes('string') ? formatsOf(atoms) : [],
    isUnique: lists && atoms.some(({ value }) => value.uniqueItems === true),
    ...fields,
    prefixItems,
    items: lists ? restItemsOf(atoms, isEvaluated && !hasContains) : [],
    variants: [],
    discriminator: atoms.map(atom => childOf(atom, 'discriminator')).find(one => one !== undefined),
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

export function annotationsOf(atoms: readonly Atom[]): Pick<Shape, 'fallback' | 'isDeprecated'> {
  return {
    fallback: atoms.map(atom => memberOf(atom.value, 'default')).find(value => value !== undefined),
    isDeprecated: atoms.some(({ value }) => value.deprecated === true),
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

function isNumber(kind: Kind): boolean {
  return kind === 'integer' || kind === 'fraction';
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

type Fields = Pick<Shape, 'properties' | 'required' | 'additional' | 'patterned' | 'hidden'>;

const noFields: Fields = {
  properties: new Map(),
  required: new Set(),
  additional: [],
  patterned: new Map(),
  hidden: new Map(),
};

/** Merges the fields of all atoms. A field must satisfy every atom: as a described field, or as an additional field. */
function fieldsOf(
  document: OpenApiDocument,
  direction: Direction,
  atoms: readonly Atom[],
  isEvaluated: boolean,
): Fields {
  const required = new Set(atoms.flatMap(requiredOf));
  const declared = atoms.map(propertiesOf);
  const names = new Set([...declared.flatMap(fields => [...fields.keys()]), ...required]);
  const properties = new Map<string, Fragment>();
  const hidden = new Map<string, string>();
  for (const name of [...names].sort()) {
    const fragment = atoms.flatMap((atom, n) => fieldOf(atom, name, declared[n]?.get(name)));
    if (isClosed(fragment)) continue;
    const marker = direction === 'request' ? 'readOnly' : 'writeOnly';
    if (atomsOf(document, fragment)?.some(({ value }) => value[marker] === true)) {
      hidden.set(name, fragment[0]?.pointer ?? '#');
      required.delete(name);
    } else {
      properties.set(name, fragment);
    }
  }
  const additional = atoms.flatMap(atom => [
    ...nodesAt(atom, 'additionalProperties'),
    ...(isEvaluated && atom.isOutermost ? nodesAt(atom, 'unevaluatedProperties') : []),
  ]);
  const patterned = new Map<string, Fragment>();
  for (const [pattern, node] of atoms.flatMap(atom => childrenOf(childOf(atom, 'patternProperties')))) {
    patterned.set(pattern, [...(patterned.get(pattern) ?? []), node]);
  }
  return { properties, required, additional: additional.filter(one => !isOpen([one])), patterned, hidden };
}

function fieldOf(atom: Atom, name: string, declared: Located | undefined): Located[] {
  const matching = Object.keys((atom.value.patternProperties ?? {}) as JsonObject)
    .filter(pattern => isMatch(pattern, name))
    .flatMap(pattern => nodesAt(childOf(atom, 'patternProperties'), pattern));
  if (declared !== undefined || matching.length > 0) return declared ? [declared, ...matching] : matching;
  return nodesAt(atom, 'additionalProperties').filter(one => !isOpen([one]));
}

function nodesAt(node: Located | undefined, key: string): Located[] {
  const child = childOf(node, key);
  return child === undefined ? [] : [child];
}

function itemsSchemaOf(atom: Atom): Located[] {
  return nodesAt(atom, 'items').filter(one => !isOpen([one]));
}

/** Returns the schema of the items after `prefixItems`. Without `items`, `unevaluatedItems` applies to these items. */
function restItemsOf(atoms: readonly Atom[], isEvaluated: boolean): Located[] {
  if (!isEvaluated || atoms.some(({ value }) => Object.hasOwn(value, 'items'))) return atoms.flatMap(itemsSchemaOf);
  return atoms
    .flatMap(atom => (atom.isOutermost ? nodesAt(atom, 'unevaluatedItems') : []))
    .filter(one => !isOpen([one]));
}

function prefixItemsOf(atoms: readonly Atom[]): Fragment[] {
  const lists = atoms.map(atom => ({ listed: itemsOf(childOf(atom, 'prefixItems')), others: itemsSchemaOf(atom) }));
  const length = Math.max(0, ...lists.map(({ listed }) => listed.length));
  return Array.from({ length }, (_, n) => lists.flatMap(({ listed, others }) => (listed[n] ? [listed[n]] : others)));
}

function numbersOf(atoms: readonly Atom[], keyword: string): number[] {
  return atoms.map(({ value }) => value[keyword]).filter(value => typeof value === 'number');
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

/** Returns the highest lower bound. For an integer, above 0 is the same as at least 1. */
function lowerOf(atoms: readonly Atom[], isInteger: boolean): Limit | undefined {
  const limits = [
    ...numbersOf(atoms, 'minimum').map(value => ({ value: isInteger ? Math.ceil(value) : value, isExclusive: false })),
    ...numbersOf(atoms, 'exclusiveMinimum').map(value =>
      isInteger ? { value: Math.floor(value) + 1, isExclusive: false } : { value, isExclusive: true },
    ),
  ];
  return limits.sort((a, b) => b.value - a.value || Number(b.isExclusive) - Number(a.isExclusive))[0];
}

function upperOf(atoms: readonly Atom[], isInteger: boolean): Limit | undefined {
  const limits = [
    ...numbersOf(atoms, 'maximum').map(value => ({ value: isInteger ? Math.floor(value) : value, isExclusive: false })),
    ...numbersOf(atoms, 'exclusiveMaximum').map(value =>
      isInteger ? { value: Math.ceil(value) - 1, isExclusive: false } : { value, isExclusive: true },
    ),
  ];
  return limits.sort((a, b) => a.value - b.value || Number(b.isExclusive) - Number(a.isExclusive))[0];
}

const kindOfSize = { Length: 'string', Items: 'array', Properties: 'object' } as const;

function sizesOf(atoms: readonly Atom[], left: readonly Kind[]): Map<Size, number> {
  const found = new Map<Size, number>();
  for (const size of sizes) {
    const values = numbersOf(atoms, size);
    if (values.length === 0 || !left.includes(kindOfSize[size.slice(3) as keyof typeof kindOfSize])) continue;
    const value = size.startsWith('min') ? Math.max(...values) : Math.min(...values);
    if (value > 0 || size.startsWith('max')) found.set(size, value);
  }
  return found;
}
