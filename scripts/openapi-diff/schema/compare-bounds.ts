import { quote } from '../sentence.ts';
import { report, type SchemaPair, turnOf } from './pair.ts';
import { type Kind, kindOfSize, type Limit, type Size, sizes } from './shape.ts';

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
