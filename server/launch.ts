import { enableCompileCache } from 'node:module';
import { endProcess } from './end-process.ts';

/** Starts the server or the worker. With --compile it only loads the modules, to fill Node's compile cache. */
export async function launch(role: 'runServer' | 'runWorker'): Promise<void> {
  // The cache is only used if NODE_COMPILE_CACHE is set. With the cache, the next start takes half the time.
  enableCompileCache();
  const [roles, { describeFailure }] = await Promise.all([import('./run-server.ts'), import('./start-failure.ts')]);
  if (process.argv[2] === '--compile') {
    // The server loads this module only on demand, so it is not yet in the cache.
    await import('./mcp/answer-with-sdk.ts');
    return;
  }
  try {
    await roles[role](process.env);
  } catch (error) {
    console.error(describeFailure(error, process.env));
    endProcess(1);
  }
}
