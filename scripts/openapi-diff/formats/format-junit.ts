import type { Change, Difference } from '../change.ts';
import { actionOf, groupOf, placesOf, summarize, usageOf } from './format-text.ts';

/**
 * Writes a JUnit report with a test case for each change. Breaking changes are reported as failed tests. Accepted and
 * unused changes are reported as skipped tests.
 */
export function formatJunit(difference: Difference): string {
  const { base, head, changes, counts } = difference;
  const skipped = changes.filter(change => reasonToSkip(change) !== undefined).length;
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
  const { level, rule, message } = change;
  const skipped = reasonToSkip(change);
  const text = escapeXml(`${placesOf(change, '- ')}base ${change.base}\nhead ${change.head}`);
  const open = `    <testcase classname="${level}.${rule}" name="${escapeXml(`${message} ${change.head}`)}">`;
  let result = `<system-out>${text}</system-out>`;
  if (skipped !== undefined) result = `<skipped message="${escapeXml(skipped)}"/>`;
  else if (level === 'breaking')
    result = `<failure message="${escapeXml(`${message}${actionOf(change)}`)}">${text}</failure>`;
  return `${open}${result}</testcase>`;
}

/** Returns why a change does not count: the accept file accepts it, or it affects no client. */
function reasonToSkip(change: Change): string | undefined {
  return groupOf(change) === 'unused' ? usageOf(change).trim() : change.accepted;
}

/** Escapes a text for XML, and removes control characters, which XML 1.0 forbids. */
function escapeXml(text: string): string {
  const allowed = [...text].filter(character => character >= ' ' || character === '\n').join('');
  const escaped = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\n': '&#10;' };
  return allowed.replace(/[&<>"\n]/g, character => escaped[character as keyof typeof escaped]);
}
