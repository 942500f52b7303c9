import type { JsonObject } from '../json.ts';
import { isCompatible, isJudged } from './is-compatible.ts';
import { isConstraint } from './keywords.ts';
import type { Shape } from './shape.ts';
import { reportSafe, reportUnexplained, type Step } from './walk.ts';
import { type Constraint, writeConstraint, writeLocally } from './write-schema.ts';

/**
 * Compares keywords that have no rule of their own, such as `not` and `if`. A change is safe only if there is a proof.
 * The new schema has fewer such keywords for requests, or more for responses, or the library jsoncompat proves the
 * change.
 */
export function compareRest(step: Step): void {
  const { base, head, comparison } = step;
  if (base.rest.length === 0 && head.rest.length === 0) return;
  const had = base.rest.map(one => writeConstraint(comparison.base, one));
  const has = head.rest.map(one => writeConstraint(comparison.head, one));
  const removed = missingIn(has, had);
  const added = missingIn(had, has);
  if (removed.length === 0 && added.length === 0) return;
  if (isProven(step, { had, has, removed, added })) reportSafe(step);
  else reportUnexplained(step);
}

function missingIn(others: readonly Constraint[], constraints: readonly Constraint[]): Constraint[] {
  const texts = new Set(others.map(({ text }) => text));
  return constraints.filter(({ text }) => !texts.has(text));
}

interface Constraints {
  had: Constraint[];
  has: Constraint[];
  removed: Constraint[];
  added: Constraint[];
}

/** Whether each value of the sender's schema is also a value of the receiver's schema. */
function isProven({ base, comparison }: Step, { had, has, removed, added }: Constraints): boolean {
  const onlyReceived = comparison.direction === 'request' ? added : removed;
  const isKnown = (one: Constraint) => isJudgedFully(one) || Object.keys(one.keywords).every(isConstraint);
  if (![...added, ...removed].every(isKnown)) return false;
  // The meaning of these keywords depends on the other keywords of the schema.
  if ([...had, ...has].some(one => isAbout(one, 'unevaluatedProperties') || isAbout(one, 'unevaluatedItems'))) {
    return false;
  }
  if (onlyReceived.length === 0) return true;
  if (!onlyReceived.every(isJudgedFully)) return false;
  // A keyword that jsoncompat does not judge may be left out here, because the sender's schema has it too.
  return isCompatible(comparison, writeWith(base, had), writeWith(base, has)) === true;
}

function isAbout({ keywords }: Constraint, keyword: string): boolean {
  return Object.hasOwn(keywords, keyword);
}

function isJudgedFully({ keywords, definitions, isComplete }: Constraint): boolean {
  return isComplete && isJudged({ ...keywords, $defs: definitions });
}

/**
 * Writes the base schema with these constraints, because other rules report the changes of all other parts.
 */
function writeWith(base: Shape, constraints: readonly Constraint[]): JsonObject {
  const judged = constraints.filter(isJudgedFully);
  const schema = writeLocally(
    base,
    judged.map(({ keywords }) => keywords),
  );
  return { ...schema, $defs: Object.assign({}, ...judged.map(({ definitions }) => definitions)) };
}
