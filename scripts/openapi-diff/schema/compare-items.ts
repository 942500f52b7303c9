import { type Fragment, isClosed } from './shape.ts';
import { report, reportUnexplained, type Step, type Walk } from './walk.ts';

/** Compares the items of two array schemas: the fixed first items (`prefixItems`), and all other items. */
export function compareItems(walk: Walk, step: Step): void {
  const { base, head, site } = step;
  const places = Math.max(base.prefixItems.length, head.prefixItems.length);
  for (let n = 0; n < places; n += 1) {
    const within = { ...site, field: `${site.field}[${n}]`, subject: `item ${n} of ${site.subject}` };
    compareItem(walk, step, within, base.prefixItems[n] ?? base.items, head.prefixItems[n] ?? head.items);
  }
  compareItem(
    walk,
    step,
    { ...site, field: `${site.field}[]`, subject: `an item of ${site.subject}` },
    base.items,
    head.items,
  );
}

function compareItem(walk: Walk, step: Step, site: Step['site'], base: Fragment, head: Fragment): void {
  const [was, is] = [isClosed(base), isClosed(head)];
  if (was && is) return;
  if (was === is) {
    if (base.length > 0 || head.length > 0) walk.enter(step, site, base, head);
    return;
  }
  const { direction } = walk.comparison;
  const within = { ...step, site };
  if (is === (direction === 'request')) reportUnexplained(walk, within);
  else
    report(
      walk,
      within,
      `${direction}-schema-${is ? 'narrowed' : 'widened'}`,
      `There ${is ? 'is no longer' : 'may be'} ${site.subject}.`,
    );
  step.isExplained ||= within.isExplained;
}
