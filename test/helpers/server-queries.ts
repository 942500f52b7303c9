import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { listQueries, type Query } from '../../server/database/query.ts';

const server = fileURLToPath(new URL('../../server/', import.meta.url));

/** Importing one of these starts a process. */
const programs = ['main.ts', 'worker.ts', 'cli/main.ts'];

/** Loads all modules of the server and returns the queries that they define. */
export async function loadServerQueries(): Promise<Query<never, unknown>[]> {
  const modules = globSync('**/*.ts', { cwd: server, exclude: ['**/*.d.ts', ...programs] });
  for (const module of modules) await import(`${server}${module}`);
  // Test files that ran in the same process define queries, too.
  return listQueries().filter(({ name }) => !name.startsWith('test_'));
}
