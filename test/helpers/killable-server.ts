/**
 * A process with a server and a worker on an existing database, which a test can kill at any moment. It loads all modules
 * first and starts on a message, so that it can replace a killed process quickly.
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
// A killed process does not save the compile cache at its exit.
flushCompileCache();
// Opens connections before the start, too.
await Promise.all(Array.from({ length: 4 }, () => server.database.pool.query('select 1')));

process.once('message', async () => {
  await startWorker({ ...server, url });
  process.send?.(app ? await app.listen({ host: '127.0.0.1', port: 0 }) : 'works');
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
