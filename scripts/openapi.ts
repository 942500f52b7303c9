/** Writes contract/openapi.json; with --check, only fails when the file is not what the contract says. */
import { readFileSync, writeFileSync } from 'node:fs';
import { buildOpenApiDocument } from '../contract/openapi.ts';

const file = new URL('../contract/openapi.json', import.meta.url);
const text = `${JSON.stringify(buildOpenApiDocument(), null, 2)}\n`;

if (process.argv.includes('--check')) {
  if (readFileSync(file, 'utf8') !== text) {
    console.error('contract/openapi.json is not what the contract says: run npm run openapi and commit the result');
    process.exit(1);
  }
} else {
  writeFileSync(file, text);
}
