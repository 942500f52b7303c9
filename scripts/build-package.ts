/**
 * Compiles a package to JavaScript with types: `node scripts/build-package.ts <folder> [<directory for the result>]`.
 * By default, the result is in the directory `dist` of the folder.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';

const [folder, directory] = process.argv.slice(2);
if (!folder) throw new Error('Name the folder of the package, such as client');

const source = resolve(import.meta.dirname, '..', folder);
const dist = resolve(directory ?? join(source, 'dist'));
const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');

mkdirSync(dirname(dist), { recursive: true });
// The compiler writes one output folder for this package, and one for each imported package of the repository. This
// script keeps only the folder of this package.
const tree = mkdtempSync(join(dirname(dist), '.build-'));
try {
  // Compiles with one thread. With several threads, each thread would check the shared imports again, which takes
  // longer.
  execFileSync(process.execPath, [compiler, '-p', source, '--outDir', tree, '--singleThreaded'], { stdio: 'inherit' });
  // Files from an earlier build would otherwise be published with the new build.
  rmSync(dist, { recursive: true, force: true });
  renameSync(join(tree, folder), dist);
} finally {
  rmSync(tree, { recursive: true });
}
