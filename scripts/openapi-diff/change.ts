import { byFirst } from './json.ts';
import { type Level, levels, type RuleId, rules } from './rules.ts';

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
  /**
   * The clients that the change affects. Undefined if there is no usage document, or if the usage document does not
   * contain enough data.
   */
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
  /**
   * The operation, such as `GET /api/v1/ideas` or `webhook idea.created`. The text is empty if the whole document is
   * affected.
   */
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

/**
 * Groups findings with the same rule and message into one change with all their places. Findings in different components
 * stay separate changes. The most severe changes come first.
 */
export function foldFindings(findings: readonly Finding[]): Change[] {
  const groups = new Map<string, Finding[]>();
  for (const finding of findings) {
    const isShared = finding.base.startsWith('#/components/') && finding.head.startsWith('#/components/');
    const key = [finding.rule, finding.message, ...(isShared ? [finding.base, finding.head] : [])].join('\n');
    const group = groups.get(key);
    if (group) group.push(finding);
    else groups.set(key, [finding]);
  }
  return [...groups.values()].map(changeOf).sort(byGravity);
}

function changeOf(findings: Finding[]): Change {
  const byPlace = new Map(findings.map(finding => [keyOf(finding), finding]));
  const sorted = [...byPlace].sort(byFirst).map(([, finding]) => finding);
  const [{ rule, message, base, head }] = sorted as [Finding, ...Finding[]];
  const places = sorted
    .filter(({ operation }) => operation !== '')
    .map(({ operation, where, field, base, head }) => ({ operation, where, field, base, head }));
  const { level, action } = rules[rule];
  // Puts the message on one line, because names from a document may contain line breaks.
  return { level, rule, message: message.replace(/\s+/g, ' '), action, places, base, head };
}

/**
 * Returns the sort key of a place. The key sorts places by their paths, and places with the same path by their methods.
 */
function keyOf({ operation, where, field, base, head }: Place): string {
  return [operation.replace(/^\S+ /, ''), operation, where, field, base, head].join('\0');
}

function byGravity(a: Change, b: Change): number {
  const textsOf = ({ base, head, rule, message }: Change): [string] => [[base, head, rule, message].join('\0')];
  return levels.indexOf(a.level) - levels.indexOf(b.level) || byFirst(textsOf(a), textsOf(b));
}

/**
 * The rules and messages for changes of a part, by the kind of the change. In a message, `{}` stands for the name of
 * the part.
 */
export type Turns = Partial<Record<'removed' | 'optional' | 'required' | 'added' | 'addedRequired', Turn>>;
type Turn = readonly [rule: RuleId, message: string];

/**
 * Returns the rule and the message for a part that became required or optional, was added or was removed. `was` says
 * whether the part is required in the base document, and `is` says this for the head document. An undefined value means
 * that the document lacks the part.
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
