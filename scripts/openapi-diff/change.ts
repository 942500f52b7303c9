import { type Level, levels } from './rules/rule.ts';
import { type RuleId, rules } from './rules/rules.ts';

/** One difference, with all its places. */
export interface Change {
  level: Level;
  rule: RuleId;
  /** The difference, as a sentence. */
  message: string;
  /** The required action of a client, as a sentence. */
  action: string;
  /** The places in a stable order. Empty if no operation is affected. */
  places: Place[];
  /** JSON pointers into both documents. If one lacks the part, its pointer leads to the nearest parent. */
  base: string;
  head: string;
}

export interface Place {
  /** `GET /api/v1/ideas` or `webhook idea.created`. Empty for the whole document. */
  operation: string;
  /** `request body`, `response 200` or `query parameter sort`. Empty for the operation itself. */
  where: string;
  /** The field, such as `data[].title`. Empty for the whole value. */
  field: string;
  base: string;
  head: string;
}

export interface Finding extends Place {
  rule: RuleId;
  message: string;
}

export type Report = (finding: Finding) => void;

/** Whether a client may have to act. */
export function isSerious(finding: Finding): boolean {
  return rules[finding.rule].level !== 'additive';
}

/**
 * Groups findings into changes, most severe first. A finding in one component with many operations is one change, like
 * equal findings in several places without a common component.
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
  const sorted = findings.toSorted((a, b) => compareTexts(textsOf(a), textsOf(b)));
  const [{ rule, message, base, head }] = sorted as [Finding, ...Finding[]];
  const places = new Map(
    sorted
      .filter(({ operation }) => operation !== '')
      .map(({ operation, where, field, base, head }) => {
        const place = { operation, where, field, base, head };
        return [JSON.stringify(place), place];
      }),
  );
  const { level, action } = rules[rule];
  // Names may contain line breaks, and a message is one line.
  return { level, rule, message: message.replace(/\s+/g, ' '), action, places: [...places.values()], base, head };
}

function textsOf({ operation, where, field, base, head }: Place): string[] {
  return [operation.replace(/^\S+ /, ''), operation, where, field, base, head];
}

function byGravity(a: Change, b: Change): number {
  const texts = (one: Change) => [one.base, one.head, one.rule, one.message];
  return levels.indexOf(a.level) - levels.indexOf(b.level) || compareTexts(texts(a), texts(b));
}

/** Compares by code unit, which does not depend on the machine's language. */
function compareTexts(a: readonly string[], b: readonly string[]): number {
  for (const [n, one] of a.entries()) {
    const other = b[n] ?? '';
    if (one !== other) return one < other ? -1 : 1;
  }
  return 0;
}
