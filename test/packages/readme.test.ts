import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../client/testing/main.ts';
import { compilingMs, createProject, type FreshProject, installFromRepository, repository } from '../client/packed.ts';

const run = promisify(execFile);

let project: FreshProject;
let server: TestServer;

beforeAll(async () => {
  project = await createProject('client', 'contract', 'client/testing');
  await installFromRepository(project, 'zod', '@ts-rest/core');
  server = await startTestServer();
}, compilingMs);

afterAll(async () => {
  await server.close();
  await project.remove();
});

/** Runs the JavaScript examples in the README of a folder as one program. Returns the lines that they print. */
async function runExamples(folder: string): Promise<string[]> {
  const readme = await readFile(join(repository, folder, 'README.md'), 'utf8');
  const blocks = [...readme.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, code]) => code);
  await project.write('tour.js', blocks.join('\n'));
  const env = { PATH: process.env.PATH, IDEA_BOARD_URL: server.baseUrl, IDEA_BOARD_TOKEN: server.token };
  const { stdout } = await run(process.execPath, ['tour.js'], { cwd: project.directory, env });
  return stdout.trimEnd().split('\n');
}

test('the examples in the README of the contract package print the expected output', async () => {
  expect(await runExamples('contract')).toEqual([
    'title: Must not be empty',
    'Create an idea: POST /api/v1/ideas',
    'board_frozen has the status 423',
    'There are 11 types of events',
    expect.stringMatching(/^query\.per_page: /),
    'Raw: Dark mode',
  ]);
});

test('the JavaScript examples in the README of @idea-board/testing run without a failed assertion', async () => {
  expect(await runExamples('client/testing')).toEqual(['']);
});
