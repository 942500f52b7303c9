import { isSame, type Json } from '../json.ts';
import { oneOf, quote, textOfValue, textOfValues } from '../sentence.ts';
import { report, type SchemaPair, turnOf } from './pair.ts';
import { isDisjoint, type Kind, kindOfSize, type Limit, type Shape, type Size, sizes, typesOf } from './shape.ts';

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
  const { base, head, comparison } = pair;
  const { direction } = comparison;
  const [had, has] = [base.kinds.includes('null'), head.kinds.includes('null')];
  if (had === has || hasEveryKind(base) || hasEveryKind(head)) return;
  const words = `may ${has ? '' : 'no longer '}be ${direction === 'request' ? 'sent as ' : ''}null`;
  report(pair, `${direction}-null-${has ? 'added' : 'removed'}`, subject => `${subject} ${words}.`);
}

function compareTypes(pair: SchemaPair): void {
  const { base, head } = pair;
  const withoutNull = (shape: Shape, other: Shape) =>
    hasEveryKind(shape) || hasEveryKind(other) ? shape.kinds : shape.kinds.filter(kind => kind !== 'null');
  const [had, has] = [withoutNull(base, head), withoutNull(head, base)];
  // If both schemas list their values, the comparison of the lists is more exact than the types.
  if (base.values !== undefined && head.values !== undefined && !isDisjoint(had, has)) return;
  const turn = turnOf(
    pair,
    had.some(kind => !has.includes(kind)),
    has.some(kind => !had.includes(kind)),
  );
  if (turn === undefined) return;
  const what = `is ${textOfTypes(has)} instead of ${textOfTypes(had)}`;
  report(pair, `${pair.comparison.direction}-type-${turn}`, subject => `${subject} ${what}.`);
}

function textOfTypes(of: readonly Kind[]): string {
  const types = typesOf(of);
  if (types.length >= 6) return 'of any type';
  const articles = types.map(type => (type === 'null' ? type : /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`));
  return articles.length === 0 ? 'nothing' : articles.join(' or ');
}

function compareLists(pair: SchemaPair): void {
  const { base, head, comparison } = pair;
  const { direction } = comparison;
  if (base.values === undefined && head.values === undefined) return;
  // If the new schema allows no type of the old schema, that change is already reported.
  if (isDisjoint(base.kinds, head.kinds)) return;
  if (base.values === undefined || head.values === undefined) {
    const list = `one of ${textOfValues(base.values ?? head.values ?? [])}`;
    const what = base.values ? `any value instead of ${list}` : `${list} instead of any value`;
    report(pair, `${direction}-enum-${base.values ? 'dropped' : 'introduced'}`, subject => `${subject} is ${what}.`);
    return;
  }
  // Ignores null in both lists, because another rule reports whether null is still allowed.
  const had = base.values.filter(value => value !== null);
  const has = head.values.filter(value => value !== null);
  const removed = had.filter(value => !has.some(one => isSame(one, value)));
  const added = has.filter(value => !had.some(one => isSame(one, value)));
  if (direction === 'response') reportErrorKeys(pair, removed, added);
  const at = direction === 'response' ? ({ only: 'no error key' } as const) : {};
  if (direction === 'response' && removed.length > 0 && removed.length === had.length && added.length > 0) {
    report(pair, 'response-enum-replaced', subject => `${subject} is ${oneOf(has)} instead of ${oneOf(had)}.`, at);
    return;
  }
  for (const value of removed) {
    report(pair, `${direction}-enum-value-removed`, subject => `${subject} is no longer ${textOfValue(value)}.`, at);
  }
  for (const value of added) {
    report(pair, `${direction}-enum-value-added`, subject => `${subject} may be ${textOfValue(value)}.`, at);
  }
}

function reportErrorKeys(pair: SchemaPair, removed: readonly Json[], added: readonly Json[]): void {
  const at = { only: 'error key' } as const;
  for (const key of removed) {
    report(pair, 'error-key-removed', () => `the error key ${textOfValue(key)} is gone.`, at);
  }
  for (const key of added) report(pair, 'error-key-added', () => `the error key ${textOfValue(key)} is new.`, at);
}

function compareDefaults(pair: SchemaPair): void {
  const { base, head, comparison } = pair;
  const { direction } = comparison;
  const at = { only: 'optional' } as const;
  if (isSame(base.fallback, head.fallback)) return;
  if (base.fallback === undefined) {
    const value = textOfValue(head.fallback ?? null);
    report(pair, `${direction}-default-added`, subject => `without ${subject}, ${value} is meant.`, at);
    return;
  }
  const now = head.fallback === undefined ? 'nothing is described to be' : `${textOfValue(head.fallback)} is`;
  const was = textOfValue(base.fallback);
  report(pair, `${direction}-default-changed`, subject => `without ${subject}, ${now} meant, and was ${was}.`, at);
}

function compareDeprecation(pair: SchemaPair): void {
  const { base, head } = pair;
  if (base.isDeprecated === head.isDeprecated) return;
  if (head.isDeprecated) report(pair, 'deprecated', subject => `${subject} is deprecated.`);
  else report(pair, 'deprecation-lifted', subject => `${subject} is no longer deprecated.`);
}

/** Compares lengths, numbers, counts, patterns and formats. Compares only the types that both schemas allow. */
export function compareBounds(pair: SchemaPair): void {
  const { base, head } = pair;
  const has = (...kinds: Kind[]) => kinds.some(kind => base.kinds.includes(kind) && head.kinds.includes(kind));
  // If a schema lists its values, the list already limits them.
  if (base.values !== undefined || head.values !== undefined) return;
  compareSizes(pair, size => has(kindOfSize(size)));
  if (has('integer', 'fraction')) {
    compareLimits(pair, 'at least', base.numbers.lower, head.numbers.lower);
    compareLimits(pair, 'at most', base.numbers.upper, head.numbers.upper);
    compareMultiples(pair);
  }
  if (has('array') && base.lists.isUnique !== head.lists.isUnique) {
    tell(pair, head.lists.isUnique ? 'narrowed' : 'widened', `may ${head.lists.isUnique ? 'not ' : ''}repeat items`);
  }
  if (has('string')) comparePatterns(pair);
  if (has('string', 'integer', 'fraction')) compareFormats(pair);
}

function tell(pair: SchemaPair, turn: 'narrowed' | 'widened' | undefined, what: string): void {
  if (turn) report(pair, `${pair.comparison.direction}-bound-${turn}`, subject => `${subject} ${what}.`);
}

const units = { Length: 'characters', Items: 'items', Properties: 'fields' } as const;

function compareSizes(pair: SchemaPair, isShared: (size: Size) => boolean): void {
  for (const size of sizes) {
    const [had, has] = [pair.base.sizes[size], pair.head.sizes[size]];
    if (had === has || !isShared(size)) continue;
    const isMinimum = size.startsWith('min');
    const unit = units[size.slice(3) as keyof typeof units];
    const text = (value: number | undefined) =>
      value === undefined ? `any number of ${unit}` : `${isMinimum ? 'at least' : 'at most'} ${value} ${unit}`;
    const turn = isTighter(isMinimum, had, has) ? 'narrowed' : 'widened';
    tell(pair, turn, `has ${text(has)} instead of ${text(had)}`);
  }
}

function isTighter(isMinimum: boolean, had: number | undefined, has: number | undefined): boolean {
  if (had === undefined || has === undefined) return had === undefined;
  return isMinimum ? has > had : has < had;
}

function compareLimits(
  pair: SchemaPair,
  words: 'at least' | 'at most',
  had: Limit | undefined,
  has: Limit | undefined,
): void {
  if (had?.value === has?.value && had?.isExclusive === has?.isExclusive) return;
  const text = (limit: Limit | undefined) => {
    if (limit === undefined) return 'without bound';
    const exclusive = words === 'at least' ? 'above' : 'below';
    return `${limit.isExclusive ? exclusive : words} ${limit.value}`;
  };
  const isNarrower =
    had?.value === has?.value ? has?.isExclusive === true : isTighter(words === 'at least', had?.value, has?.value);
  tell(pair, isNarrower ? 'narrowed' : 'widened', `is ${text(has)} instead of ${text(had)}`);
}

function compareMultiples(pair: SchemaPair): void {
  const [base, head] = [pair.base.numbers.multiples, pair.head.numbers.multiples];
  const covers = (finer: readonly number[], coarser: readonly number[]) =>
    finer.every(one => coarser.some(other => Number.isInteger(other / one)));
  const text = (multiples: readonly number[]) =>
    multiples.length === 0 ? 'any number' : `a multiple of ${multiples.join(' and ')}`;
  const turn = turnOf(pair, !covers(head, base), !covers(base, head));
  tell(pair, turn, `is ${text(head)} instead of ${text(base)}`);
}

/** Compares patterns. Whether one pattern includes another is unknown, so a changed pattern is never additive. */
function comparePatterns(pair: SchemaPair): void {
  const [had, has] = [pair.base.patterns, pair.head.patterns];
  const turn = turnOf(
    pair,
    has.some(one => !had.includes(one)),
    had.some(one => !has.includes(one)),
  );
  if (turn === undefined) return;
  const text = (patterns: readonly string[]) =>
    patterns.length === 0 ? 'anything' : patterns.map(quote).join(' and ');
  const rule = (
    {
      request: { narrowed: 'request-pattern-changed', widened: 'request-pattern-removed' },
      response: { narrowed: 'response-pattern-added', widened: 'response-pattern-changed' },
    } as const
  )[pair.comparison.direction][turn];
  report(pair, rule, subject => `${subject} matches ${text(has)} instead of ${text(had)}.`);
}

/** The wider format of each format. The wider format includes all values of the narrower one. */
const widerFormats: Readonly<Record<string, string>> = { int32: 'int64', float: 'double' };

function compareFormats(pair: SchemaPair): void {
  const [had, has] = [pair.base.formats, pair.head.formats];
  const holds = (formats: readonly string[], format: string) =>
    formats.some(one => one === format || widerFormats[one] === format);
  const turn = turnOf(pair, !has.every(format => holds(had, format)), !had.every(format => holds(has, format)));
  if (turn === undefined) return;
  const text = (formats: readonly string[]) =>
    formats.length === 0 ? 'no format' : `the format ${formats.map(quote).join(' and ')}`;
  const what = `has ${text(has)} instead of ${text(had)}`;
  report(pair, `${pair.comparison.direction}-format-${turn}`, subject => `${subject} ${what}.`);
}
