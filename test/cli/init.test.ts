import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../server/config.ts';
import { findWeakSecrets } from '../../server/production-secrets.ts';
import { makeScratchDirectory } from '../helpers/scratch-directory.ts';
import { runCli } from './run-cli.ts';

const compose = new URL('../../compose.yaml', import.meta.url);

async function makeDirectory(): Promise<string> {
  const directory = await makeScratchDirectory();
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Reads a file .env as Docker Compose does. */
async function readVariables(directory: string): Promise<Record<string, string>> {
  const text = await readFile(join(directory, '.env'), 'utf8');
  return Object.fromEntries([...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]));
}

test('the command `init` makes compose.yaml, and a private .env with all variables of compose.yaml and new strong secrets', async () => {
  const parent = await makeDirectory();
  const [first, second] = [join(parent, 'first'), join(parent, 'deep/second')];
  for (const directory of [first, second]) {
    const { exitCode, stdout, stderr } = await runCli({}, 'init', directory);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toContain(`cd ${directory}\n     docker compose up --detach`);
    expect((await readdir(directory)).sort()).toEqual(['.env', 'compose.yaml']);
    expect((await stat(join(directory, '.env'))).mode & 0o777).toBe(0o600);
  }
  const [one, other] = [await readVariables(first), await readVariables(second)];
  const text = await readFile(join(first, 'compose.yaml'), 'utf8');
  const used = new Set([...text.matchAll(/\$\{(\w+)/g)].map(([, name]) => name));
  expect(new Set(Object.keys(one))).toEqual(used);
  expect(one.APP_KEY).not.toBe(other.APP_KEY);
  expect(one.POSTGRES_PASSWORD).not.toBe(other.POSTGRES_PASSWORD);
  const DATABASE_URL = `postgresql://ideas:${one.POSTGRES_PASSWORD}@postgres/ideas`;
  const config = loadConfig({ DATABASE_URL, APP_KEY: one.APP_KEY, BASE_URL: one.BASE_URL });
  expect(findWeakSecrets(config)).toEqual([]);
});

test("the compose.yaml that the command `init` creates differs from the repository's compose.yaml only in the image, the ports and the site address of the proxy", async () => {
  const parent = await makeDirectory();
  const origin = 'https://ideas.example.com';
  await runCli({}, 'init', join(parent, 'public'), '--base-url', origin, '--image', 'registry.test/ideas:7');
  await runCli({}, 'init', join(parent, 'local'), '--base-url', 'http://localhost:8081');
  const expected = parse(await readFile(compose, 'utf8'), { merge: true });
  const read = async (name: string) =>
    parse(await readFile(join(parent, name, 'compose.yaml'), 'utf8'), { merge: true });
  const withImage = (document: typeof expected, image: string, port: string[], site: string) => {
    const text = JSON.stringify(document).replaceAll('"idea-board"', JSON.stringify(image));
    const changed = JSON.parse(text);
    changed.services.proxy.ports = port;
    changed.configs.caddyfile.content = document.configs.caddyfile.content.replace(':80', site);
    return changed;
  };
  const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'));
  expect(await read('public')).toEqual(
    withImage(expected, 'registry.test/ideas:7', ['80:80', '443:443'], 'ideas.example.com'),
  );
  const published = `ghcr.io/idea-board/idea-board:${version}`;
  expect(await read('local')).toEqual(withImage(expected, published, ['8081:80'], ':80'));
  expect((await readVariables(join(parent, 'public'))).BASE_URL).toBe(origin);
});

test('the command `init` writes nothing into a directory that contains compose.yaml or .env', async () => {
  for (const name of ['compose.yaml', '.env']) {
    const directory = join(await makeDirectory(), 'ideas');
    await mkdir(directory);
    await writeFile(join(directory, name), 'mine');
    expect(await runCli({}, 'init', directory)).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: `${join(directory, name)} exists: name another directory, or remove the file\n`,
    });
    expect(await readdir(directory)).toEqual([name]);
    expect(await readFile(join(directory, name), 'utf8')).toBe('mine');
  }
});

test('the command `init` refuses an invalid origin and a directory that it cannot make', async () => {
  const directory = await makeDirectory();
  const { exitCode, stderr } = await runCli({}, 'init', join(directory, 'x'), '--base-url', 'https://a.example/ideas');
  expect({ exitCode, stderr }).toEqual({
    exitCode: 2,
    stderr: expect.stringContaining('It must be an origin such as'),
  });
  await writeFile(join(directory, 'file'), '');
  expect(await runCli({}, 'init', join(directory, 'file/x'))).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(/^The directory cannot be made: ENOTDIR/),
  });
  expect(await readdir(directory)).toEqual(['file']);
});
