import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';

const run = promisify(execFile);
const require = createRequire(import.meta.url);
const generator = join(dirname(require.resolve('openapi-typescript/package.json')), 'bin/cli.js');
// openapi-typescript needs the compiler's own API, which TypeScript 7 no longer has: this workspace brings its 5.
const compiler = require.resolve('typescript/bin/tsc');
const document = fileURLToPath(new URL('../../contract/openapi.json', import.meta.url));

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'idea-board-consumer-'));
  await run(process.execPath, [generator, document, '--output', join(directory, 'api.d.ts')]);
  return () => rm(directory, { recursive: true, force: true });
});

test('openapi-typescript makes types of the document that strict TypeScript 5 accepts, and that say what is sent', async () => {
  const output = await compile(`
    import type { components, operations, paths } from './api.js';

    type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
    const check = <_T extends true>() => {};

    type Idea = components['schemas']['Idea'];
    check<Equal<Idea['moderation_state'], 'published' | 'pending'>>();
    check<Equal<Idea['merged_into_id'], number | null>>();
    check<Equal<Idea['my_vote'], 'up' | 'down' | 'none'>>();
    check<Equal<Idea['tags'][number]['color'], string>>();

    type Query = NonNullable<operations['listIdeas']['parameters']['query']>;
    check<Equal<Query['sort'], 'newest' | 'top' | undefined>>();
    check<Equal<Query['moderation_state'], 'pending' | undefined>>();
    check<Equal<Query['page'], number | undefined>>();

    type Vote = paths['/api/v1/ideas/{id}/vote']['post'];
    check<Equal<Vote['requestBody']['content']['application/json'], { value: 'up' | 'down' | 'none' }>>();
    check<Equal<
      Vote['responses'][423]['content']['application/json']['error']['key'],
      'board_frozen' | 'status_votes_closed' | 'voting_closed' | 'voting_not_open_yet'
    >>();
    check<Equal<paths['/ready']['get']['responses'][503]['content']['application/json']['ok'], false>>();

    export const input: components['schemas']['IdeaInput'] = { title: 'Dark mode', body: 'For late evenings.' };
  `);
  expect(output).toBe('');
});

test('what the document does not allow does not compile', async () => {
  const output = await compile(`
    import type { components } from './api.js';
    export const input: components['schemas']['VoteInput'] = { value: 'sideways' };
  `);
  expect(output).toMatch(/usage\.ts\(3,\d+\): error TS2322: Type '"sideways"' is not assignable/);
});

/** What the compiler complains about; nothing when all is well. */
async function compile(source: string): Promise<string> {
  await writeFile(join(directory, 'usage.ts'), source);
  const flags = ['--strict', '--exactOptionalPropertyTypes', '--noEmit', '--target', 'es2022', '--module', 'nodenext'];
  const args = [compiler, ...flags, 'usage.ts'];
  const { stdout } = await run(process.execPath, args, { cwd: directory }).catch(error => error as { stdout: string });
  return stdout;
}
