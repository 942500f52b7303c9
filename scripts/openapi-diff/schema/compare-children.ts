import { type Turns, turnBetween } from '../change.ts';
import { matchKeys, quote } from '../json.ts';
import { enter, nameAt, type Place, report, reportRest, type SchemaPair } from './pair.ts';
import { type Fragment, isClosed, type Shape } from './shape.ts';

const turnsOfRequests: Turns = {
  removed: ['request-field-ignored', '{} is no longer described, but other fields are accepted.'],
  optional: ['request-field-optional', '{} is now optional.'],
  required: ['request-field-required', '{} is now required.'],
  added: ['request-field-added', '{} is new and optional.'],
  addedRequired: ['request-field-required', '{} is new and required.'],
};

const turnsOfResponses: Turns = {
  removed: ['response-field-removed', '{} is gone.'],
  optional: ['response-field-optional', '{} may now be missing.'],
  required: ['response-field-required', '{} is now always there.'],
  added: ['response-field-added', '{} is new.'],
};

export function compareFields(pair: SchemaPair): void {
  const { base, head, direction } = pair;
  const [fields, newFields] = [base.fields, head.fields];
  const sender = direction === 'request' ? fields : newFields;
  for (const [field, was, is] of matchKeys(fields.properties, newFields.properties)) {
    const [had, has] = [was && fields.required.has(field), is && newFields.required.has(field)];
    const turn = turnBetween(turnsOf(pair, field), had, has, quote(field));
    const newPointer = pointerOf(is) ?? newFields.hidden.get(field) ?? head.fieldsPointer;
    const at = { field, base: pointerOf(was) ?? base.fieldsPointer, head: newPointer };
    if (turn) report(pair, turn[0], () => turn[1], at);
    // If one of the two schemas does not list the field, that schema's constraint on additional fields applies to the
    // field.
    const isIgnored = turn?.[0] === 'request-field-ignored' && isLimited(newFields.additional);
    if ((was && is) || isIgnored || (was === undefined && isLimited(fields.additional))) {
      // The default of a field has no effect if the sender's schema requires the field.
      const place: Place = { kind: 'field', field, isAlwaysSent: sender.required.has(field) };
      enter(pair, place, was ?? fields.additional, is ?? newFields.additional);
    }
  }
  comparePatterns(pair);
  compareAdditional(pair);
}

/** Returns the rules and messages for a change of a field, which may be readOnly or writeOnly or in a closed schema. */
function turnsOf({ base, head, direction }: SchemaPair, field: string): Turns {
  const isHidden = head.fields.hidden.has(field);
  if (direction === 'response') {
    const added = ['response-field-unannounced', '{} is new, but the old schema excluded other fields.'] as const;
    const removed = ['response-field-removed', '{} is now writeOnly, so responses omit it.'] as const;
    return { ...turnsOfResponses, ...(isClosed(base.fields.additional) && { added }), ...(isHidden && { removed }) };
  }
  if (!isHidden && !isClosed(head.fields.additional)) return turnsOfRequests;
  const message = `{} is ${isHidden ? 'now readOnly, so it is ' : ''}no longer accepted.`;
  return { ...turnsOfRequests, removed: ['request-field-removed', message] };
}

function pointerOf(fragment: Fragment | undefined): string | undefined {
  return fragment && (fragment[0]?.pointer ?? '#');
}

/** Whether the schema for unlisted fields accepts some values but not all. */
function isLimited(fragment: Fragment): boolean {
  return fragment.length > 0 && !isClosed(fragment);
}

const anyField: Place = { kind: 'any field', field: '*', isAlwaysSent: true };

/**
 * Compares the schemas of fields whose names match a pattern. A pattern that only the receiver has is safe if the
 * sender sends only listed fields. A pattern that only the sender has is safe if the receiver accepts all fields.
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

/** Compares additional fields. A schema may exclude them, allow all of them, or have one schema for all of them. */
function compareAdditional(pair: SchemaPair): void {
  const { base, head, direction } = pair;
  const [was, is] = [isClosed(base.fields.additional), isClosed(head.fields.additional)];
  if (was !== is) {
    const words = `${is ? 'no longer ' : ''}lets through fields that are not described`;
    report(pair, `${direction}-fields-${is ? 'closed' : 'opened'}`, words);
  } else if (!is) {
    enter(pair, anyField, base.fields.additional, head.fields.additional);
  }
}

/** Compares the schemas of the first items of an array (`prefixItems`), and the schema of all other items. */
export function compareItems(pair: SchemaPair): void {
  const { base, head } = pair;
  const places = Math.max(base.prefixItems.length, head.prefixItems.length);
  const itemAt = ({ prefixItems, items }: Shape, n: number) => prefixItems[n] ?? items;
  for (let n = 0; n < places; n += 1) compareItem(pair, `[${n}]`, itemAt(base, n), itemAt(head, n));
  compareItem(pair, '[]', base.items, head.items);
}

function compareItem(pair: SchemaPair, field: string, base: Fragment, head: Fragment): void {
  const { direction } = pair;
  const [was, is] = [isClosed(base), isClosed(head)];
  const place: Place = { kind: 'item', field, isAlwaysSent: true };
  if (was === is) {
    if (!is) enter(pair, place, base, head);
  } else if (is === (direction === 'request')) {
    reportRest(pair, false, place);
  } else {
    const words = is ? 'is no longer' : 'may be';
    const rule = `${direction}-schema-${is ? 'narrowed' : 'widened'}` as const;
    report(pair, rule, subject => `there ${words} ${nameAt(place, subject)}.`, { field });
  }
}
