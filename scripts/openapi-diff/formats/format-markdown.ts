import type { Change, Difference } from '../change.ts';
import { levels } from '../rules.ts';
import { actionOf, groupOf, placesOf, summarize } from './format-text.ts';

/** Identifies this program's comment on a pull request, so that the next run replaces the comment. */
const commentMarker = '<!-- openapi-diff -->';

/** The maximum length of the output. GitHub refuses comments with more than 65,536 characters. */
const mostCharacters = 60_000;

/** Writes Markdown for a comment on a pull request or for the summary of a CI job. */
export function formatMarkdown(difference: Difference): string {
  const { base, head, changes } = difference;
  const top = `${commentMarker}\n## API changes\n\n${summarize(difference)}: ${code(base)} → ${code(head)}\n`;
  const text = [top, ...groups.flatMap(group => section(group, changes))].join('\n');
  if (text.length <= mostCharacters) return text;
  const cut = text.slice(0, text.lastIndexOf('\n- **', mostCharacters));
  const end = cut.lastIndexOf('<details>') > cut.lastIndexOf('</details>') ? '\n</details>\n' : '';
  return `${cut}\n\n_Shortened: the rest is in the log._\n${end}`;
}

const groups = [...levels, 'unused'] as const;
const headings = { breaking: '🛑 Breaking', risky: '⚠️ Risky', additive: '✅ Additive', unused: '💤 Unused' };

function section(group: (typeof groups)[number], changes: readonly Change[]): string[] {
  const texts = changes.filter(change => groupOf(change) === group).map(formatChange);
  if (texts.length === 0) return [];
  const list = texts.join('\n');
  if (group === 'breaking' || group === 'risky') return [`### ${headings[group]}\n\n${list}\n`];
  // Additive and unused changes are initially hidden (`<details>`), because they need no action.
  return [`<details><summary>${headings[group]} (${texts.length})</summary>\n\n${list}\n\n</details>\n`];
}

function formatChange(change: Change): string {
  const places = placesOf(change, '  - ', code);
  const at = `  - <sub>base ${code(change.base)} · head ${code(change.head)}</sub>`;
  return `- **${change.rule}**: ${escapeMarkdown(change.message)}${actionOf(change)}\n${places}${at}`;
}

/** Escapes Markdown in a message, except in code spans. Messages contain names from other people's documents. */
function escapeMarkdown(message: string): string {
  return message
    .split(/(`[^`]*`)/)
    .map(part => (/^`[^`]+`$/.test(part) ? part : part.replace(/[\\`*_[\]<>|#@]/g, '\\$&')))
    .join('');
}

/** Writes a text as a code span. The span begins and ends with more backticks than the text contains in a row. */
function code(text: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  const space = longest > 0 ? ' ' : '';
  return `${fence}${space}${text.replace(/\s+/g, ' ')}${space}${fence}`;
}
