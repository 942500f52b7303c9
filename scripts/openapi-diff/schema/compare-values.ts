import { isSame, type Json } from '../json.ts';
import { oneOf, sentence, textOfValue, textOfValues } from '../sentence.ts';
import { isDisjoint, type Kind, type Shape, typesOf } from './shape.ts';
import { report, type Step } from './walk.ts';

export function compareValues(step: Step): void {
  compareNull(step);
  compareTypes(step);
  if (step.base.variants.length === 0 && step.head.variants.length === 0) compareLists(step);
  compareDefaults(step);
  compareDeprecation(step);
}

/** Whether a schema allows every type, so that null is only one of many types. */
function hasEveryKind(shape: Shape): boolean {
  return ['null', 'boolean', 'fraction', 'string', 'array', 'object'].every(kind => shape.kinds.includes(kind as Kind));
}

function compareNull(step: Step): void {
  const { base, head, site } = step;
  const { direction } = step.comparison;
  const [had, has] = [base.kinds.includes('null'), head.kinds.includes('null')];
  if (had === has || hasEveryKind(base) || hasEveryKind(head)) return;
  const may = direction === 'request' ? 'may be sent as' : 'may be';
  if (has) report(step, `${direction}-null-added`, `${sentence(site.subject)} ${may} null.`);
  else
    report(step, `${direction}-null-removed`, `${sentence(site.subject)} ${may.replace('may', 'may no longer')} null.`);
}

function compareTypes(step: Step): void {
  const { base, head, site } = step;
  const { direction } = step.comparison;
  const withoutNull = (shape: Shape, other: Shape) =>
    hasEveryKind(shape) || hasEveryKind(other) ? shape.kinds : shape.kinds.filter(kind => kind !== 'null');
  const [had, has] = [withoutNull(base, head), withoutNull(head, base)];
  const isNarrower = had.some(kind => !has.includes(kind));
  const isWider = has.some(kind => !had.includes(kind));
  // If both schemas list their values, the comparison of the lists is more exact than the types.
  const isListed = base.values !== undefined && head.values !== undefined && !isDisjoint(had, has);
  if (isListed || (!isNarrower && !isWider)) return;
  const message = `${sentence(site.subject)} is ${textOfTypes(has)} instead of ${textOfTypes(had)}.`;
  const isGrave = direction === 'request' ? isNarrower : isWider;
  if (direction === 'request') report(step, isGrave ? 'request-type-narrowed' : 'request-type-widened', message);
  else report(step, isGrave ? 'response-type-widened' : 'response-type-narrowed', message);
}

function textOfTypes(of: readonly Kind[]): string {
  const types = typesOf(of);
  if (types.length >= 6) return 'of any type';
  const articles = types.map(type => (type === 'null' ? type : /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`));
  return articles.length === 0 ? 'nothing' : articles.join(' or ');
}

function compareLists(step: Step): void {
  const { base, head, site } = step;
  const { direction } = step.comparison;
  const subject = sentence(site.subject);
  if (base.values === undefined && head.values === undefined) return;
  // If the new schema allows no type of the old schema, that change is already reported.
  if (isDisjoint(base.kinds, head.kinds)) return;
  if (base.values === undefined) {
    const message = `${subject} is one of ${textOfValues(head.values ?? [])} instead of any value.`;
    report(step, `${direction}-enum-introduced`, message);
    return;
  }
  if (head.values === undefined) {
    report(
      step,
      `${direction}-enum-dropped`,
      `${subject} is any value instead of one of ${textOfValues(base.values)}.`,
    );
    return;
  }
  // Ignores null in both lists, because another rule reports whether null is still allowed.
  const [had, has] = [base.values, head.values].map(values => values.filter(value => value !== null)) as [
    Json[],
    Json[],
  ];
  const removed = had.filter(value => !has.some(one => isSame(one, value)));
  const added = has.filter(value => !had.some(one => isSame(one, value)));
  const isKey = direction === 'response' && site.errorPath === 'error.key';
  if (isKey) {
    for (const key of removed) report(step, 'error-key-removed', `The error key ${textOfValue(key)} is gone.`);
    for (const key of added) report(step, 'error-key-added', `The error key ${textOfValue(key)} is new.`);
    return;
  }
  if (direction === 'response' && removed.length > 0 && removed.length === had.length && added.length > 0) {
    const message = `${subject} is ${oneOf(has)} instead of ${oneOf(had)}.`;
    report(step, 'response-enum-replaced', message);
    return;
  }
  for (const value of removed) {
    const message = `${subject} is no longer ${textOfValue(value)}.`;
    report(step, `${direction}-enum-value-removed`, message);
  }
  for (const value of added) {
    report(step, `${direction}-enum-value-added`, `${subject} may be ${textOfValue(value)}.`);
  }
}

function compareDefaults(step: Step): void {
  const { base, head, site } = step;
  const { direction } = step.comparison;
  if (site.isAlwaysSent || isSame(base.fallback, head.fallback)) return;
  const without = `Without ${site.subject},`;
  if (base.fallback === undefined) {
    report(step, `${direction}-default-added`, `${without} ${textOfValue(head.fallback ?? null)} is meant.`);
    return;
  }
  const now = head.fallback === undefined ? 'nothing is described to be' : `${textOfValue(head.fallback)} is`;
  report(step, `${direction}-default-changed`, `${without} ${now} meant, and was ${textOfValue(base.fallback)}.`);
}

function compareDeprecation(step: Step): void {
  const { base, head, site } = step;
  if (base.isDeprecated === head.isDeprecated) return;
  if (head.isDeprecated) report(step, 'deprecated', `${sentence(site.subject)} is deprecated.`);
  else report(step, 'deprecation-lifted', `${sentence(site.subject)} is no longer deprecated.`);
}
