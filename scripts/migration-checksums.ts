/**
 * Maintains migrations/SHA256SUMS, the checksums of the migrations. Without arguments, this script adds the checksums
 * of new migrations. With `--check`, this script fails if a checksum is missing. In both cases, this script fails if a
 * migration with a checksum has changed or is missing. The option `--directory DIR` selects the migrations of an
 * extension.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { checksumOf, coreStream, readLandedChecksums } from '../server/database/migration-files.ts';

const { values } = parseArgs({ options: { check: { type: 'boolean' }, directory: { type: 'string' } } });
const directory = resolve(values.directory ?? coreStream.directory);

const landed = await readLandedChecksums(directory);
const names = readdirSync(directory)
  .filter(name => name.endsWith('.sql'))
  .sort();
const sums = new Map(names.map(name => [name, checksumOf(readFileSync(join(directory, name), 'utf8'))]));

const pathOf = (name: string) => relative('', join(directory, name));
const problems = [...landed]
  .filter(([name, sum]) => sums.get(name) !== sum)
  .map(([name]) => `${pathOf(name)} was changed or removed after it landed: make a new migration instead`);
if (values.check) {
  for (const name of names) {
    if (!landed.has(name)) problems.push(`${pathOf(name)} is new: run npm run migration:land and commit the result`);
  }
}
if (problems.length > 0) {
  for (const problem of problems) console.error(problem);
  process.exit(1);
}
if (!values.check) {
  writeFileSync(join(directory, 'SHA256SUMS'), [...sums].map(([name, sum]) => `${sum}  ${name}\n`).join(''));
}
