import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { createTestDatabase } from '../helpers/database.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));

/** Reads the Dockerfile. Returns the paths that it copies, its compilation, its command and its health check. */
async function readDockerfile() {
  const text = await readFile(join(root, 'Dockerfile'), 'utf8');
  const copies = [...text.matchAll(/^COPY (.+)$/gm)].flatMap(([, line = '']) => line.split(' ').slice(0, -1));
  const compilation = /^RUN (node .* --compile)$/m.exec(text)?.[1] ?? '';
  const command: string[] = JSON.parse(/^CMD (\[.*\])$/m.exec(text)?.[1] ?? '[]');
  const healthCheck: string[] = JSON.parse(/^HEALTHCHECK[^[]*(\[.*\])$/m.exec(text)?.[1] ?? '[]');
  return { copies, compilation, command, healthCheck };
}

const { copies, compilation, command, healthCheck } = await readDockerfile();
/** A directory with the files of the image, and the compile cache of the image. */
const image = await mkdtemp(join(tmpdir(), 'idea-board-image-'));
const compiled = { NODE_COMPILE_CACHE: join(image, 'compiled') };
afterAll(() => rm(image, { recursive: true, force: true }));
for (const path of copies) await cp(join(root, path), join(image, path), { recursive: true });
await symlink(join(root, 'node_modules'), join(image, 'node_modules'));
await run('sh', ['-c', compilation], {
  cwd: image,
  env: { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, ...compiled },
});

/**
 * Code for a process, which then prints at its end whether it has parsed TypeScript. Node.js loads the module "amaro"
 * when it first parses TypeScript.
 */
const tell = `process.on('exit', () => console.log(process.moduleLoadList.some(name => name.includes('amaro'))))`;
const preload = `--import=data:text/javascript,${encodeURIComponent(tell)}`;

test('the files in the Docker image are sufficient to start a production server without parsing TypeScript, check its health and stop it', async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());

  const env = {
    ...compiled,
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    HOST: '127.0.0.1',
    PORT: '0',
    APP_KEY: randomBytes(32).toString('base64'),
    DATABASE_URL: database.url,
    BASE_URL: 'https://ideas.example.com',
  };
  const args = [preload, ...command.slice(1)];
  const server = spawn(process.execPath, args, { cwd: image, env, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => {
    server.kill('SIGKILL');
  });
  let last = '';
  const port = await new Promise<string>((resolve, reject) => {
    server.once('exit', () => reject(new Error('The server ended')));
    createInterface(server.stdout).on('line', line => {
      last = line;
      const found = /listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1];
      if (found) resolve(found);
    });
  });

  const check = async (at: string) => {
    const child = spawn(process.execPath, healthCheck.slice(1), { cwd: image, env: { ...env, PORT: at } });
    const [exitCode] = await once(child, 'exit');
    return exitCode;
  };
  expect(await Promise.all([check(port), check('1')])).toEqual([0, 1]);

  const closed = once(server, 'close');
  server.kill('SIGTERM');
  expect(await closed).toEqual([0, null]);
  expect(last).toBe('false');
});

test('npm, Docker, Compose and systemd start the server with the same Node.js options', async () => {
  const commands = {
    'package.json': /"node": "(--.+)"/g,
    Dockerfile: /^CMD (.+)$/gm,
    'compose.yaml': /^ +command: (.+server\/worker\.ts\])$/gm,
    'docs/deployment.md': /^ExecStart=(.+)$/gm,
  };
  const options: [string, string[]][] = [];
  for (const [file, command] of Object.entries(commands)) {
    for (const [, line = ''] of (await readFile(join(root, file), 'utf8')).matchAll(command)) {
      options.push([file, line.match(/--[\w-]+(=\d+)?/g) ?? []]);
    }
  }
  expect(options.map(([file]) => file)).toEqual(Object.keys(commands));
  const [[, ofNpm] = ['', []]] = options;
  // Without these options, Node.js sometimes deadlocks with its compiler threads at exit.
  expect(ofNpm).toEqual(expect.arrayContaining(['--no-concurrent-recompilation', '--no-concurrent-sparkplug']));
  for (const [file, ofOther] of options) expect([file, ofOther]).toEqual([file, ofNpm]);
});

test('a worker loads its code from the compile cache that the image and `npm run compile` create, and does not parse TypeScript', async () => {
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  expect(scripts.compile).toMatch(new RegExp(`&& ${compilation}$`));
  const readsTypeScript = async (entry: string, env: NodeJS.ProcessEnv) => {
    const { stdout } = await run(process.execPath, [preload, entry, '--compile'], { cwd: image, env });
    return stdout.trim();
  };
  expect(await readsTypeScript('server/worker.ts', compiled)).toBe('false');
  // This small module is not in an empty compile cache, so Node.js must parse its TypeScript. This proves that
  // readsTypeScript() notices the parsing.
  expect(await readsTypeScript('server/end-process.ts', { NODE_COMPILE_CACHE: join(image, 'none') })).toBe('true');
});

test('every package that the server imports is a production dependency in package.json', async () => {
  const { dependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const missing = new Set<string>();
  for (const directory of ['server', 'contract']) {
    for (const entry of await readdir(join(root, directory), { recursive: true })) {
      // The server never imports contract/openapi.ts. Only scripts import it, to generate the OpenAPI document.
      if (!entry.endsWith('.ts') || join(directory, entry) === 'contract/openapi.ts') continue;
      const text = await readFile(join(root, directory, entry), 'utf8');
      const statements = text.matchAll(
        /^(?:(?:import|export)\s(?:[^'";]*?\sfrom\s)?|.*\bimport\()'((?:@[\w-]+\/)?[\w.-]+)/gm,
      );
      for (const [, name = ''] of statements) {
        if (name !== 'node' && !name.startsWith('.') && dependencies[name] === undefined)
          missing.add(`${name} in ${directory}/${entry}`);
      }
    }
  }
  expect([...missing]).toEqual([]);
});
