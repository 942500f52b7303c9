/**
 * Makes contract/openapi.json the released document, which later comparisons use as their base. Before you run this
 * script, raise the version in contract/openapi/info.ts. The changes since the last release determine whether the
 * major, minor or patch version must increase.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { compareDocuments, formats, isRaisedBy, parseDocument, requiredBump } from './openapi-diff/main.ts';

const [base = 'contract/openapi.released.json', head = 'contract/openapi.json'] = process.argv.slice(2);
const [released, current] = [readFileSync(base, 'utf8'), readFileSync(head, 'utf8')];

if (JSON.stringify(JSON.parse(released)) === JSON.stringify(JSON.parse(current))) {
  console.log(`${versionOf(released)} is already released: nothing to do`);
} else {
  const difference = compareDocuments(parseDocument(base, released), parseDocument(head, current));
  console.log(formats.text(difference));
  const bump = requiredBump(difference);
  if (!isRaisedBy(bump, versionOf(released), versionOf(current))) {
    console.error(
      `the version is ${versionOf(current)} after ${versionOf(released)}: these changes need a new ${bump} version`,
    );
    process.exit(1);
  }
  writeFileSync(base, current);
  console.log(`${base} is now ${versionOf(current)}: commit and tag it`);
}

function versionOf(text: string): string {
  return JSON.parse(text).info?.version ?? '';
}
