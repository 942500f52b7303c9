import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const repository = join(import.meta.dirname, '../..');
/**
 * The directory of the bundles is inside the project, so that Node finds the packages that the bundles do not contain.
 */
const directory = join(repository, 'node_modules/.cache/idea-board-test');

const programs = [
  'server/main.ts',
  'server/worker.ts',
  'server/cli/main.ts',
  'test/helpers/killable-server.ts',
  'test/helpers/killable-clean-up.ts',
] as const;

/**
 * Packages that the bundles do not contain, because the packages contain native code, read their own files or are
 * loaded on demand.
 */
const external = [
  'argon2',
  'graphile-worker',
  'pg-native',
  'umzug',
  'sharp',
  '@sentry/node',
  '@scalar/fastify-api-reference',
  'oidc-provider',
  '@modelcontextprotocol/server',
];

/**
 * Returns the path of a program for Node: by default the path of the bundle. If the settings name extensions, returns
 * the path of the source file. Extensions import modules of the server, and the program must use the same copies of
 * these modules.
 */
export function programFor(source: (typeof programs)[number], settings: Record<string, string> = {}): string {
  return settings.EXTENSIONS ? join(repository, source) : join(directory, source.replace(/ts$/, 'mjs'));
}

/**
 * Bundles the programs that tests run. Loading the few bundled files takes Node half the time that it needs for the
 * thousand source files.
 */
export async function bundlePrograms() {
  const { outputFiles } = await build({
    entryPoints: [...programs],
    absWorkingDir: repository,
    outdir: directory,
    outbase: '.',
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    write: false,
    platform: 'node',
    format: 'esm',
    external,
    logLevel: 'error',
    // Defines `require`, because bundled CommonJS packages call it. ES modules have no `require`.
    banner: { js: `import * as ofNode from 'node:module'; const require = ofNode.createRequire(import.meta.url);` },
    plugins: [{ name: 'locations', setup: ({ onLoad }) => onLoad({ filter: /\.ts$/ }, inlineLocation) }],
  });
  const present = await readdir(directory, { recursive: true }).catch(() => []);
  const written = new Set(outputFiles.map(({ path }) => path));
  const stale = present.map(name => join(directory, name)).filter(path => /\.mjs$/.test(path) && !written.has(path));
  await Promise.all(stale.map(path => rm(path)));
  await Promise.all(
    outputFiles.map(async ({ path, contents }) => {
      const old = await readFile(path).catch(() => undefined);
      // Does not write an unchanged file again, because another test run may be reading the file.
      if (old?.equals(contents)) return;
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, contents);
    }),
  );
}

/**
 * Replaces `import.meta` in a module with its value before bundling, so that the bundled code still finds the files of
 * the module.
 */
async function inlineLocation({ path }: { path: string }) {
  const source = await readFile(path, 'utf8');
  const contents = source
    .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href));
  return { contents, loader: 'ts' as const };
}
