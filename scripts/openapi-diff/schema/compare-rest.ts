import { canonicalText } from '../json.ts';
import { isCompatible } from './is-compatible.ts';
import type { Shape } from './shape.ts';
import { report, reportUnexplained, type Step, type Walk } from './walk.ts';
import { writeSchema } from './write-schema.ts';

/**
 * Compares keywords that have no rule of their own, such as `not` and `if`. The library jsoncompat decides whether a
 * change is safe.
 */
export function compareRest(walk: Walk, step: Step): void {
  const { base, head, site } = step;
  if (base.rest.length === 0 && head.rest.length === 0) return;
  const { comparison } = walk;
  const before = writeSchema(comparison.base, withRestOf(base, base));
  const after = writeSchema(comparison.head, withRestOf(base, head));
  if (canonicalText(before) === canonicalText(after)) return;
  if (!isCompatible(comparison.direction, before, after)) {
    reportUnexplained(walk, step);
  } else if (comparison.direction === 'request') {
    report(
      walk,
      step,
      'request-schema-widened',
      `The schema of ${site.subject} accepts all old values, and maybe more.`,
    );
  } else {
    report(walk, step, 'response-schema-narrowed', `The schema of ${site.subject} allows only old values.`);
  }
}

/**
 * Copies the normalized schema with the given `rest` and without its children. All other parts stay equal, because
 * other rules report them.
 */
function withRestOf(shape: Shape, { rest }: Shape): Shape {
  return {
    ...shape,
    properties: new Map([...shape.properties.keys()].map(name => [name, []])),
    additional: shape.additional.filter(({ value }) => value === false),
    prefixItems: [],
    items: [],
    rest,
    fallback: undefined,
    isDeprecated: false,
  };
}
