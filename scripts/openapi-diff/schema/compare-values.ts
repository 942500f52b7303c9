import { isSame, type Json, textOfValue, textOfValues } from '../json.ts';
import { type Facet, facets } from './facets.ts';
import { report, type SchemaPair } from './pair.ts';
import { isDisjoint, type Kind, kinds, type Limits, type Shape, typesOf } from './shape.ts';

export function compareValues(pair: SchemaPair): void {
  compareTypes(pair);
  if (pair.base.variants.length === 0 && pair.head.variants.length === 0) compareLists(pair);
  compareDefaults(pair);
  compareDeprecation(pair);
}

/** Compares the allowed types. Reports null separately, unless null is only one of all types of a schema. */
function compareTypes(pair: SchemaPair): void {
  const { base, head, direction } = pair;
  const hasEveryType = (shape: Shape) => kinds.every(kind => kind === 'integer' || shape.kinds.includes(kind));
  const isNullSeparate = !hasEveryType(base) && !hasEveryType(head);
  const typesIn = (shape: Shape) => shape.kinds.filter(kind => kind !== 'null' || !isNullSeparate);
  const [had, has] = [typesIn(base), typesIn(head)];
  const hasNull = head.kinds.includes('null');
  if (isNullSeparate && base.kinds.includes('null') !== hasNull) {
    const words = `may ${hasNull ? '' : 'no longer '}be ${direction === 'request' ? 'sent as ' : ''}null`;
    report(pair, `${direction}-null-${hasNull ? 'added' : 'removed'}`, words);
  }
  // If both schemas list their values, the types are not compared, because the comparison of the lists is more exact.
  if (base.values !== undefined && head.values !== undefined && !isDisjoint(had, has)) return;
  compareFacet(pair, types, had, has);
}

function compareLists(pair: SchemaPair): void {
  const { base, head, direction } = pair;
  if (base.values === undefined && head.values === undefined) return;
  // If the new schema allows none of the old types, another rule has already reported the change.
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
  const isResponse = direction === 'response';
  const isReplaced = isResponse && removed.length > 0 && removed.length === had.length && added.length > 0;
  const at = isResponse ? ({ only: 'no error key' } as const) : {};
  const oneOf = (values: readonly Json[]) => `${values.length === 1 ? '' : 'one of '}${textOfValues(values)}`;
  if (isReplaced) report(pair, 'response-enum-replaced', `is ${oneOf(has)} instead of ${oneOf(had)}`, at);
  const tell = (text: string, turn: 'removed' | 'added', verb: string, state: string) => {
    if (isResponse)
      report(pair, `error-key-${turn}`, () => `the error key ${text} is ${state}.`, { only: 'error key' });
    if (!isReplaced) report(pair, `${direction}-enum-value-${turn}`, `${verb} ${text}`, at);
  };
  for (const value of removed) tell(textOfValue(value), 'removed', 'is no longer', 'gone');
  for (const value of added) tell(textOfValue(value), 'added', 'may be', 'new');
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
  if (!base.isDeprecated && head.isDeprecated) report(pair, 'deprecated', 'is deprecated');
  if (base.isDeprecated && !head.isDeprecated) report(pair, 'deprecation-lifted', 'is no longer deprecated');
}

const types: Pick<Facet, 'rule' | 'verb' | 'text' | 'refuses'> = {
  rule: 'type',
  verb: 'is',
  text: allowed => {
    const names = typesOf(allowed as Kind[]);
    if (names.length >= 6) return 'of any type';
    const articles = names.map(name => (name === 'null' ? name : /^[aeiou]/.test(name) ? `an ${name}` : `a ${name}`));
    return articles.join(' or ') || 'nothing';
  },
  refuses: (some, others) => others.some(kind => !some.includes(kind)),
};

/** Compares lengths, numbers, counts, patterns and formats, of types that both schemas allow. */
export function compareLimits(pair: SchemaPair): void {
  const { base, head } = pair;
  // Skips a schema with a list of values, because the list itself limits the values.
  if (base.values !== undefined || head.values !== undefined) return;
  const common = base.kinds.filter(kind => head.kinds.includes(kind));
  for (const facet of facets) {
    if (isDisjoint(facet.kinds, common)) continue;
    compareFacet(pair, facet, base.limits[facet.name] ?? [], head.limits[facet.name] ?? []);
  }
}

const patternRules = {
  request: { narrowed: 'request-pattern-changed', widened: 'request-pattern-removed' },
  response: { narrowed: 'response-pattern-added', widened: 'response-pattern-changed' },
} as const;

/**
 * Reports a change of a limit, such as the allowed types or a maximum length. If the new limit both excludes old values
 * and allows new values, reports only the change that breaks clients in this direction.
 */
function compareFacet(pair: SchemaPair, facet: typeof types, had: Limits, has: Limits): void {
  const { rule, verb, text, refuses } = facet;
  const { direction } = pair;
  const [isNarrower, isWider] = [refuses(has, had), refuses(had, has)];
  if (!isNarrower && !isWider) return;
  const turn = isNarrower && (direction === 'request' || !isWider) ? 'narrowed' : 'widened';
  const id = rule === 'pattern' ? patternRules[direction][turn] : (`${direction}-${rule}-${turn}` as const);
  report(pair, id, `${verb} ${text(has)} instead of ${text(had)}`);
}
