import { isSame, type Json } from '../json.ts';
import { oneOf, quote, textOfValue, textOfValues } from '../sentence.ts';
import { report, type SchemaPair } from './pair.ts';
import { isDisjoint, type Kind, kindOfSize, type Limit, type Shape, sizes, typesOf } from './shape.ts';

export function compareValues(pair: SchemaPair): void {
  compareNull(pair);
  compareTypes(pair);
  if (pair.base.variants.length === 0 && pair.head.variants.length === 0) compareLists(pair);
  compareDefaults(pair);
  compareDeprecation(pair);
}

/** Whether a schema allows every type, so that null is only one of many types. */
function hasEveryKind(shape: Shape): boolean {
  return ['null', 'boolean', 'fraction', 'string', 'array', 'object'].every(kind => shape.kinds.includes(kind as Kind));
}

function compareNull(pair: SchemaPair): void {
  const { base, head, direction } = pair;
  const [had, has] = [base.kinds.includes('null'), head.kinds.includes('null')];
  if (had === has || hasEveryKind(base) || hasEveryKind(head)) return;
  const words = `may ${has ? '' : 'no longer '}be ${direction === 'request' ? 'sent as ' : ''}null`;
  report(pair, `${direction}-null-${has ? 'added' : 'removed'}`, words);
}

function compareTypes(pair: SchemaPair): void {
  const { base, head } = pair;
  const withoutNull = (shape: Shape, other: Shape) =>
    hasEveryKind(shape) || hasEveryKind(other) ? shape.kinds : shape.kinds.filter(kind => kind !== 'null');
  const [had, has] = [withoutNull(base, head), withoutNull(head, base)];
  // If both schemas list their values, the comparison of the lists is more exact than the types.
  if (base.values !== undefined && head.values !== undefined && !isDisjoint(had, has)) return;
  compareFacet(pair, types, had, has);
}

function compareLists(pair: SchemaPair): void {
  const { base, head, direction } = pair;
  if (base.values === undefined && head.values === undefined) return;
  // Another rule has already reported the change if the new schema allows no type of the old schema.
  if (isDisjoint(base.kinds, head.kinds)) return;
  if (base.values === undefined || head.values === undefined) {
    const list = `one of ${textOfValues(base.values ?? head.values ?? [])}`;
    const what = base.values ? `any value instead of ${list}` : `${list} instead of any value`;
    report(pair, `${direction}-enum-${base.values ? 'dropped' : 'introduced'}`, `is ${what}`);
    return;
  }
  // Ignores null in both lists, because another rule reports whether null is still allowed.
  const had = base.values.filter(value => value !== null);
  const has = head.values.filter(value => value !== null);
  const removed = had.filter(value => !has.some(one => isSame(one, value)));
  const added = has.filter(value => !had.some(one => isSame(one, value)));
  const isOther = removed.length > 0 && removed.length === had.length && added.length > 0;
  const isReplaced = direction === 'response' && isOther;
  const at = direction === 'response' ? ({ only: 'no error key' } as const) : {};
  if (isReplaced) report(pair, 'response-enum-replaced', `is ${oneOf(has)} instead of ${oneOf(had)}`, at);
  const tell = (value: Json, turn: 'removed' | 'added') => {
    const [text, isNew] = [textOfValue(value), turn === 'added'];
    const message = () => `the error key ${text} is ${isNew ? 'new' : 'gone'}.`;
    if (direction === 'response') report(pair, `error-key-${turn}`, message, { only: 'error key' });
    if (!isReplaced)
      report(pair, `${direction}-enum-value-${turn}`, `${isNew ? 'may be' : 'is no longer'} ${text}`, at);
  };
  for (const value of removed) tell(value, 'removed');
  for (const value of added) tell(value, 'added');
}

function compareDefaults(pair: SchemaPair): void {
  const { base, head, direction } = pair;
  if (isSame(base.fallback, head.fallback)) return;
  const [was, is] = [base, head].map(({ fallback }) => (fallback === undefined ? undefined : textOfValue(fallback)));
  const now = is ? `${is} is` : 'nothing is described to be';
  const what = was ? `${now} meant, and was ${was}` : `${now} meant`;
  const rule = `${direction}-default-${was ? 'changed' : 'added'}` as const;
  report(pair, rule, subject => `without ${subject}, ${what}.`, { only: 'optional' });
}

function compareDeprecation(pair: SchemaPair): void {
  const { base, head } = pair;
  if (base.isDeprecated === head.isDeprecated) return;
  if (head.isDeprecated) report(pair, 'deprecated', 'is deprecated');
  else report(pair, 'deprecation-lifted', 'is no longer deprecated');
}

/** A way to limit values, such as a list of types or a maximum length. */
interface Facet<Limits> {
  rule: 'type' | 'bound' | 'format' | 'pattern';
  verb: 'is' | 'has' | 'matches';
  text: (limits: Limits) => string;
  /** Whether the first limits refuse a value that the second limits allow. */
  refuses: (some: Limits, others: Limits) => boolean;
}

const types: Facet<readonly Kind[]> = {
  rule: 'type',
  verb: 'is',
  text: kinds => {
    const names = typesOf(kinds);
    if (names.length >= 6) return 'of any type';
    const articles = names.map(name => (name === 'null' ? name : /^[aeiou]/.test(name) ? `an ${name}` : `a ${name}`));
    return articles.join(' or ') || 'nothing';
  },
  refuses: (some, others) => others.some(kind => !some.includes(kind)),
};

const multiples: Facet<readonly number[]> = {
  rule: 'bound',
  verb: 'is',
  text: factors => (factors.length === 0 ? 'any number' : `a multiple of ${factors.join(' and ')}`),
  refuses: (some, others) => !some.every(one => others.some(other => Number.isInteger(other / one))),
};

/** Whether one pattern includes another is unknown, so a changed pattern is never additive. */
const patterns: Facet<readonly string[]> = {
  rule: 'pattern',
  verb: 'matches',
  text: expressions => expressions.map(quote).join(' and ') || 'anything',
  refuses: (some, others) => some.some(one => !others.includes(one)),
};

/** The wider format of each format. The wider format includes all values of the narrower one. */
const widerFormats: Readonly<Record<string, string>> = { int32: 'int64', float: 'double' };

const formats: Facet<readonly string[]> = {
  rule: 'format',
  verb: 'has',
  text: names => (names.length === 0 ? 'no format' : `the format ${names.map(quote).join(' and ')}`),
  refuses: (some, others) => !some.every(name => others.some(other => other === name || widerFormats[other] === name)),
};

const units = { Length: 'characters', Items: 'items', Properties: 'fields' } as const;

/** Returns the comparison of minimums or of maximums: of numbers, or of lengths and counts with a unit. */
function boundOf(isMinimum: boolean, unit?: string): Facet<Limit | undefined> {
  const [inclusive, exclusive] = isMinimum ? ['at least', 'above'] : ['at most', 'below'];
  return {
    rule: 'bound',
    verb: unit ? 'has' : 'is',
    text: limit => {
      if (limit === undefined) return unit ? `any number of ${unit}` : 'without bound';
      return `${limit.isExclusive ? exclusive : inclusive} ${limit.value}${unit ? ` ${unit}` : ''}`;
    },
    refuses: (some, others) => {
      if (some === undefined || others === undefined) return some !== undefined;
      if (some.value === others.value) return some.isExclusive && !others.isExclusive;
      return isMinimum ? some.value > others.value : some.value < others.value;
    },
  };
}

/** Compares lengths, numbers, counts, patterns and formats. Compares only the types that both schemas allow. */
export function compareBounds(pair: SchemaPair): void {
  const { base, head } = pair;
  const has = (...kinds: Kind[]) => kinds.some(kind => base.kinds.includes(kind) && head.kinds.includes(kind));
  // Skips the limits of a schema that lists its values, because the list is stricter.
  if (base.values !== undefined || head.values !== undefined) return;
  for (const size of sizes.filter(one => has(kindOfSize(one)))) {
    const [had, has] = [base.sizes[size], head.sizes[size]].map(value =>
      value === undefined ? undefined : { value, isExclusive: false },
    );
    compareFacet(pair, boundOf(size.startsWith('min'), units[size.slice(3) as keyof typeof units]), had, has);
  }
  if (has('integer', 'fraction')) {
    compareFacet(pair, boundOf(true), base.numbers.lower, head.numbers.lower);
    compareFacet(pair, boundOf(false), base.numbers.upper, head.numbers.upper);
    compareFacet(pair, multiples, base.numbers.multiples, head.numbers.multiples);
  }
  if (has('array') && base.lists.isUnique !== head.lists.isUnique) {
    const [turn, what] = head.lists.isUnique ? (['narrowed', 'may not'] as const) : (['widened', 'may'] as const);
    report(pair, `${pair.direction}-bound-${turn}`, `${what} repeat items`);
  }
  if (has('string')) compareFacet(pair, patterns, base.patterns, head.patterns);
  if (has('string', 'integer', 'fraction')) compareFacet(pair, formats, base.formats, head.formats);
}

const patternRules = {
  request: { narrowed: 'request-pattern-changed', widened: 'request-pattern-removed' },
  response: { narrowed: 'response-pattern-added', widened: 'response-pattern-changed' },
} as const;

/**
 * Reports a limit that some values were removed from or added to. If both happened, reports only the change that breaks
 * clients in this direction.
 */
function compareFacet<Limits>(pair: SchemaPair, facet: Facet<Limits>, had: Limits, has: Limits): void {
  const { rule, verb, text, refuses } = facet;
  const { direction } = pair;
  const [isNarrower, isWider] = [refuses(has, had), refuses(had, has)];
  if (!isNarrower && !isWider) return;
  const turn = isNarrower && (direction === 'request' || !isWider) ? 'narrowed' : 'widened';
  const id = rule === 'pattern' ? patternRules[direction][turn] : (`${direction}-${rule}-${turn}` as const);
  report(pair, id, `${verb} ${text(has)} instead of ${text(had)}`);
}
