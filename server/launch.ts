import { enableCompileCache } from 'node:module';
import { endProcess } from './end-process.ts';

/** Runs the process in its role. What has a plain cause is told in one line; a fault of ours keeps its stack. */
export async function launch(role: 'runServer' | 'runWorker'): Promise<void> {
  // Before the rest is imported: the next start then takes half the time, and needs no memory to read TypeScript.
  enableCompileCache();
  const [roles, { tellFailure }] = await Promise.all([import('./run-server.ts'), import('./start-failure.ts')]);
  try {
    await roles[role](process.env);
  } catch (error) {
    console.error(tellFailure(error, process.env));
    endProcess(1);
  }
}
