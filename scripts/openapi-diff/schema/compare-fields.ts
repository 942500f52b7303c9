import { quote, sentence } from '../sentence.ts';
import { type Fragment, isClosed, type Shape } from './shape.ts';
import { enter, report, reportSafe, reportUnexplained, type Site, type Step, siteOf } from './walk.ts';

export function compareFields(step: Step): void {
  const { base, head } = step;
  for (const [name, fragment] of base.properties) {
    const other = head.properties.get(name);
    if (other === undefined) {
      reportRemoved(step, name, fragment);
    } else {
      compareRequired(step, name, fragment, other);
      enter(step, siteAt(step, name), fragment, other);
    }
  }
  for (const [name, fragment] of head.properties) {
    if (!base.properties.has(name)) reportAdded(step, name, fragment);
  }
  comparePatterns(step);
  compareAdditional(step);
}

/** Returns the site of a field. The default of a field has no effect if the sender's schema requires the field. */
function siteAt({ comparison, base, head, site }: Step, name: string): Site {
  const sender = comparison.direction === 'request' ? base : head;
  return siteOf(site, name, sender.required.has(name));
}

function pointerOf(fragment: Fragment): string {
  return fragment[0]?.pointer ?? '#';
}

function reportRemoved(step: Step, name: string, fragment: Fragment): void {
  const { head } = step;
  const at = { base: pointerOf(fragment), head: head.hidden.get(name) ?? head.fieldsPointer };
  const within = { ...step, site: siteAt(step, name) };
  const subject = quote(name);
  if (step.comparison.direction === 'response') {
    const how = head.hidden.has(name) ? `${subject} is now writeOnly, so responses omit it.` : `${subject} is gone.`;
    report(within, 'response-field-removed', how, at);
  } else if (head.hidden.has(name)) {
    report(within, 'request-field-removed', `${subject} is now readOnly, so it is no longer accepted.`, at);
  } else if (isClosed(head.additional)) {
    report(within, 'request-field-removed', `${subject} is no longer accepted.`, at);
  } else {
    const how = `${subject} is no longer described, but other fields are accepted.`;
    report(within, 'request-field-ignored', how, at);
    // The new schema no longer describes the field, so the schema of additional fields now applies to the field.
    if (head.additional.length > 0) enter(step, siteAt(step, name), fragment, head.additional);
  }
}

function reportAdded(step: Step, name: string, fragment: Fragment): void {
  const { base, head } = step;
  const { direction } = step.comparison;
  const within = { ...step, site: siteAt(step, name) };
  const at = { base: base.fieldsPointer, head: pointerOf(fragment) };
  const isRequired = head.required.has(name);
  if (direction === 'request' && isRequired) {
    report(within, 'request-field-required', `${quote(name)} is new and required.`, at);
  } else if (direction === 'response' && isClosed(base.additional)) {
    report(
      within,
      'response-field-unannounced',
      `${quote(name)} is new, but the old schema excluded other fields.`,
      at,
    );
  } else {
    const optional = direction === 'request' ? ' and optional' : '';
    report(within, `${direction}-field-added`, `${quote(name)} is new${optional}.`, at);
  }
  // The base schema already allowed the field as one of its additional fields.
  if (base.additional.length > 0 && !isClosed(base.additional)) {
    enter(step, siteAt(step, name), base.additional, fragment);
  }
}

function compareRequired(step: Step, name: string, fragment: Fragment, other: Fragment): void {
  const [was, is] = [step.base.required.has(name), step.head.required.has(name)];
  if (was === is) return;
  const { direction } = step.comparison;
  const within = { ...step, site: siteAt(step, name) };
  const at = { base: pointerOf(fragment), head: pointerOf(other) };
  const words = {
    request: { required: 'is now required', optional: 'is now optional' },
    response: { required: 'is now always there', optional: 'may now be missing' },
  };
  const turn = is ? 'required' : 'optional';
  report(within, `${direction}-field-${turn}`, `${quote(name)} ${words[direction][turn]}.`, at);
}

/**
 * Compares the schemas of fields whose names match a pattern. A pattern of the receiver only is safe if the sender has
 * listed fields only. A pattern of the sender only is safe if the receiver accepts all fields.
 */
function comparePatterns(step: Step): void {
  const { base, head, site } = step;
  const [sender, receiver] = step.comparison.direction === 'request' ? [base, head] : [head, base];
  for (const [pattern, fragment] of base.patterned) {
    const other = head.patterned.get(pattern);
    const within = { ...siteOf(site, '*', true), subject: `a value of ${site.subject}` };
    if (other) enter(step, within, fragment, other);
  }
  const missing = (from: Shape, other: Shape) => [...from.patterned.keys()].some(one => !other.patterned.has(one));
  const [isStricter, isLooser] = [missing(receiver, sender), missing(sender, receiver)];
  if (!isStricter && !isLooser) return;
  const hasListedFieldsOnly = isClosed(sender.additional) && sender.patterned.size === 0;
  if ((isStricter && !hasListedFieldsOnly) || (isLooser && receiver.additional.length > 0)) reportUnexplained(step);
  else reportSafe(step);
}

/** Compares the rule for additional fields. They may be excluded, unrestricted, or have a common schema. */
function compareAdditional(step: Step): void {
  const { base, head, site } = step;
  const { direction } = step.comparison;
  const [was, is] = [isClosed(base.additional), isClosed(head.additional)];
  if (was !== is) {
    const words = is
      ? 'no longer lets through fields that are not described'
      : 'lets through fields that are not described';
    report(step, `${direction}-fields-${is ? 'closed' : 'opened'}`, `${sentence(site.subject)} ${words}.`);
  } else if (!is && (base.additional.length > 0 || head.additional.length > 0)) {
    const within = { ...siteOf(site, '*', true), subject: `a value of ${site.subject}` };
    enter(step, within, base.additional, head.additional);
  }
}
