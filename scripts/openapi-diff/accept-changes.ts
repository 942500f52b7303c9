import { type Change, countLevels, type Difference } from './change.ts';
import { DocumentError, parseText, requiredText } from './document.ts';
import { isObject } from './json.ts';

/** An entry of the accept file. The entry accepts an intended change. */
interface Acceptance {
  rule: string;
  /** The JSON pointer of the change in the base document or in the head document. */
  at: string;
  reason: string;
}

/** Reads the list of accepted changes from JSON or YAML. */
export function parseAcceptances(name: string, text: string): Acceptance[] {
  const list = parseText(name, text);
  if (!Array.isArray(list)) throw new DocumentError(`${name} is not a list of accepted changes`);
  return list.map((entry, n) => {
    const place = `${name}: entry ${n + 1}`;
    const unknown = Object.keys(isObject(entry) ? entry : {}).find(key => !['rule', 'at', 'reason'].includes(key));
    if (unknown !== undefined) throw new DocumentError(`${place} has the unknown member "${unknown}"`);
    const textAt = (key: string) => requiredText(place, entry, key);
    return { rule: textAt('rule'), at: textAt('at'), reason: textAt('reason') };
  });
}

/** Marks the accepted changes, and counts the others. Also returns the entries of the accept file without a change. */
export function acceptChanges(
  difference: Difference,
  acceptances: readonly Acceptance[],
): { difference: Difference; unused: Acceptance[] } {
  const isAbout = ({ rule, at }: Acceptance, change: Change) =>
    rule === change.rule && (at === change.base || at === change.head);
  const changes = difference.changes.map(change => {
    const accepted = acceptances.find(one => isAbout(one, change))?.reason;
    return accepted === undefined ? change : { ...change, accepted };
  });
  const unused = acceptances.filter(one => !difference.changes.some(change => isAbout(one, change)));
  return { difference: { ...difference, ...countLevels(changes), changes }, unused };
}
