import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';

const directory = new URL('../database/offenders/', import.meta.url);

/**
 * Compares what breaks a rule today with the list of known offenders, which may only get shorter. `npx vitest run
 * test/database/tenancy.test.ts --update` removes those that are gone, but adds none. To make a list again, for example
 * after statements got new names, delete its file first.
 */
export async function expectOnlyKnownOffenders(list: string, offenders: readonly string[]) {
  const file = fileURLToPath(new URL(`${list}.txt`, directory));
  const found = [...new Set(offenders)].sort();
  const known = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  const added = known === undefined ? [] : found.filter(one => !known.split('\n').includes(one));
  expect(added, 'new offenders').toEqual([]);
  await expect(found.map(one => `${one}\n`).join('')).toMatchFileSnapshot(file);
}
