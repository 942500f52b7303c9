/**
 * The program of a process that runs a clean-up, which erases accounts and users whose deletion is due. A test can kill
 * the process at any moment. The process first loads all modules and waits for a message, so that the kill happens
 * during the clean-up. Because the batches are small, many different interruptions are possible.
 */
import { openDatabase } from '../../server/database/database.ts';
import { runCleanUp } from '../domain/erasure/run.ts';

const database = await openDatabase({
  url: process.env.DATABASE_URL ?? '',
  poolSize: 3,
  connectTimeoutMs: 10_000,
  statementTimeoutMs: 10_000,
  logger: { warn: () => {} },
});
await database.pool.query('select 1');
process.once('message', async () => {
  process.send?.('begun');
  const { isAlone, failed } = await runCleanUp({ database }, { now: new Date(process.env.NOW ?? ''), batchSize: 2 });
  process.send?.({ isAlone, failures: failed.length });
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
