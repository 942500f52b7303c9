/** Builds the SDK in client/ into client/dist, or into the directory that is given as an argument. */
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';

const client = resolve(import.meta.dirname, '../client');
const outDir = resolve(process.argv[2] ?? join(client, 'dist'));
const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');

// Files from an earlier build would otherwise be published with the new build.
rmSync(outDir, { recursive: true, force: true });
// Several threads would be slower here, because each thread would check the imports that the few files have in common.
execFileSync(process.execPath, [compiler, '-p', client, '--outDir', outDir, '--singleThreaded'], { stdio: 'inherit' });
