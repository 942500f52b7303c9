/**
 * A server with a worker on an existing database, in a process of its own that a test can kill at any moment. It loads
 * everything first and begins when it is told to, so that little time passes between one that is killed and the next.
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
// What is killed at its end saves no compiled code for the next ones.
flushCompileCache();
// Connections are made before it counts, too.
await Promise.all(Array.from({ length: 4 }, () => server.database.pool.query('select 1')));

process.once('message', async () => {
  await startWorker({ ...server, url });
  process.send?.(app ? await app.listen({ host: '127.0.0.1', port: 0 }) : 'works');
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
