import { execFileSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { repository } from '../../scripts/release/repository.ts';

/** A program that runs JavaScript files. */
export interface Runtime {
  name: string;
  command: string;
  args: string[];
}

/** Returns the supported runtimes on this machine. Prints a warning for each missing runtime. */
export function findRuntimes(): Runtime[] {
  return [
    { name: `Node ${process.versions.node}`, command: process.execPath, args: [] },
    ...found('Node 20', 'NODE20_PATH', nodes(20), /^v20\./, []),
    ...found('Node 22', 'NODE22_PATH', nodes(22), /^v22\./, []),
    ...found('Bun', 'BUN_PATH', inModules('.bin/bun', '@oven/bun-*/bin/bun', 'bun/bin/bun.exe'), /^1\./, []),
    ...found('Deno', 'DENO_PATH', inCache('@deno/*/deno'), /^deno 2\./, ['run', '--quiet', '--no-lock', '--allow-net']),
  ];
}

/** Returns the path of workerd, the runtime of Cloudflare Workers. Prints a warning if it is missing. */
export function findWorkerd(): string | undefined {
  const [runtime] = found('workerd', 'WORKERD_PATH', inCache('@cloudflare/workerd-*/bin/workerd'), /^workerd /, []);
  return runtime?.command;
}

/**
 * Returns the path of TypeScript 5.0, the oldest version that the client supports. If version 5.0 is missing, prints a
 * warning and returns a later TypeScript 5.
 */
export function findTypeScript5(): string {
  const [oldest] = inCache('typescript-5.0/bin/tsc');
  if (!oldest) console.warn('TypeScript 5.0 is not installed: a test compiles with a later TypeScript 5 instead.');
  return oldest ?? join(repository, 'test/consumers/node_modules/typescript/bin/tsc');
}

/**
 * Returns the path of Chromium, or undefined if Chromium is not installed. Prefers the headless version, which needs a
 * third less CPU time for the tests.
 */
export function findChromium(): string | undefined {
  const candidates = [
    process.env.CHROMIUM_PATH,
    '/usr/bin/chromium-headless-shell',
    '/usr/bin/chromium',
    '/usr/bin/chromium-browser',
    '/usr/bin/google-chrome',
    '/usr/bin/google-chrome-stable',
    '/snap/bin/chromium',
    '/Applications/Chromium.app/Contents/MacOS/Chromium',
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
    ...globSync(join(homedir(), '.cache/ms-playwright/chromium*/chrome-linux*/{chrome,headless_shell}')),
  ];
  const path = candidates.find(candidate => candidate && existsSync(candidate));
  // Many test files search for Chromium. After the first warning, this variable prevents further warnings.
  if (!path && process.env.IS_CHROMIUM_MISSED === undefined) {
    process.env.IS_CHROMIUM_MISSED = '1';
    console.warn('No Chromium is installed: tests in a browser are skipped. Set CHROMIUM_PATH to use one.');
  }
  return path;
}

function found(name: string, variable: string, paths: string[], version: RegExp, args: string[]): Runtime[] {
  const command = [process.env[variable], ...paths].find(path => path && version.test(versionOf(path)));
  if (command) return [{ name, command, args }];
  console.warn(`No ${name} is installed: tests of the client on it are skipped. Set ${variable} to use one.`);
  return [];
}

function nodes(version: number): string[] {
  return [
    ...inCache(`node-${version}/bin/node`),
    ...(process.env.PATH ?? '').split(delimiter).map(directory => join(directory, 'node')),
    '/usr/bin/node',
    '/usr/local/bin/node',
    ...globSync(join(homedir(), `.nvm/versions/node/v${version}.*/bin/node`)),
  ];
}

function inModules(...patterns: string[]): string[] {
  return patterns.flatMap(pattern => globSync(join(repository, 'node_modules', pattern)));
}

/** Returns paths in the directory where .ci/run installs runtimes. */
function inCache(pattern: string): string[] {
  return inModules(`.cache/runtimes/node_modules/${pattern}`);
}

function versionOf(command: string): string {
  try {
    return execFileSync(command, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  } catch {
    return '';
  }
}
