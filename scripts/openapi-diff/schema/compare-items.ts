import { type Fragment, isClosed } from './shape.ts';
import { enter, report, reportUnexplained, type Site, type Step } from './walk.ts';

/** Compares the items of two array schemas: the fixed first items (`prefixItems`), and all other items. */
export function compareItems(step: Step): void {
  const { base, head, site } = step;
  const places = Math.max(base.prefixItems.length, head.prefixItems.length);
  for (let n = 0; n < places; n += 1) {
    const within = siteOfItem(`[${n}]`, `item ${n} of ${site.subject}`);
    compareItem(step, within, base.prefixItems[n] ?? base.items, head.prefixItems[n] ?? head.items);
  }
  compareItem(step, siteOfItem('[]', `an item of ${site.subject}`), base.items, head.items);
}

function siteOfItem(field: string, subject: string): Site {
  return { field, subject, errorPath: undefined, isAlwaysSent: true };
}

function compareItem(step: Step, site: Site, base: Fragment, head: Fragment): void {
  const [was, is] = [isClosed(base), isClosed(head)];
  if (was && is) return;
  if (was === is) {
    if (base.length > 0 || head.length > 0) enter(step, site, base, head);
    return;
  }
  const { direction } = step.comparison;
  const within = { ...step, site };
  if (is === (direction === 'request')) reportUnexplained(within);
  else
    report(
      within,
      `${direction}-schema-${is ? 'narrowed' : 'widened'}`,
      `There ${is ? 'is no longer' : 'may be'} ${site.subject}.`,
    );
}
