import { execFile } from 'node:child_process';
import { readFileSync, realpathSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink } from 'node:fs/promises';
import { findPackageJSON } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compilingMs, createEmptyProject, type FreshProject, packPackage, repository } from '../client/packed.ts';
import { findRuntimes } from '../client/runtimes.ts';
import { publishedFolders } from './published.ts';
import { type Registry, startRegistry } from './registry.ts';

const run = promisify(execFile);
const names = ['@idea-board/client', '@idea-board/contract', '@idea-board/testing'];

/**
 * The program of an outside developer. It uses each JavaScript entry point of the packages, together with the Zod
 * version of the developer's project.
 */
const program = `
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { IdeaBoard } from '@idea-board/client';
import { IdeaInput } from '@idea-board/contract';
import { createClient } from '@idea-board/contract/raw';
import { validateRequest } from '@idea-board/contract/validation';
import { startTestServer } from '@idea-board/testing';
import { z } from 'zod';

const server = await startTestServer();
const { baseUrl, token } = server;
const client = new IdeaBoard({ baseUrl, token, validate: validateRequest });
const { id } = await client.ideas.create({ title: 'Dark mode', body: 'For late evenings.' });
const raw = await createClient({ baseUrl, token }).getIdea({ params: { id } });
server.fail('voteIdea', 'voting_closed');
const refusal = await client.ideas.vote(id, { value: 'up' }).catch(error => error.key);
const invalid = await client.ideas.create({ title: '', body: '' }).catch(error => error.key);
await server.close();
const document = JSON.parse(readFileSync('node_modules/@idea-board/contract/openapi.json', 'utf8'));
console.log(JSON.stringify({
  raw: raw.body.title,
  refusal,
  invalid,
  own: z.object({ title: z.string() }).safeParse({ title: 'A' }).success,
  ofContract: IdeaInput.safeParse({ title: 'A', body: 'B' }).success,
  openapi: document.openapi,
}));
`;

/** A program of an outside developer. It must compile with Zod 3 and with Zod 4. */
const typed = `
import { IdeaBoard, type Idea } from '@idea-board/client';
import { contract, Idea as IdeaSchema } from '@idea-board/contract';
import { createClient } from '@idea-board/contract/raw';
import { validateRequest } from '@idea-board/contract/validation';
import { startTestServer, type TestServer } from '@idea-board/testing';

const server: TestServer = await startTestServer({ board: { is_frozen: true } });
const { baseUrl, token } = server;
const client = new IdeaBoard({ baseUrl, token, validate: validateRequest });
const idea: Idea = IdeaSchema.parse(await client.ideas.get(1));
server.fail('createIdea', 'board_frozen', { times: 2 });
// @ts-expect-error: voting_closed is no error of createIdea.
server.fail('createIdea', 'voting_closed');
const answer = await createClient({ baseUrl, token }).getIdea({ params: { id: idea.id } });
export const score: number = answer.status === 200 ? answer.body.score : contract.getIdea.path.length;
`;

let registry: Registry;
let cache: string;

beforeAll(async () => {
  const stage = await mkdtemp(join(tmpdir(), 'idea-board-registry-'));
  const ours = await Promise.all(publishedFolders.map(packPackage));
  const installed = ['node_modules/zod-3', 'node_modules/zod', 'node_modules/@ts-rest/core'];
  const used = [...installed, 'test/consumers/node_modules/ts-rest-3.52'].map(path => join(repository, path));
  const others = await Promise.all(
    [...used, ...dependenciesOfOpenapiDiff()].map((path, n) => archive(path, join(stage, `${n}`))),
  );
  registry = await startRegistry([...ours.map(({ tarball }) => tarball), ...others]);
  cache = join(stage, 'cache');
}, compilingMs);

afterAll(async () => {
  await registry.close();
  await rm(dirname(cache), { recursive: true });
});

/** Returns the installed dependencies of openapi-diff. For some of these packages, the server uses other versions. */
function dependenciesOfOpenapiDiff(): string[] {
  const manifest = join(repository, 'scripts/openapi-diff/package.json');
  const { dependencies } = JSON.parse(readFileSync(manifest, 'utf8'));
  return Object.keys(dependencies).map(name => dirname(findPackageJSON(name, manifest) ?? ''));
}

/**
 * Makes an archive of the files of an installed package. The command npm pack would make the same archive, but take
 * longer.
 */
async function archive(path: string, into: string): Promise<string> {
  await mkdir(into);
  await symlink(path, join(into, 'package'));
  const tarball = `${into}.tgz`;
  await run('tar', ['-czhf', tarball, '-C', into, 'package']);
  return tarball;
}

/**
 * Installs packages in a project with the npm of a Node version. Fails if peer dependencies conflict, or if a package
 * does not support this Node version.
 */
async function install({ directory }: FreshProject, node: string, ...packages: string[]) {
  const npm = realpathSync(
    (process.env.PATH ?? '')
      .split(delimiter)
      .map(path => join(path, 'npm'))
      .find(isFile) ?? '',
  );
  const flags = [
    '--registry',
    registry.url,
    '--cache',
    cache,
    '--strict-peer-deps',
    '--engine-strict',
    '--no-audit',
    '--no-fund',
  ];
  await run(node, [npm, 'install', ...flags, ...packages], { cwd: directory });
}

/** Compiles a TypeScript program in strict mode. Returns the errors of the compiler. */
async function compile({ directory }: FreshProject, file: string): Promise<string> {
  const compiler = join(repository, 'node_modules/typescript/bin/tsc');
  const flags = ['--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', '--noEmit', '--module', 'nodenext'];
  const args = [compiler, ...flags, '--target', 'es2022', '--types', '', '--singleThreaded', file];
  const { stdout } = await run(process.execPath, args, { cwd: directory }).catch(error => error);
  return stdout;
}

function isFile(path: string): boolean {
  try {
    return realpathSync(path) !== '';
  } catch {
    return false;
  }
}

const nodes = findRuntimes().filter(({ name }) => name.startsWith('Node'));
const zods = [
  { zod: 3, tsRest: '3.52' },
  { zod: 4, tsRest: '3.53.0-rc.1' },
];
// The project on the first Node version upgrades from Zod 3 to Zod 4 and also compiles its code, because the compiler
// behaves the same on every Node version. The projects on the other Node versions alternate between the Zod versions.
const cases = nodes.map((node, n) => ({
  ...node,
  versions: n === 0 ? zods : zods.slice(n % zods.length).slice(0, 1),
  isCompiled: n === 0,
}));
const openapiDiff = '@idea-board/openapi-diff';

test(
  'openapi-diff installs with at most 4.9 MB of files',
  async () => {
    const project = await createEmptyProject();
    await install(project, process.execPath, openapiDiff);
    expect(await bytesIn(join(project.directory, 'node_modules'))).toBeLessThan(4_900_000);
    await project.remove();
  },
  compilingMs,
);

describe.each(cases)('the project of an outside developer on $name', ({ command, versions, isCompiled }) => {
  let project: FreshProject;

  beforeAll(async () => {
    project = await createEmptyProject();
    await project.write('main.js', program);
    await project.write('typed.ts', typed);
  });

  afterAll(() => project.remove());

  test.each(versions)(
    `the packages ${names.join(', ')} install${isCompiled ? ', compile in strict TypeScript' : ''} and run with Zod $zod and ts-rest $tsRest`,
    async ({ zod, tsRest }) => {
      await install(project, command, `zod@${zod}`, `@ts-rest/core@${tsRest}`, ...names, openapiDiff);
      const { stdout } = await run(command, ['main.js'], { cwd: project.directory });
      expect(JSON.parse(stdout)).toEqual({
        raw: 'Dark mode',
        refusal: 'voting_closed',
        invalid: 'invalid_request',
        own: true,
        ofContract: true,
        openapi: '3.1.0',
      });
      if (isCompiled) expect(await compile(project, 'typed.ts')).toBe('');
      const listed = await readFile(join(project.directory, 'node_modules/zod/package.json'), 'utf8');
      expect(JSON.parse(listed).version).toMatch(new RegExp(`^${zod}\\.`));
    },
    compilingMs,
  );

  test('openapi-diff, installed together with the other packages, compares a JSON document with a YAML document', async () => {
    await project.write('old.json', '{"openapi":"3.1.0","paths":{"/ideas":{"get":{}},"/votes":{"get":{}}}}');
    await project.write('new.yaml', 'openapi: 3.1.0\npaths:\n  /ideas:\n    get: {}\n');
    const args = ['node_modules/.bin/openapi-diff', 'old.json', 'new.yaml', '--format', 'json'];
    const refusal = await run(command, args, { cwd: project.directory }).catch(error => error);
    expect(refusal.stderr).toBe('');
    expect(refusal.code).toBe(1);
    expect(JSON.parse(refusal.stdout).changes).toMatchObject([{ rule: 'path-removed', head: '#/paths' }]);
  });
});

async function bytesIn(directory: string): Promise<number> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter(entry => entry.isFile()).map(({ parentPath, name }) => stat(join(parentPath, name)));
  return (await Promise.all(files)).reduce((sum, { size }) => sum + size, 0);
}
