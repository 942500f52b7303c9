import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { listQueries, type Query } from '../../server/database/query.ts';

const server = fileURLToPath(new URL('../../server/', import.meta.url));

/** Modules that start a program when they are imported, so they are not loaded. */
const programs = ['main.ts', 'worker.ts', 'cli/main.ts'];

/** Loads all modules of the server. Returns the queries that the modules define. */
export async function loadServerQueries(): Promise<Query<never, unknown>[]> {
  const modules = globSync('**/*.ts', { cwd: server, exclude: ['**/*.d.ts', ...programs] });
  for (const module of modules) await import(`${server}${module}`);
  // Test files that ran earlier in the same process may have defined queries, too.
  return listQueries().filter(({ name }) => !name.startsWith('test_'));
}
