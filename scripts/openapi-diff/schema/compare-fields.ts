import { quote, sentence } from '../sentence.ts';
import { type Fragment, isClosed } from './shape.ts';
import { report, type Site, type Step, type Walk } from './walk.ts';

export function compareFields(walk: Walk, step: Step): void {
  const { base, head } = step;
  for (const [name, fragment] of base.properties) {
    const other = head.properties.get(name);
    if (other === undefined) {
      reportRemoved(walk, step, name, fragment);
    } else {
      compareRequired(walk, step, name, fragment, other);
      walk.enter(step, siteOf(step.site, name), fragment, other);
    }
  }
  for (const [name, fragment] of head.properties) {
    if (!base.properties.has(name)) reportAdded(walk, step, name, fragment);
  }
  compareAdditional(walk, step);
}

function siteOf(site: Site, name: string): Site {
  return { ...site, field: site.field === '' ? name : `${site.field}.${name}`, subject: quote(name) };
}

function pointerOf(fragment: Fragment): string {
  return fragment[0]?.pointer ?? '#';
}

function reportRemoved(walk: Walk, step: Step, name: string, fragment: Fragment): void {
  const { head } = step;
  const at = { base: pointerOf(fragment), head: head.hidden.get(name) ?? head.fieldsPointer };
  const within = { ...step, site: siteOf(step.site, name) };
  const subject = quote(name);
  if (walk.comparison.direction === 'response') {
    const how = head.hidden.has(name) ? `${subject} is now writeOnly, so responses omit it.` : `${subject} is gone.`;
    report(walk, within, 'response-field-removed', how, at);
  } else if (head.hidden.has(name)) {
    report(walk, within, 'request-field-removed', `${subject} is now readOnly, so it is no longer accepted.`, at);
  } else if (isClosed(head.additional)) {
    report(walk, within, 'request-field-removed', `${subject} is no longer accepted.`, at);
  } else {
    const how = `${subject} is no longer described, but other fields are accepted.`;
    report(walk, within, 'request-field-ignored', how, at);
    // The new schema no longer describes the field, so the schema of additional fields now applies to the field.
    if (head.additional.length > 0) walk.enter(step, siteOf(step.site, name), fragment, head.additional);
  }
  step.isExplained ||= within.isExplained;
}

function reportAdded(walk: Walk, step: Step, name: string, fragment: Fragment): void {
  const { base, head } = step;
  const { direction } = walk.comparison;
  const within = { ...step, site: siteOf(step.site, name) };
  const at = { base: base.fieldsPointer, head: pointerOf(fragment) };
  const isRequired = head.required.has(name);
  if (direction === 'request' && isRequired) {
    report(walk, within, 'request-field-required', `${quote(name)} is new and required.`, at);
  } else if (direction === 'response' && isClosed(base.additional)) {
    report(
      walk,
      within,
      'response-field-unannounced',
      `${quote(name)} is new, but the old schema excluded other fields.`,
      at,
    );
  } else {
    const optional = direction === 'request' ? ' and optional' : '';
    report(walk, within, `${direction}-field-added`, `${quote(name)} is new${optional}.`, at);
  }
  step.isExplained ||= within.isExplained;
  // The base schema already allowed the field as one of its additional fields.
  if (base.additional.length > 0 && !isClosed(base.additional)) {
    walk.enter(step, siteOf(step.site, name), base.additional, fragment);
  }
}

function compareRequired(walk: Walk, step: Step, name: string, fragment: Fragment, other: Fragment): void {
  const [was, is] = [step.base.required.has(name), step.head.required.has(name)];
  if (was === is) return;
  const { direction } = walk.comparison;
  const within = { ...step, site: siteOf(step.site, name) };
  const at = { base: pointerOf(fragment), head: pointerOf(other) };
  const words = {
    request: { required: 'is now required', optional: 'is now optional' },
    response: { required: 'is now always there', optional: 'may now be missing' },
  };
  const turn = is ? 'required' : 'optional';
  report(walk, within, `${direction}-field-${turn}`, `${quote(name)} ${words[direction][turn]}.`, at);
  step.isExplained ||= within.isExplained;
}

/** Compares the rule for additional fields. They may be excluded, unrestricted, or have a common schema. */
function compareAdditional(walk: Walk, step: Step): void {
  const { base, head, site } = step;
  const { direction } = walk.comparison;
  const [was, is] = [isClosed(base.additional), isClosed(head.additional)];
  if (was !== is) {
    const words = is
      ? 'no longer lets through fields that are not described'
      : 'lets through fields that are not described';
    report(walk, step, `${direction}-fields-${is ? 'closed' : 'opened'}`, `${sentence(site.subject)} ${words}.`);
  } else if (!is && (base.additional.length > 0 || head.additional.length > 0)) {
    const field = site.field === '' ? '*' : `${site.field}.*`;
    walk.enter(step, { ...site, field, subject: `a value of ${site.subject}` }, base.additional, head.additional);
  }
}
