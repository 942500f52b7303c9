/**
 * Runs a server and a worker on an existing database, in a process that a test can kill at any moment. The process
 * loads all modules first and starts the server on a message from the test. So a loaded process can quickly replace a
 * killed process.
 */
import { flushCompileCache } from 'node:module';
import { buildApp } from '../../server/app.ts';
import { loadConfig } from '../../server/config.ts';
import { loadExtensions } from '../../server/extensions/load-extensions.ts';
import { startWorker } from '../../server/jobs/worker.ts';
import { buildLogger } from '../../server/observability/logger.ts';
import { openDependencies } from '../../server/open-dependencies.ts';

const config = loadConfig();
const url = config.DATABASE_URL ?? '';
const extensions = await loadExtensions(config.EXTENSIONS, process.env);
const { server } = await openDependencies(url, config, buildLogger(config), extensions);
const app = process.env.WITHOUT_HTTP === '1' ? undefined : await buildApp(server);
await app?.ready();
// Saves the compile cache now. Node saves the cache when a process exits, but not when a process is killed.
flushCompileCache();
// Opens four database connections in advance, so that the server starts quickly.
await Promise.all(Array.from({ length: 4 }, () => server.database.pool.query('select 1')));

process.once('message', async () => {
  await startWorker({ ...server, url });
  process.send?.(app ? await app.listen({ host: '127.0.0.1', port: 0 }) : 'works');
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
