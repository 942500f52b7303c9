import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compilingMs, packPackage, repository } from '../client/packed.ts';
import { publishedFolders } from './published.ts';

const run = promisify(execFile);
const tool = (name: string) => join(repository, 'node_modules/.bin', name);
const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'));

test('the client, the test server and the contract are published packages', () => {
  expect(publishedFolders).toEqual(expect.arrayContaining(['client', 'client/testing', 'contract']));
});

describe.each(publishedFolders)('the package in %s', folder => {
  let tarball: string;
  let files: string[];
  let unpacked: string;

  beforeAll(async () => {
    ({ tarball, files } = await packPackage(folder));
    unpacked = await mkdtemp(join(tmpdir(), 'idea-board-unpacked-'));
    await run('tar', ['-xzf', tarball, '-C', unpacked, '--strip-components=1']);
  }, compilingMs);

  afterAll(() => rm(unpacked, { recursive: true }));

  test('a published package contains only JavaScript files, type declarations, source maps, package.json and documents', async () => {
    const code = files.filter(path => /^dist\/([a-z-]+\/)*[a-z-]+\.(js|js\.map|d\.ts)$/.test(path));
    const documents = ['CHANGELOG.md', 'LICENSE', 'README.md', 'openapi.json', 'package.json', 'webhook-receivers.md'];
    expect(files.filter(path => !code.includes(path) && !documents.includes(path))).toEqual([]);
    expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json']));
    for (const kind of ['js', 'd.ts']) expect(code).toContain(`dist/main.${kind}`);
    expect(await readFile(join(unpacked, 'LICENSE'), 'utf8')).toBe(await readFile(join(repository, 'LICENSE'), 'utf8'));
  });

  test('each source map of a published package contains the original source code and no path of the build machine', async () => {
    const maps = files.filter(name => name.endsWith('.js.map'));
    // openapi-diff has no source maps, because the source maps would be more than half of the package.
    const required = folder === 'scripts/openapi-diff' ? [] : ['dist/main.js.map'];
    expect(maps).toEqual(expect.arrayContaining(required));
    for (const name of maps) {
      const { sourceRoot, sources, sourcesContent } = readJson(join(unpacked, name));
      expect([sourceRoot, ...sources]).toEqual([
        'idea-board:///',
        name.replace('dist', folder).replace('.js.map', '.ts'),
      ]);
      expect(sourcesContent).toHaveLength(1);
    }
  });

  test('the package.json of a published package has no peer dependencies', () => {
    expect(readJson(join(unpacked, 'package.json')).peerDependencies).toBeUndefined();
  });

  test('the tool publint reports no problem with a published package', async () => {
    const { stdout } = await run(tool('publint'), [tarball, '--strict']);
    expect(stdout).toMatch(/All good!\s*$/);
  });

  test('the tool attw can resolve the types of every entry point of a published package for Node and for bundlers', async () => {
    const { stdout } = await run(tool('attw'), [tarball, '--profile', 'esm-only', '--format', 'json'], {
      maxBuffer: 64 * 1024 * 1024,
    });
    const { analysis } = JSON.parse(stdout);
    const ofEsm = (analysis.problems as { resolutionKind?: string }[]).filter(
      ({ resolutionKind = '' }) => !['node10', 'node16-cjs'].includes(resolutionKind),
    );
    expect(ofEsm).toEqual([]);
    expect(Object.keys(analysis.entrypoints)).toEqual(Object.keys(readJson(join(unpacked, 'package.json')).exports));
  });
});

test(
  'the client bundle is smaller than 10 kB with gzip, and the client package imports no external module and has no dependencies',
  async () => {
    const directory = await mkdtemp(join(tmpdir(), 'idea-board-bundle-'));
    const { tarball } = await packPackage('client');
    await run('tar', ['-xzf', tarball, '-C', directory]);
    const { outputFiles, metafile } = await build({
      entryPoints: [join(directory, 'package/dist/main.js')],
      bundle: true,
      minify: true,
      platform: 'neutral',
      format: 'esm',
      write: false,
      metafile: true,
    });
    expect(gzipSync(outputFiles[0]?.contents ?? '').length).toBeLessThan(10_000);
    expect(Object.values(metafile.inputs).flatMap(({ imports }) => imports.filter(({ external }) => external))).toEqual(
      [],
    );
    expect(readJson(join(directory, 'package/package.json')).dependencies).toBeUndefined();
    await rm(directory, { recursive: true });
  },
  compilingMs,
);

test('openapi-diff depends only on commander, jsoncompat and yaml', () => {
  const { dependencies } = readJson(join(repository, 'scripts/openapi-diff/package.json'));
  expect(Object.keys(dependencies)).toEqual(['commander', 'jsoncompat', 'yaml']);
});

test('the contract package depends on the version of ts-rest that the server uses', () => {
  const [contract, server] = ['contract', ''].map(folder => readJson(join(repository, folder, 'package.json')));
  expect(contract.dependencies['@ts-rest/core']).toBe(server.dependencies['@ts-rest/core']);
});
