import type { RuleId } from './rules.ts';

/** The rule and the message for each kind of change of a part. In a message, `{}` stands for the name of the part. */
export type Turns = Partial<Record<'removed' | 'optional' | 'required' | 'added' | 'addedRequired', Turn>>;
type Turn = readonly [rule: RuleId, message: string];

/**
 * Returns the rule and the message for a part that became required or optional, was added or was removed. `was` and
 * `is` say whether the part is required, and are undefined if the part is missing.
 */
export function turnBetween(
  { removed, required, optional, added, addedRequired = added }: Turns,
  was: boolean | undefined,
  is: boolean | undefined,
  subject: string,
): Turn | undefined {
  if (was === is) return undefined;
  const [whenRequired, whenOptional] = was === undefined ? [addedRequired, added] : [required, optional];
  const turn = is === undefined ? removed : is ? whenRequired : whenOptional;
  return turn && [turn[0], turn[1].replace('{}', () => subject)];
}
