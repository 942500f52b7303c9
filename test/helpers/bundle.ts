import { mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { onTestFinished } from 'vitest';

const repository = join(import.meta.dirname, '../..');

/** Packages that are not bundled, because they contain native code or are loaded on demand. */
const external = [
  'argon2',
  'pg-native',
  '@sentry/node',
  '@scalar/fastify-api-reference',
  'oidc-provider',
  '@modelcontextprotocol/server',
];

/** Bundles a program and its imports into one file. Node loads one file twice as fast as a thousand files. */
export async function bundle(program: string): Promise<string> {
  // The directory is inside the project, so that Node finds the packages that are not bundled.
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
    // Bundled CommonJS packages call `require`, which does not exist in ES modules.
    banner: { js: `import * as ofNode from 'node:module'; const require = ofNode.createRequire(import.meta.url);` },
    plugins: [{ name: 'locations', setup: ({ onLoad }) => onLoad({ filter: /\.ts$/ }, inlineLocation) }],
  });
  return outfile;
}

/** Replaces `import.meta` in a module by its value before bundling, so that the module still finds its files. */
async function inlineLocation({ path }: { path: string }) {
  const source = await readFile(path, 'utf8');
  const contents = source
    .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href));
  return { contents, loader: 'ts' as const };
}
