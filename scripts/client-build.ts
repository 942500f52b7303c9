/** Builds the package of client/ into its dist, or into the directory that is named. */
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';

const client = resolve(import.meta.dirname, '../client');
const outDir = resolve(process.argv[2] ?? join(client, 'dist'));
const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');

// What an earlier build left would be published too.
rmSync(outDir, { recursive: true, force: true });
// A dozen files: several threads would each check what all of them import, and take longer together than one.
execFileSync(process.execPath, [compiler, '-p', client, '--outDir', outDir, '--singleThreaded'], { stdio: 'inherit' });
