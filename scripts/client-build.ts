/** Builds the package of client/ into its dist, or into the given directory. */
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';

const client = resolve(import.meta.dirname, '../client');
const outDir = resolve(process.argv[2] ?? join(client, 'dist'));
const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');

// Files of an earlier build would be published, too.
rmSync(outDir, { recursive: true, force: true });
// With several threads, each would check the common imports of the few files, which takes longer than one thread.
execFileSync(process.execPath, [compiler, '-p', client, '--outDir', outDir, '--singleThreaded'], { stdio: 'inherit' });
