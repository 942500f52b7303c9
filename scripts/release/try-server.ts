import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Lists the ideas of a demo board with the packed client. */
const program = `
import { IdeaBoard } from '@idea-board/client';
const [baseUrl, token] = process.argv.slice(2);
const { data } = await new IdeaBoard({ baseUrl, token }).ideas.list({ board: 'web-app' });
console.log(JSON.stringify(data.map(({ title }) => title)));
`;

/**
 * Installs the server's archive in an empty directory with `npm ci --omit=dev`, and starts the server with the embedded
 * PostgreSQL. Installs the packed client in another directory, and reads ideas with it. Returns the names and versions
 * of the server's installed packages.
 */
export async function tryServer(archive: string, client: string): Promise<string[]> {
  const directory = await mkdtemp(join(tmpdir(), 'idea-board-stranger-'));
  // With the variables that npm sets for this script, the npm commands below would work on this repository.
  const variables = Object.entries(process.env).filter(
    ([name]) => !/^npm_(?:package|lifecycle|config_local)/.test(name),
  );
  const env = { ...Object.fromEntries(variables), PORT: '0' };
  const quietly = ['--prefer-offline', '--no-audit', '--no-fund'];
  try {
    await run('tar', ['-xzf', archive, '-C', directory, '--strip-components=1']);
    await run('npm', ['ci', '--omit=dev', ...quietly], { cwd: directory, env });

    const project = await mkdtemp(join(directory, 'project-'));
    await writeFile(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
    await writeFile(join(project, 'main.js'), program);
    await run('npm', ['install', ...quietly, client], { cwd: project, env });

    const server = spawn('npm', ['start'], { cwd: directory, env, stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(server, 'exit');
    try {
      const { baseUrl, token } = await Promise.race([
        readFirstStart(server.stdout),
        exited.then(([code]) => Promise.reject(new Error(`the installed server ended with status ${code}`))),
      ]);
      const ready = await fetch(`${baseUrl}/ready`);
      if (!ready.ok) throw new Error(`/ready of the installed server answered ${ready.status}`);
      const { stdout } = await run(process.execPath, ['main.js', baseUrl, token], { cwd: project, env });
      if (JSON.parse(stdout).length === 0) throw new Error('the installed server has no demo ideas');
    } finally {
      server.kill('SIGTERM');
      await exited;
    }
    return await installedPackages(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Waits until a new server listens. Returns its URL and a token from its output. */
async function readFirstStart(output: NodeJS.ReadableStream): Promise<{ baseUrl: string; token: string }> {
  let token = '';
  let baseUrl = '';
  for await (const line of createInterface(output)) {
    token ||= /\bib_[\w-]+/.exec(line)?.[0] ?? '';
    baseUrl ||= /listens on (http:\/\/[^\s",]+)/.exec(line)?.[1] ?? '';
    if (baseUrl && token) return { baseUrl, token };
  }
  throw new Error('the installed server printed no token and no URL');
}

async function installedPackages(directory: string): Promise<string[]> {
  const { stdout } = await run('npm', ['ls', '--all', '--parseable', '--long'], { cwd: directory }).catch(
    error => error,
  );
  return (stdout as string)
    .split('\n')
    .filter(line => line.includes('/node_modules/'))
    .map(line => line.split(':')[1] ?? '');
}
