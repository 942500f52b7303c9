import type { Change } from '../change.ts';
import type { Difference } from '../compare-documents.ts';
import { actionOf, placesOf, summarize } from './phrases.ts';

/** Writes a JUnit report with a test case for each change. Breaking changes are failures, accepted changes are skipped. */
export function formatJunit(difference: Difference): string {
  const { base, head, changes, counts } = difference;
  const skipped = changes.filter(({ accepted }) => accepted !== undefined).length;
  const cases = changes.map(formatChange);
  if (cases.length === 0)
    cases.push(`    <testcase classname="openapi-diff" name="${escapeXml(summarize(difference))}"/>`);
  const total = `tests="${cases.length}" failures="${counts.breaking}" skipped="${skipped}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${total}>`,
    `  <testsuite name="${escapeXml(`${base} -> ${head}`)}" ${total}>`,
    ...cases,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

function formatChange(change: Change): string {
  const { level, rule, message, accepted } = change;
  const text = escapeXml(`${placesOf(change, '- ')}base ${change.base}\nhead ${change.head}`);
  const open = `    <testcase classname="${level}.${rule}" name="${escapeXml(`${message} ${change.head}`)}">`;
  let result = `<system-out>${text}</system-out>`;
  if (accepted !== undefined) result = `<skipped message="${escapeXml(accepted)}"/>`;
  else if (level === 'breaking')
    result = `<failure message="${escapeXml(`${message}${actionOf(change)}`)}">${text}</failure>`;
  return `${open}${result}</testcase>`;
}

/** Escapes a text for XML, and removes control characters, which XML 1.0 forbids. */
function escapeXml(text: string): string {
  const allowed = [...text].filter(character => character >= ' ' || character === '\n').join('');
  return allowed
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\n', '&#10;');
}
