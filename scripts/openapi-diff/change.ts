import { remember, sortedBy } from './json.ts';
import { type Level, levels, type RuleId, rules } from './rules.ts';

/** The differences between two documents from a client's point of view. */
export interface Difference {
  base: string;
  head: string;
  counts: Record<Level, number>;
  /** The number of changes that the accept file accepts. `counts` does not include these changes. */
  accepted: number;
  /** The number of breaking and risky changes that affect no client. `counts` does not include these changes. */
  unused: number;
  /** The number of changed descriptions, summaries, titles, examples and tags. Clients do not depend on these texts. */
  descriptions: number;
  changes: Change[];
}

/** One difference between the documents, with all places that it affects. */
export interface Change {
  level: Level;
  rule: RuleId;
  message: string;
  action: string;
  /** The affected places in a stable order. The list is empty if the change affects no operation. */
  places: Place[];
  /** The reason why the accept file accepts the change. Undefined if the accept file does not accept the change. */
  accepted?: string;
  /** The clients that the change affects. Undefined without a usage document, or if its data are not sufficient. */
  affected?: Affected;
  /**
   * The JSON pointers into the base document and the head document. If a document lacks the changed part, its pointer
   * leads to the nearest parent.
   */
  base: string;
  head: string;
}

/** The clients that a change affects. */
interface Affected {
  /** The names of the clients, the latest user first. The list is empty if no client has used a changed part. */
  clients: string[];
  lastUsedAt: string | undefined;
  /** The start of the period that the usage document covers. */
  since: string | undefined;
}

export interface Place {
  /** The operation, such as `GET /api/v1/ideas` or `webhook idea.created`. Empty if the whole document is affected. */
  operation: string;
  /**
   * The part of the operation, such as `request body`, `response 200` or `query parameter sort`. The text is empty if
   * the whole operation is affected.
   */
  where: string;
  /** The field, such as `data[].title`. The text is empty if the whole value is affected. */
  field: string;
  base: string;
  head: string;
  /** The number of clients that have used this place. Undefined without a usage document. */
  clients?: number;
}

export interface Finding extends Place {
  rule: RuleId;
  message: string;
}

export type Report = (finding: Finding) => void;

/** Whether the change is breaking or risky, but affects no client in the usage document. */
export function isUnused({ affected, level }: Change): boolean {
  return level !== 'additive' && affected?.clients.length === 0;
}

/** Counts the changes of each level. Counts the accepted and the unused changes separately. */
export function countLevels(changes: readonly Change[]): Pick<Difference, 'counts' | 'accepted' | 'unused'> {
  const counts = { breaking: 0, risky: 0, additive: 0 };
  let [accepted, unused] = [0, 0];
  for (const change of changes) {
    if (change.accepted !== undefined) accepted += 1;
    else if (isUnused(change)) unused += 1;
    else counts[change.level] += 1;
  }
  return { counts, accepted, unused };
}

/**
 * Makes one change of all findings with the same rule and message, unless they are in different components. The most
 * severe changes come first.
 */
export function foldFindings(findings: readonly Finding[]): Change[] {
  const groups = new Map<string, Finding[]>();
  for (const finding of findings) {
    const { rule, message, base, head } = finding;
    const isShared = base.startsWith('#/components/') && head.startsWith('#/components/');
    const key = [rule, message, ...(isShared ? [base, head] : [])].join('\n');
    remember(groups, key, () => []).push(finding);
  }
  return sortedBy([...groups.values()].map(changeOf), ({ level, base, head, rule, message }) =>
    [levels.indexOf(level), base, head, rule, message].join('\0'),
  );
}

function changeOf(findings: Finding[]): Change {
  // Sorts the places by their paths, and places with the same path by their methods.
  const keyOf = ({ operation, where, field, base, head }: Place) =>
    [operation.replace(/^\S+ /, ''), operation, where, field, base, head].join('\0');
  const byPlace = new Map(findings.map(finding => [keyOf(finding), finding]));
  const sorted = sortedBy(byPlace.values(), keyOf);
  const [{ rule, message, base, head }] = sorted as [Finding, ...Finding[]];
  const places = sorted
    .filter(({ operation }) => operation !== '')
    .map(({ operation, where, field, base, head }) => ({ operation, where, field, base, head }));
  const { level, action } = rules[rule];
  // Puts the message on one line, because names from a document may contain line breaks.
  return { level, rule, message: message.replace(/\s+/g, ' '), action, places, base, head };
}

/** The rules and messages by the kind of the change of a part. In a message, `{}` stands for the part's name. */
export type Turns = Partial<Record<'removed' | 'optional' | 'required' | 'added' | 'addedRequired', Turn>>;
type Turn = readonly [rule: RuleId, message: string];

/**
 * Returns the rule and the message for a part that became required or optional, was added or was removed. `was` and
 * `is` say whether the part is required in each document, and are undefined if the document lacks the part.
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
