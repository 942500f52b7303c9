import type { Change } from './change.ts';
import { countLevels, type Difference } from './compare-documents.ts';
import { DocumentError, parseText } from './document.ts';
import { isObject, memberOf } from './json.ts';

/** An entry of the accept file. The entry accepts an intended change. */
interface Acceptance {
  rule: string;
  /** The JSON pointer of the change in the base document or in the head document. */
  at: string;
  reason: string;
}

const members = ['rule', 'at', 'reason'] as const;

/** Reads the list of accepted changes from JSON or YAML. */
export function parseAcceptances(name: string, text: string): Acceptance[] {
  const list = parseText(name, text);
  if (!Array.isArray(list)) throw new DocumentError(`${name} is not a list of accepted changes`);
  return list.map((entry, n) => {
    const unknown = Object.keys(isObject(entry) ? entry : {}).find(key => !members.some(member => member === key));
    if (unknown !== undefined) throw new DocumentError(`${name}: entry ${n + 1} has the unknown member "${unknown}"`);
    const [rule, at, reason] = members.map(key => {
      const value = memberOf(entry, key);
      if (typeof value !== 'string' || value === '') throw new DocumentError(`${name}: entry ${n + 1} lacks "${key}"`);
      return value;
    }) as [string, string, string];
    return { rule, at, reason };
  });
}

/**
 * Marks the accepted changes, and counts the remaining changes of each level. Also returns the entries of the accept
 * file that match no change.
 */
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
