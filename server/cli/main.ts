import { enableCompileCache } from 'node:module';

// This must come before all other imports. Later commands then start in a fraction of the time.
enableCompileCache();

const { runProgram } = await import('./program.ts');
await runProgram();
