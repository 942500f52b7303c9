import { enableCompileCache } from 'node:module';
import { endProcess } from './end-process.ts';

/**
 * Runs the process in its role. What has a plain cause is told in one line; a fault of ours keeps its stack.
 *
 * With --compile it only reads all that the role may need, for the cache of compiled code.
 */
export async function launch(role: 'runServer' | 'runWorker'): Promise<void> {
  // Where NODE_COMPILE_CACHE has not done it: the next start then takes half the time.
  enableCompileCache();
  const [roles, { tellFailure }] = await Promise.all([import('./run-server.ts'), import('./start-failure.ts')]);
  if (process.argv[2] === '--compile') {
    // What is read on demand.
    await import('./mcp/answer-with-sdk.ts');
    return;
  }
  try {
    await roles[role](process.env);
  } catch (error) {
    console.error(tellFailure(error, process.env));
    endProcess(1);
  }
}
