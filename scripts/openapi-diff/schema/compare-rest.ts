import { canonicalText } from '../json.ts';
import { isCompatible } from './is-compatible.ts';
import type { Shape } from './shape.ts';
import { report, reportUnexplained, type Step, type Walk } from './walk.ts';
import { writeSchema } from './write-schema.ts';

/** Keywords for which there is no rule, such as `not` and `if`: the library says whether a change of them is safe. */
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
      `The schema of ${site.subject} takes all that it took, and maybe more.`,
    );
  } else {
    report(walk, step, 'response-schema-narrowed', `The schema of ${site.subject} allows nothing that it did not.`);
  }
}

/** All else is equal and nothing lies within, so that what is told of by other rules is not told of twice. */
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
