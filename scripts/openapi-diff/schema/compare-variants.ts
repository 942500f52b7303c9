import { canonicalText } from '../json.ts';
import { quote } from '../sentence.ts';
import { pairOf, report, type SchemaComparison, type SchemaPair } from './pair.ts';
import { readShape } from './read-shape.ts';
import { isDisjoint, type SchemaReader, type Shape, typesOf } from './shape.ts';
import { identityOf } from './write-schema.ts';

/** Returns whether the head schema can replace the base schema without an effect on clients. */
type SafetyTest = (comparison: SchemaComparison, base: Shape, head: Shape) => boolean;

/** Compares the alternatives of two schemas. A schema without `anyOf` or `oneOf` counts as one alternative. */
export function compareVariants(pair: SchemaPair, isSafe: SafetyTest): void {
  const { comparison, direction } = pair;
  const had = variantsOf(comparison.base, pair.base);
  const has = variantsOf(comparison.head, pair.head);
  const pairs = pairUp(had, has);
  const place = { kind: 'alternative', field: '', isAlwaysSent: false } as const;
  for (const { one, other } of pairs) pair.inner.push({ pair: pairOf(comparison, one.shape, other.shape), place });
  const removed = had.filter(one => !pairs.some(both => both.one === one));
  const added = has.filter(other => !pairs.some(both => both.other === other));
  // In a request, the removal of an alternative makes no difference if another alternative includes all its values.
  for (const one of removed) {
    const isTaken = (by: Variant) => !isOtherMark(one, by) && isSafe(comparison, one.shape, by.shape);
    if (direction === 'response' || !has.some(isTaken)) reportVariant(pair, one, 'removed', had);
  }
  for (const other of added) {
    const isTaken = (by: Variant) => !isOtherMark(other, by) && isSafe(comparison, by.shape, other.shape);
    if (direction === 'request' || !had.some(isTaken)) reportVariant(pair, other, 'added', had);
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
  const variants = shapes.filter(isMoreThanNull).map(one => {
    const types = typesOf(one.kinds.filter(kind => kind !== 'null')).join();
    return { shape: one, identity: () => identityOf(reader, one), marks: marksOf(reader, one), types };
  });
  return variants.filter((one, n) => !variants.slice(0, n).some(other => isSameVariant(one, other)));
}

/**
 * Whether a schema allows another type than null. The rules about null are separate from the rules about alternatives.
 */
function isMoreThanNull({ kinds }: Shape): boolean {
  return kinds.length > 1 || !kinds.includes('null');
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
 * Finds pairs of corresponding alternatives in the two schemas. Each test considers only the alternatives that the
 * earlier tests have not paired. The most reliable test comes first.
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

function reportVariant(
  pair: SchemaPair,
  { shape, types, marks }: Variant,
  turn: 'removed' | 'added',
  had: readonly Variant[],
): void {
  const { direction } = pair;
  // If the other document does not allow the type of the alternative at all, the comparison of types has already
  // reported this.
  const others = turn === 'removed' ? pair.head.kinds : pair.base.kinds;
  if (isDisjoint(shape.kinds, others)) return;
  const at = turn === 'removed' ? { base: shape.pointer } : { head: shape.pointer };
  const what = `${turn === 'removed' ? 'is no longer' : 'may be'} ${nameOf(shape, types, marks)}`;
  const isFirst = direction === 'response' && turn === 'added' && had.filter(one => one.types === types).length < 2;
  const rule = isFirst ? 'response-variant-introduced' : (`${direction}-variant-${turn}` as const);
  report(pair, rule, what, at);
}

/** Returns the name of a schema under `components`. Returns undefined for any other schema. */
export function schemaNameOf(pointer: string): string | undefined {
  return /^#\/components\/schemas\/([^/]+)$/.exec(pointer)?.[1];
}

function nameOf({ pointer }: Shape, types: string, marks: ReadonlyMap<string, string>): string {
  const name = schemaNameOf(pointer);
  if (name !== undefined) return quote(name);
  const [mark] = marks;
  const kind = types === '' ? 'another alternative' : `another ${types.replaceAll(',', ' or ')}`;
  return mark === undefined ? kind : `${kind} with ${quote(mark[0])} ${mark[1].slice(1, -1)}`;
}
