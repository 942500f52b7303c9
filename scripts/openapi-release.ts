/**
 * Makes contract/openapi.json the released document, with which every later one is compared: part of a release. The
 * version in contract/openapi/info.ts must be raised by what is different, so that a version names one document.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { compareDocuments } from './openapi-diff/compare-documents.ts';
import { childOf, type OpenApiDocument, parseDocument, textOf } from './openapi-diff/document.ts';
import { formatText } from './openapi-diff/formats/format-text.ts';
import { isRaisedBy, requiredBump } from './openapi-diff/required-bump.ts';

const [base = 'contract/openapi.released.json', head = 'contract/openapi.json'] = process.argv.slice(2);
const text = readFileSync(head, 'utf8');
const released = parseDocument(base, readFileSync(base, 'utf8'));
const current = parseDocument(head, text);

if (JSON.stringify(released.root.value) === JSON.stringify(current.root.value)) {
  console.log(`${versionOf(released)} is what is released: nothing to do`);
} else {
  const difference = compareDocuments(released, current);
  console.log(formatText(difference));
  const bump = requiredBump(difference);
  if (!isRaisedBy(bump, versionOf(released), versionOf(current))) {
    console.error(
      `the version is ${versionOf(current)}, and ${versionOf(released)} was released: these changes need a new ${bump} version`,
    );
    process.exit(1);
  }
  writeFileSync(base, text);
  console.log(`${base} is now ${versionOf(current)}: commit and tag it`);
}

function versionOf({ root }: OpenApiDocument): string {
  return textOf(childOf(root, 'info'), 'version') ?? '';
}
