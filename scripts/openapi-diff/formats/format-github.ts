import { relative } from 'node:path';
import type { Difference } from '../compare-documents.ts';
import type { Source } from '../read-source.ts';
import { linesOf } from './line-of.ts';
import { actionOf, groupOf, placesOf, summarize } from './phrases.ts';

const commands = { breaking: 'error', risky: 'warning', additive: 'notice', unused: 'notice' };

/** Writes GitHub workflow commands. For each change, GitHub shows an annotation at a line of the head document. */
export function formatGithub(difference: Difference, head: Source): string {
  const { file, text } = head;
  const lineOf = file === undefined || difference.changes.length === 0 ? undefined : linesOf(text);
  const lines = difference.changes.map(change => {
    const command = change.accepted === undefined ? commands[groupOf(change)] : 'notice';
    const properties = [`title=${escapeProperty(`${groupOf(change)}: ${change.rule}`)}`];
    if (file !== undefined && lineOf !== undefined) {
      properties.unshift(`file=${escapeProperty(relative(process.cwd(), file))}`, `line=${lineOf(change.head)}`);
    }
    const content = `${change.message}${actionOf(change)}\n${placesOf(change, '- ')}`.replace(/\n$/, '');
    return `::${command} ${properties.join(',')}::${escapeData(content)}`;
  });
  return `${[...lines, summarize(difference)].join('\n')}\n`;
}

function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
