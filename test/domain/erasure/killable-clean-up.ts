/**
 * The program of a process that runs a clean-up, and that a test can kill at any moment. The process loads all modules
 * and then waits for a message, so that the kill comes during the clean-up. Small batches make many different
 * interruptions possible.
 */
import { openDatabase } from '../../../server/database/database.ts';
import { runCleanUp } from './run.ts';

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
