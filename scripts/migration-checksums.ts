/**
 * Keeps migrations/SHA256SUMS, which says what each migration was when it landed. Without arguments it adds the new
 * ones; with --check it fails where one is missing. Either way a migration that changed is refused.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

const directory = new URL('../migrations/', import.meta.url);
const sumsFile = new URL('SHA256SUMS', directory);

const landed = new Map(
  readFileSync(sumsFile, { encoding: 'utf8', flag: 'a+' })
    .split('\n')
    .filter(line => line !== '')
    .map(line => line.split(/ +/, 2) as [string, string])
    .map(([sum, name]) => [name, sum]),
);
const names = readdirSync(directory)
  .filter(name => name.endsWith('.sql'))
  .sort();
const sums = new Map(
  names.map(name => [
    name,
    createHash('sha256')
      .update(readFileSync(new URL(name, directory)))
      .digest('hex'),
  ]),
);

const problems = [...landed]
  .filter(([name, sum]) => sums.get(name) !== sum)
  .map(([name]) => `migrations/${name} was changed or removed after it landed: make a new migration instead`);
if (process.argv.includes('--check')) {
  for (const name of names) {
    if (!landed.has(name)) problems.push(`migrations/${name} is new: run npm run migration:land and commit the result`);
  }
}
if (problems.length > 0) {
  for (const problem of problems) console.error(problem);
  process.exit(1);
}
if (!process.argv.includes('--check')) {
  writeFileSync(sumsFile, [...sums].map(([name, sum]) => `${sum}  ${name}\n`).join(''));
}
