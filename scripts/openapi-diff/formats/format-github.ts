import { relative } from 'node:path';
import { isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import type { Difference } from '../change.ts';
import type { Source } from '../read-source.ts';
import { actionOf, groupOf, placesOf, summarize } from './format-text.ts';

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

/**
 * Returns a function that finds the line of a JSON pointer's target in a JSON or YAML text, counted from 1. If the
 * target is missing, the function returns the line of the nearest parent.
 */
export function linesOf(text: string): (pointer: string) => number {
  const counter = new LineCounter();
  const root = parseDocument(text.replace(/^\uFEFF/, ''), { lineCounter: counter }).contents;
  return pointer => {
    let node: unknown = root;
    let offset = root?.range?.[0] ?? 0;
    for (const token of pointer.split('/').slice(1)) {
      const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
      const pair = isMap(node) && node.items.find(({ key }) => isScalar(key) && String(key.value) === name);
      const item = isSeq(node) && node.items[Number(name)];
      if (!pair && !item) break;
      offset = ((pair ? pair.key : item) as Node).range?.[0] ?? offset;
      node = pair ? pair.value : item;
    }
    return counter.linePos(offset).line;
  };
}
