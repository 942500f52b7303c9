import { childOf, childrenOf, type Located, targetOf, textOf } from '../document.ts';
import { canonicalText, quote } from '../json.ts';
import { pointerOf } from './atoms.ts';
import { pairOf, report, type SchemaComparison, type SchemaPair } from './pair.ts';
import { readShape } from './read-shape.ts';
import { isDisjoint, type SchemaReader, type Shape, typesOf } from './shape.ts';
import { identityAt, identityOf } from './write-schema.ts';

/** Returns whether the head schema can replace the base schema without an effect on clients. */
type SafetyTest = (comparison: SchemaComparison, base: Shape, head: Shape) => boolean;

/** Compares the alternatives of two schemas. A schema without `anyOf` or `oneOf` counts as one alternative. */
export function compareVariants(pair: SchemaPair, isSafe: SafetyTest): void {
  const { comparison, direction } = pair;
  const had = variantsOf(comparison.base, pair.base);
  const has = variantsOf(comparison.head, pair.head);
  const pairs = pairUp(had, has);
  const place = { kind: 'alternative', field: '' } as const;
  for (const { one, other } of pairs) pair.inner.push({ pair: pairOf(comparison, one.shape, other.shape), place });
  // An alternative that only the sender has makes no difference if an alternative of the receiver includes its values.
  for (const one of had.filter(one => !pairs.some(both => both.one === one))) {
    const isTaken = (by: Variant) => !isOtherMark(one, by) && isSafe(comparison, one.shape, by.shape);
    if (direction === 'response' || !has.some(isTaken)) reportVariant(pair, one, 'removed', had);
  }
  for (const one of has.filter(one => !pairs.some(both => both.other === one))) {
    const isTaken = (by: Variant) => !isOtherMark(one, by) && isSafe(comparison, by.shape, one.shape);
    if (direction === 'request' || !had.some(isTaken)) reportVariant(pair, one, 'added', had);
  }
}

interface Variant {
  shape: Shape;
  identity: () => string;
  /** The values of the constant fields, which identify the alternative. */
  marks: Map<string, string>;
  /** The types of an alternative. These types identify the alternative if no other alternative has the same types. */
  types: string;
}

function variantsOf(reader: SchemaReader, shape: Shape): Variant[] {
  const shapes = shape.variants.length > 0 ? shape.variants : [shape];
  // Skips an alternative that is only null, because separate rules report null.
  const variants = shapes
    .filter(({ kinds }) => kinds.length > 1 || !kinds.includes('null'))
    .map(one => {
      const types = typesOf(one.kinds.filter(kind => kind !== 'null')).join();
      return { shape: one, identity: () => identityOf(reader, one), marks: marksOf(reader, one), types };
    });
  return variants.filter((one, n) => !variants.slice(0, n).some(other => isSameVariant(one, other)));
}

function marksOf(reader: SchemaReader, shape: Shape): Map<string, string> {
  const marks = new Map<string, string>();
  for (const [name, fragment] of shape.fields.properties) {
    if (!shape.fields.required.has(name)) continue;
    const { values } = readShape(reader, fragment);
    if (values?.length === 1) marks.set(name, canonicalText(values));
  }
  return marks;
}

/**
 * Finds pairs of corresponding alternatives in the two schemas. The most reliable test comes first. Each test considers
 * only the alternatives that the earlier tests have not paired.
 */
function pairUp(had: readonly Variant[], has: readonly Variant[]): { one: Variant; other: Variant }[] {
  const [left, right] = [new Set(had), new Set(has)];
  const pairs: { one: Variant; other: Variant }[] = [];
  const tests: ((one: Variant, other: Variant) => boolean)[] = [
    // Alternatives with the same name form a pair, unless their constant fields differ. Later code compares their other
    // parts.
    (one, other) =>
      one.shape.pointer.startsWith('#/components/') &&
      one.shape.pointer === other.shape.pointer &&
      (isSameMark(one, other) || one.marks.size + other.marks.size === 0),
    isSameVariant,
    isSameMark,
    (one, other) => !isOtherMark(one, other) && one.types === other.types && isOnly(one, left) && isOnly(other, right),
    (one, other) => left.size === 1 && right.size === 1 && !isOtherMark(one, other) && one.types === other.types,
  ];
  for (const test of tests) {
    for (const one of had) {
      const other = left.has(one) ? has.find(candidate => right.has(candidate) && test(one, candidate)) : undefined;
      if (other === undefined) continue;
      left.delete(one);
      right.delete(other);
      pairs.push({ one, other });
    }
  }
  return pairs;
}

/** Whether two alternatives have the same content. The cheap checks come before the costly comparison of identities. */
function isSameVariant(one: Variant, other: Variant): boolean {
  if (one.shape === other.shape) return true;
  return one.types === other.types && !isOtherMark(one, other) && one.identity() === other.identity();
}

function isSameMark(one: Variant, other: Variant): boolean {
  return [...one.marks].some(([name, value]) => other.marks.get(name) === value) && !isOtherMark(one, other);
}

function isOtherMark(one: Variant, other: Variant): boolean {
  return [...one.marks].some(([name, value]) => other.marks.has(name) && other.marks.get(name) !== value);
}

/** Whether no other alternative in `among` has the same types as this alternative. */
function isOnly(variant: Variant, among: ReadonlySet<Variant>): boolean {
  return [...among].every(one => one === variant || one.types !== variant.types);
}

function reportVariant(pair: SchemaPair, one: Variant, turn: 'removed' | 'added', had: readonly Variant[]): void {
  const { direction } = pair;
  const { shape, types } = one;
  // The comparison of types has already reported an alternative of a type that the other document does not allow.
  const others = turn === 'removed' ? pair.head.kinds : pair.base.kinds;
  if (isDisjoint(shape.kinds, others)) return;
  const at = turn === 'removed' ? { base: shape.pointer } : { head: shape.pointer };
  const what = `${turn === 'removed' ? 'is no longer' : 'may be'} ${nameOf(one)}`;
  const isFirst = direction === 'response' && turn === 'added' && had.filter(other => other.types === types).length < 2;
  const rule = isFirst ? 'response-variant-introduced' : (`${direction}-variant-${turn}` as const);
  report(pair, rule, what, at);
}

/** Returns the name of a schema under `components`. */
function schemaNameOf(pointer: string): string | undefined {
  return /^#\/components\/schemas\/([^/]+)$/.exec(pointer)?.[1];
}

function nameOf({ shape, types, marks }: Variant): string {
  const name = schemaNameOf(shape.pointer);
  if (name !== undefined) return quote(name);
  const [mark] = marks;
  const kind = types === '' ? 'another alternative' : `another ${types.replaceAll(',', ' or ')}`;
  return mark === undefined ? kind : `${kind} with ${quote(mark[0])} ${mark[1].slice(1, -1)}`;
}

/** Compares discriminator fields. Also compares which alternative each value of the field selects. */
export function compareDiscriminators(pair: SchemaPair): void {
  const [base, head] = [pair.base.discriminator, pair.head.discriminator];
  if (base === undefined) return;
  const { direction } = pair;
  const at = { base: base.pointer, head: head?.pointer ?? pair.head.pointer };
  const [field, newField] = [base, head].map(one => (one && textOf(one, 'propertyName')) ?? '');
  const name = quote(field ?? '');
  if (head === undefined) {
    // If only one alternative remains, no discriminator is needed.
    if (pair.head.variants.length > 0) {
      report(pair, 'discriminator-removed', `no longer has the discriminator ${name}`, at);
    }
  } else if (newField !== field) {
    const what = `has the discriminator ${quote(newField ?? '')} instead of ${name}`;
    report(pair, `${direction}-discriminator-changed`, what, at);
  } else {
    const had = meaningsOf(pair.comparison.base, pair.base, base);
    const has = meaningsOf(pair.comparison.head, pair.head, head);
    for (const [value, meaning] of had) {
      const now = has.get(value);
      // An alternative counts as unchanged if it has the same name or the same content as before.
      const isSame = now && (now.pointer === meaning.pointer || now.text === meaning.text);
      if (isSame ?? direction === 'response') continue;
      const message = `the value ${quote(value)} of ${name} means ${now ? 'another alternative' : 'nothing any more'}.`;
      report(pair, `${direction}-discriminator-changed`, () => message, at);
    }
  }
}

/** The alternatives of a union. The key is the value of the discriminator field that selects the alternative. */
type Meanings = Map<string, { pointer: string; text: string }>;

function meaningsOf(reader: SchemaReader, shape: Shape, discriminator: Located): Meanings {
  const meanings: Meanings = new Map();
  const add = (value: string, target: Located) =>
    meanings.set(value, { text: identityAt(reader, [target]), pointer: pointerOf([target]) });
  for (const [value, target] of childrenOf(childOf(discriminator, 'mapping'))) {
    const reference = String(target.value);
    const isName = /^[A-Za-z0-9._-]+$/.test(reference);
    add(value, targetOf(target, isName ? `#/components/schemas/${reference}` : reference));
  }
  const mapped = new Set([...meanings.values()].map(({ pointer }) => pointer));
  const field = textOf(discriminator, 'propertyName') ?? '';
  for (const variant of shape.variants) {
    const name = schemaNameOf(variant.pointer);
    const fragment = variant.fields.properties.get(field);
    const isListed = fragment !== undefined && readShape(reader, fragment).values !== undefined;
    // If a schema has no entry in `mapping`, its own name selects it, unless the schema fixes the value of the field.
    if (name === undefined || mapped.has(variant.pointer) || isListed) continue;
    add(name, targetOf(discriminator, variant.pointer));
  }
  return meanings;
}
