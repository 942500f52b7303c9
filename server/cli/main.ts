import { enableCompileCache } from 'node:module';

// This must come before all other imports. The compiled code is cached, so that later commands start in a fraction of
// the time.
enableCompileCache();

const { runProgram } = await import('./program.ts');
await runProgram();
