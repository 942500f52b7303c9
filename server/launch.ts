import { enableCompileCache } from 'node:module';
import { endProcess } from './end-process.ts';

/**
 * Starts the server or the worker. With the argument --compile, the function only loads the modules, so that Node
 * stores the compiled code in its cache.
 */
export async function launch(role: 'runServer' | 'runWorker'): Promise<void> {
  // Node uses the cache only if NODE_COMPILE_CACHE is set. With the cache, a start takes half the time.
  enableCompileCache();
  const [roles, { describeFailure, explainFailure }, { reportFatal }] = await Promise.all([
    import('./run-server.ts'),
    import('./start-failure.ts'),
    import('./observability/report-fatal.ts'),
  ]);
  if (process.argv[2] === '--compile') {
    // The server usually loads this module when the first client needs it. With the argument --compile, this statement
    // loads the module now, so that Node caches its compiled code too.
    await import('./mcp/answer-with-sdk.ts');
    return;
  }
  try {
    await roles[role](process.env);
  } catch (error) {
    console.error(describeFailure(error, process.env));
    if (explainFailure(error) === undefined) await reportFatal(error, process.env, role);
    endProcess(1);
  }
}
