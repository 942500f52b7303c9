import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compilingMs, type PackedClient, packClient, repository } from './packed.ts';

const run = promisify(execFile);

let packed: PackedClient;
let unpacked: string;

beforeAll(async () => {
  packed = await packClient();
  unpacked = await mkdtemp(join(tmpdir(), 'idea-board-unpacked-'));
  await run('tar', ['-xzf', packed.tarball, '-C', unpacked, '--strip-components=1']);
}, compilingMs);

afterAll(() => rm(unpacked, { recursive: true }));

test('the client package contains only code, types, source maps, package.json and documents', async () => {
  const code = packed.files.filter(path => /^dist\/(client|contract)\/[a-z-]+\.(js|js\.map|d\.ts)$/.test(path));
  const others = packed.files.filter(path => !code.includes(path)).sort();
  expect(others).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json']);
  for (const kind of ['js', 'js.map', 'd.ts']) expect(code).toContain(`dist/client/main.${kind}`);
  expect(code.filter(path => path.includes('openapi'))).toEqual([]);
  expect(readFileSync(join(unpacked, 'LICENSE'), 'utf8')).toBe(readFileSync(join(repository, 'LICENSE'), 'utf8'));
});

test('the source maps of the client package contain the source code and no path of the build machine', async () => {
  for (const file of (await readdir(join(unpacked, 'dist/client'))).filter(name => name.endsWith('.map'))) {
    const map = JSON.parse(await readFile(join(unpacked, 'dist/client', file), 'utf8'));
    expect(map.sourcesContent).toHaveLength(map.sources.length);
    expect([map.sourceRoot, ...map.sources]).toEqual(['idea-board:///', `client/${file.replace('.js.map', '.ts')}`]);
  }
});

test('the tool publint reports no problem with the client package', async () => {
  const { stdout } = await run(join(repository, 'node_modules/.bin/publint'), [packed.tarball, '--strict']);
  expect(stdout).toMatch(/All good!\s*$/);
});

test('the tool attw can resolve the types of every entry point of the client package for Node and for bundlers', async () => {
  const attw = join(repository, 'node_modules/.bin/attw');
  const { stdout } = await run(attw, [packed.tarball, '--profile', 'esm-only', '--format', 'json']);
  const { analysis } = JSON.parse(stdout);
  const ofEsm = (kinds: { resolutionKind?: string }[]) =>
    kinds.filter(({ resolutionKind = '' }) => !['node10', 'node16-cjs'].includes(resolutionKind));
  expect(ofEsm(analysis.problems)).toEqual([]);
  expect(Object.keys(analysis.entrypoints)).toEqual(['.', './raw', './validation', './package.json']);
});

test('the main entry point of the client is less than 15 kB as a gzipped bundle and contains neither Zod nor ts-rest', async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(unpacked, 'dist/client/main.js')],
    bundle: true,
    minify: true,
    platform: 'neutral',
    format: 'esm',
    write: false,
    metafile: true,
  });
  expect(gzipSync(outputFiles[0]?.contents ?? '').length).toBeLessThan(15_000);
  expect(Object.keys(metafile.inputs).filter(path => !path.includes('dist/client/'))).toEqual([]);
  expect(Object.values(metafile.inputs).flatMap(({ imports }) => imports.filter(({ external }) => external))).toEqual(
    [],
  );
});

test('the client package has no dependencies, and its peer dependencies are optional', () => {
  const manifest = JSON.parse(readFileSync(join(unpacked, 'package.json'), 'utf8'));
  expect(manifest.dependencies).toBeUndefined();
  expect(manifest.private).toBeUndefined();
  expect(Object.keys(manifest.peerDependenciesMeta)).toEqual(Object.keys(manifest.peerDependencies));
  const changelog = readFileSync(join(unpacked, 'CHANGELOG.md'), 'utf8');
  expect(changelog).toContain(`\n## ${manifest.version}\n`);
  const ours = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')).dependencies;
  expect(manifest.peerDependencies['@ts-rest/core']).toBe(ours['@ts-rest/core']);
});
