import { enableCompileCache } from 'node:module';
import { endProcess } from './end-process.ts';

/** Runs the process in its role. With --compile it only loads the modules of the role, to fill the compile cache. */
export async function launch(role: 'runServer' | 'runWorker'): Promise<void> {
  // Without NODE_COMPILE_CACHE the cache is off. With it the next start takes half the time.
  enableCompileCache();
  const [roles, { describeFailure }] = await Promise.all([import('./run-server.ts'), import('./start-failure.ts')]);
  if (process.argv[2] === '--compile') {
    // The server loads this module on demand.
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
