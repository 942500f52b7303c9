import { type Level, levels } from './rules/rule.ts';
import { type RuleId, rules } from './rules/rules.ts';

/** One thing that differs, wherever it shows. */
export interface Change {
  level: Level;
  rule: RuleId;
  /** What is different, as a sentence. */
  message: string;
  /** What a client must do, as a sentence. */
  action: string;
  /** Where it shows, in a stable order. Empty where it concerns no operation. */
  places: Place[];
  /** JSON pointers into both documents. What is only in one has the nearest thing around it in the other. */
  base: string;
  head: string;
}

export interface Place {
  /** `GET /api/v1/ideas`, `webhook idea.created`; empty for the whole document. */
  operation: string;
  /** `request body`, `response 200`, `query parameter sort`; empty for the operation itself. */
  where: string;
  /** The field, as in `data[].title`; empty for the whole value. */
  field: string;
  base: string;
  head: string;
}

export interface Finding extends Place {
  rule: RuleId;
  message: string;
}

export type Report = (finding: Finding) => void;

/** Whether a client may have to do something. */
export function isSerious(finding: Finding): boolean {
  return rules[finding.rule].level !== 'additive';
}

/**
 * The findings as changes, the gravest first. What is found of one component in many operations is one change, as is
 * the same found in several places that share no component.
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
  // A name may hold anything, and a message is one line.
  return { level, rule, message: message.replace(/\s+/g, ' '), action, places: [...places.values()], base, head };
}

function textsOf({ operation, where, field, base, head }: Place): string[] {
  return [operation.replace(/^\S+ /, ''), operation, where, field, base, head];
}

function byGravity(a: Change, b: Change): number {
  const texts = (one: Change) => [one.base, one.head, one.rule, one.message];
  return levels.indexOf(a.level) - levels.indexOf(b.level) || compareTexts(texts(a), texts(b));
}

/** By code unit: the same on every machine, whatever its language. */
function compareTexts(a: readonly string[], b: readonly string[]): number {
  for (const [n, one] of a.entries()) {
    const other = b[n] ?? '';
    if (one !== other) return one < other ? -1 : 1;
  }
  return 0;
}
