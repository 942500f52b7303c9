import { enableCompileCache } from 'node:module';

// Node must enable its compile cache before any other import. With the cache, later commands start in a fraction of the
// time.
enableCompileCache();

const { runProgram } = await import('./program.ts');
await runProgram();
