import { mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { onTestFinished } from 'vitest';

const repository = join(import.meta.dirname, '../..');

/** What is not bundled: what has machine code of its own, and what is loaded only where it is asked for. */
const external = [
  'argon2',
  'pg-native',
  '@sentry/node',
  '@scalar/fastify-api-reference',
  'oidc-provider',
  '@modelcontextprotocol/server',
];

/**
 * Puts a program and all that it imports into one file. A process that is started many times loads it in half of the time
 * that a thousand files take; what it does is the same.
 */
export async function bundle(program: string): Promise<string> {
  // Below the project, so that what is not bundled is found from there.
  const directory = join(repository, 'node_modules/.cache/idea-board-test', String(process.pid));
  const outfile = join(directory, 'program.mjs');
  await mkdir(directory, { recursive: true });
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  await build({
    entryPoints: [program],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external,
    logLevel: 'error',
    // For packages that are not modules yet.
    banner: { js: `import * as ofNode from 'node:module'; const require = ofNode.createRequire(import.meta.url);` },
    plugins: [{ name: 'places', setup: ({ onLoad }) => onLoad({ filter: /\.ts$/ }, keepPlace) }],
  });
  return outfile;
}

/** Each file of the project goes on finding what lies beside it, such as templates. */
async function keepPlace({ path }: { path: string }) {
  const source = await readFile(path, 'utf8');
  const contents = source
    .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href));
  return { contents, loader: 'ts' as const };
}
