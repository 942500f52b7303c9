import type { RuleId } from '../rules/rules.ts';
import { quote } from '../sentence.ts';
import { enter, nameAt, type Place, report, reportRest, type SchemaPair } from './pair.ts';
import { type Fragment, isClosed, type Shape } from './shape.ts';

export function compareFields(pair: SchemaPair): void {
  const { base, head } = pair;
  for (const [name, fragment] of base.fields.properties) {
    const other = head.fields.properties.get(name);
    if (other === undefined) {
      reportRemoved(pair, name, fragment);
    } else {
      compareRequired(pair, name, fragment, other);
      enter(pair, placeOf(pair, name), fragment, other);
    }
  }
  for (const [name, fragment] of head.fields.properties) {
    if (!base.fields.properties.has(name)) reportAdded(pair, name, fragment);
  }
  comparePatterns(pair);
  compareAdditional(pair);
}

/** Returns the place of a field. If the sender's schema requires the field, the default of the field has no effect. */
function placeOf({ comparison, base, head }: SchemaPair, field: string): Place {
  const sender = comparison.direction === 'request' ? base : head;
  return { kind: 'field', field, isAlwaysSent: sender.fields.required.has(field) };
}

function pointerOf(fragment: Fragment): string {
  return fragment[0]?.pointer ?? '#';
}

function reportRemoved(pair: SchemaPair, field: string, fragment: Fragment): void {
  const { fieldsPointer, fields } = pair.head;
  const at = { field, base: pointerOf(fragment), head: fields.hidden.get(field) ?? fieldsPointer };
  const isHidden = fields.hidden.has(field);
  const tell = (rule: RuleId, what: string) => report(pair, rule, () => `${quote(field)} ${what}.`, at);
  if (pair.direction === 'response') {
    tell('response-field-removed', isHidden ? 'is now writeOnly, so responses omit it' : 'is gone');
  } else if (isHidden || isClosed(fields.additional)) {
    tell('request-field-removed', `is ${isHidden ? 'now readOnly, so it is ' : ''}no longer accepted`);
  } else {
    tell('request-field-ignored', 'is no longer described, but other fields are accepted');
    // The new schema no longer describes the field. So compares the field with the schema of additional fields.
    if (fields.additional.length > 0) enter(pair, placeOf(pair, field), fragment, fields.additional);
  }
}

function reportAdded(pair: SchemaPair, field: string, fragment: Fragment): void {
  const { base, head, direction } = pair;
  const at = { field, base: base.fieldsPointer, head: pointerOf(fragment) };
  const tell = (rule: RuleId, what: string) => report(pair, rule, () => `${quote(field)} is new${what}.`, at);
  if (direction === 'request') {
    if (head.fields.required.has(field)) tell('request-field-required', ' and required');
    else tell('request-field-added', ' and optional');
  } else if (isClosed(base.fields.additional)) {
    tell('response-field-unannounced', ', but the old schema excluded other fields');
  } else {
    tell('response-field-added', '');
  }
  // The base schema did not describe the field, but already allowed it as an additional field.
  if (base.fields.additional.length > 0 && !isClosed(base.fields.additional)) {
    enter(pair, placeOf(pair, field), base.fields.additional, fragment);
  }
}

function compareRequired(pair: SchemaPair, field: string, fragment: Fragment, other: Fragment): void {
  const [was, is] = [pair.base.fields.required.has(field), pair.head.fields.required.has(field)];
  if (was === is) return;
  const { direction } = pair;
  const at = { field, base: pointerOf(fragment), head: pointerOf(other) };
  const words = {
    request: { required: 'is now required', optional: 'is now optional' },
    response: { required: 'is now always there', optional: 'may now be missing' },
  };
  const turn = is ? 'required' : 'optional';
  report(pair, `${direction}-field-${turn}`, () => `${quote(field)} ${words[direction][turn]}.`, at);
}

const anyField: Place = { kind: 'any field', field: '*', isAlwaysSent: true };

/**
 * Compares the schemas of fields whose names match a pattern. If only the receiver has a pattern, this is safe if the
 * sender sends only listed fields. If only the sender has a pattern, this is safe if the receiver accepts all fields.
 */
function comparePatterns(pair: SchemaPair): void {
  const { base, head } = pair;
  const [sender, receiver] = pair.direction === 'request' ? [base, head] : [head, base];
  for (const [pattern, fragment] of base.fields.patterned) {
    const other = head.fields.patterned.get(pattern);
    if (other) enter(pair, anyField, fragment, other);
  }
  const missing = (from: Shape, other: Shape) =>
    [...from.fields.patterned.keys()].some(one => !other.fields.patterned.has(one));
  const [isStricter, isLooser] = [missing(receiver, sender), missing(sender, receiver)];
  if (!isStricter && !isLooser) return;
  const hasListedFieldsOnly = isClosed(sender.fields.additional) && sender.fields.patterned.size === 0;
  const isUnsafe = (isStricter && !hasListedFieldsOnly) || (isLooser && receiver.fields.additional.length > 0);
  reportRest(pair, !isUnsafe);
}

/** Compares the rule for additional fields. They may be excluded, unrestricted, or have a common schema. */
function compareAdditional(pair: SchemaPair): void {
  const { base, head, direction } = pair;
  const [was, is] = [isClosed(base.fields.additional), isClosed(head.fields.additional)];
  if (was !== is) {
    const words = `${is ? 'no longer ' : ''}lets through fields that are not described`;
    report(pair, `${direction}-fields-${is ? 'closed' : 'opened'}`, words);
  } else if (!is && (base.fields.additional.length > 0 || head.fields.additional.length > 0)) {
    enter(pair, anyField, base.fields.additional, head.fields.additional);
  }
}

/** Compares the items of two array schemas: the fixed first items (`prefixItems`), and all other items. */
export function compareItems(pair: SchemaPair): void {
  const { base, head } = pair;
  const places = Math.max(base.lists.prefixItems.length, head.lists.prefixItems.length);
  const itemAt = ({ lists }: Shape, n: number) => lists.prefixItems[n] ?? lists.items;
  for (let n = 0; n < places; n += 1) compareItem(pair, `[${n}]`, itemAt(base, n), itemAt(head, n));
  compareItem(pair, '[]', base.lists.items, head.lists.items);
}

function compareItem(pair: SchemaPair, field: string, base: Fragment, head: Fragment): void {
  const [was, is] = [isClosed(base), isClosed(head)];
  if (was && is) return;
  const place: Place = { kind: 'item', field, isAlwaysSent: true };
  if (was === is) {
    if (base.length > 0 || head.length > 0) enter(pair, place, base, head);
    return;
  }
  const { direction } = pair;
  if (is === (direction === 'request')) {
    reportRest(pair, false, place);
  } else {
    const words = is ? 'is no longer' : 'may be';
    const rule = `${direction}-schema-${is ? 'narrowed' : 'widened'}` as const;
    report(pair, rule, subject => `there ${words} ${nameAt(place, subject)}.`, { field });
  }
}
