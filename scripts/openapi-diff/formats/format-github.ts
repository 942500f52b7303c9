import { relative } from 'node:path';
import type { Change } from '../change.ts';
import type { Difference } from '../compare-documents.ts';
import type { Source } from '../read-source.ts';
import type { Level } from '../rules/rule.ts';
import { linesOf } from './line-of.ts';
import { actionOf, placesOf, summarize } from './phrases.ts';

const commands: Record<Level, string> = { breaking: 'error', risky: 'warning', additive: 'notice' };

/** Writes GitHub workflow commands. GitHub shows them as annotations at the lines of the head document. */
export function formatGithub(difference: Difference, head: Source): string {
  const lineOf = head.file === undefined || difference.changes.length === 0 ? undefined : linesOf(head.text);
  const lines = difference.changes.map(change => formatChange(change, head, lineOf));
  return `${[...lines, summarize(difference)].join('\n')}\n`;
}

function formatChange(change: Change, head: Source, lineOf: ((pointer: string) => number) | undefined): string {
  const where = placesOf(change)
    .map(place => `\n- ${place}`)
    .join('');
  const properties: [string, string][] = [];
  if (head.file !== undefined && lineOf !== undefined) {
    properties.push(['file', relative(process.cwd(), head.file)], ['line', String(lineOf(change.head))]);
  }
  properties.push(['title', `${change.level}: ${change.rule}`]);
  const written = properties.map(([key, value]) => `${key}=${escapeProperty(value)}`).join(',');
  return `::${change.accepted === undefined ? commands[change.level] : 'notice'} ${written}::${escapeData(`${change.message}${actionOf(change)}${where}`)}`;
}

function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
