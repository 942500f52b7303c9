import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileCache } from './compile-cache.ts';
import { programFor } from './programs.ts';

/** A server or worker in a separate process. An npm script starts the process. */
export interface ServerProcess {
  pid: number;
  /** The URL of the server, http://127.0.0.1:<port>. For a worker, the value is an empty text. */
  baseUrl: string;
  /** Returns all output of the process so far, from standard output and standard error. */
  output(): string;
  signal(signal: NodeJS.Signals): void;
  /** Resolves when the process ends, with its exit status or with the signal that ended it. */
  ended: Promise<number | NodeJS.Signals>;
  kill(): Promise<void>;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const { scripts, config } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
  config: { node: string };
};

const started = { start: /listens on (http:\S+),/, worker: /worker runs up to (?:)/ };

/** Starts a server or a worker in a separate process. Resolves when the process has logged that it is ready. */
export async function startProcess(
  script: 'start' | 'worker',
  environment: Record<string, string>,
  nodeOptions: string[] = [],
): Promise<ServerProcess> {
  const command = scripts[script] ?? '';
  // npm runs the script in a shell. A signal to this shell reaches the server only if `exec` replaces the shell with
  // the server.
  if (!command.includes(' exec node ')) throw new Error(`npm run ${script} does not exec node`);
  const source = script === 'start' ? 'server/main.ts' : 'server/worker.ts';
  const child = spawn('sh', ['-c', command.replace(source, programFor(source, environment))], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
      npm_package_config_node: [config.node, ...nodeOptions].join(' '),
      npm_package_config_compiled: compileCache,
      PORT: '0',
      ...environment,
    },
  });
  let output = '';
  // Waits for the event "close" and not for "exit", because output may still arrive after "exit".
  const ended = once(child, 'close').then(([status, signal]) => status ?? signal);
  const baseUrl = await new Promise<string>((resolve, reject) => {
    const onData = (data: Buffer) => {
      output += data;
      const match = started[script].exec(output);
      if (match) resolve(match[1] ?? '');
    };
    child.stdout.on('data', onData);
    child.stderr.on('data', onData);
    ended.then(status => reject(new Error(`It ended with ${status}:\n${output}`)), reject);
  });
  return {
    pid: child.pid as number,
    baseUrl,
    output: () => output,
    signal: signal => void child.kill(signal),
    ended,
    kill: () => kill(child, ended),
  };
}

async function kill(child: ChildProcess, ended: Promise<unknown>) {
  child.kill('SIGKILL');
  await ended;
}
