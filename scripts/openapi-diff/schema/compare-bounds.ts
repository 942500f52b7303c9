import { quote, sentence } from '../sentence.ts';
import { type Kind, type Limit, type Shape, type Size, sizes } from './shape.ts';
import { report, type Step } from './walk.ts';

/** Compares lengths, numbers, counts, patterns and formats. Compares only the types that both schemas allow. */
export function compareBounds(step: Step): void {
  const { base, head } = step;
  const has = (...kinds: Kind[]) => kinds.some(kind => base.kinds.includes(kind) && head.kinds.includes(kind));
  // If a schema lists its values, the list already limits them.
  if (base.values !== undefined || head.values !== undefined) return;
  compareSizes(step, size => has(size.endsWith('Length') ? 'string' : size.endsWith('Items') ? 'array' : 'object'));
  if (has('integer', 'fraction')) {
    compareLimits(step, 'at least', base.lower, head.lower);
    compareLimits(step, 'at most', base.upper, head.upper);
    compareMultiples(step);
  }
  if (has('array') && base.isUnique !== head.isUnique) {
    tell(step, head.isUnique ? 'narrowed' : 'widened', `may ${head.isUnique ? 'not ' : ''}repeat items`);
  }
  if (has('string')) comparePatterns(step);
  if (has('string', 'integer', 'fraction')) compareFormats(step);
}

type Turn = 'narrowed' | 'widened';

function tell(step: Step, turn: Turn, what: string): void {
  report(step, `${step.comparison.direction}-bound-${turn}`, `${sentence(step.site.subject)} ${what}.`);
}

const units = { Length: 'characters', Items: 'items', Properties: 'fields' } as const;

function compareSizes(step: Step, isShared: (size: Size) => boolean): void {
  for (const size of sizes) {
    const [had, has] = [step.base.sizes.get(size), step.head.sizes.get(size)];
    if (had === has || !isShared(size)) continue;
    const isMinimum = size.startsWith('min');
    const unit = units[size.slice(3) as keyof typeof units];
    const text = (value: number | undefined) =>
      value === undefined ? `any number of ${unit}` : `${isMinimum ? 'at least' : 'at most'} ${value} ${unit}`;
    const turn = isTighter(isMinimum, had, has) ? 'narrowed' : 'widened';
    tell(step, turn, `has ${text(has)} instead of ${text(had)}`);
  }
}

function isTighter(isMinimum: boolean, had: number | undefined, has: number | undefined): boolean {
  if (had === undefined || has === undefined) return had === undefined;
  return isMinimum ? has > had : has < had;
}

function compareLimits(
  step: Step,
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
  tell(step, isNarrower ? 'narrowed' : 'widened', `is ${text(has)} instead of ${text(had)}`);
}

function compareMultiples(step: Step): void {
  const { base, head } = step;
  const covers = (finer: readonly number[], coarser: readonly number[]) =>
    finer.every(one => coarser.some(other => Number.isInteger(other / one)));
  const text = ({ multiples }: Shape) =>
    multiples.length === 0 ? 'any number' : `a multiple of ${multiples.join(' and ')}`;
  const what = `is ${text(head)} instead of ${text(base)}`;
  const [isSafe, isReverse] = [covers(head.multiples, base.multiples), covers(base.multiples, head.multiples)];
  if (!isSafe && step.comparison.direction === 'request') tell(step, 'narrowed', what);
  else if (!isReverse && step.comparison.direction === 'response') tell(step, 'widened', what);
  else if (!isSafe) tell(step, 'narrowed', what);
  else if (!isReverse) tell(step, 'widened', what);
}

/** Compares patterns. Whether one pattern includes another is unknown, so a changed pattern is never additive. */
function comparePatterns(step: Step): void {
  const [had, has] = [step.base.patterns, step.head.patterns];
  const [isMore, isLess] = [has.some(one => !had.includes(one)), had.some(one => !has.includes(one))];
  if (!isMore && !isLess) return;
  const text = (patterns: readonly string[]) =>
    patterns.length === 0 ? 'anything' : patterns.map(quote).join(' and ');
  const message = `${sentence(step.site.subject)} matches ${text(has)} instead of ${text(had)}.`;
  if (step.comparison.direction === 'request') {
    report(step, isMore ? 'request-pattern-changed' : 'request-pattern-removed', message);
  } else {
    report(step, isLess ? 'response-pattern-changed' : 'response-pattern-added', message);
  }
}

/** The wider format of each format. The wider format includes all values of the narrower one. */
const widerFormats: Readonly<Record<string, string>> = { int32: 'int64', float: 'double' };

function compareFormats(step: Step): void {
  const [had, has] = [step.base.formats, step.head.formats];
  const holds = (formats: readonly string[], format: string) =>
    formats.some(one => one === format || widerFormats[one] === format);
  const isNarrower = !has.every(format => holds(had, format));
  const isWider = !had.every(format => holds(has, format));
  if (!isNarrower && !isWider) return;
  const text = (formats: readonly string[]) =>
    formats.length === 0 ? 'no format' : `the format ${formats.map(format => quote(format)).join(' and ')}`;
  const message = `${sentence(step.site.subject)} has ${text(has)} instead of ${text(had)}.`;
  if (step.comparison.direction === 'request') {
    report(step, isNarrower ? 'request-format-narrowed' : 'request-format-widened', message);
  } else {
    report(step, isWider ? 'response-format-widened' : 'response-format-narrowed', message);
  }
}
