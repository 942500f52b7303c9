import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { listQueries, type Query } from '../../server/database/query.ts';

const server = fileURLToPath(new URL('../../server/', import.meta.url));

/** loadServerQueries() does not import these modules, because importing one of them starts a program. */
const programs = ['main.ts', 'worker.ts', 'cli/main.ts'];

/** Loads all modules of the server. Returns the queries that the modules define. */
export async function loadServerQueries(): Promise<Query<never, unknown>[]> {
  const modules = globSync('**/*.ts', { cwd: server, exclude: ['**/*.d.ts', ...programs] });
  for (const module of modules) await import(`${server}${module}`);
  // Leaves out the queries that test files have defined earlier in the same process.
  return listQueries().filter(({ name }) => !name.startsWith('test_'));
}
