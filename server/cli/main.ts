import { enableCompileCache } from 'node:module';

// Before anything is imported: every later command then starts in a fraction of the time.
enableCompileCache();

const { runProgram } = await import('./program.ts');
await runProgram();
