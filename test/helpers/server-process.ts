import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A server or a worker, as its npm script runs it, in a process of its own. */
export interface ServerProcess {
  pid: number;
  /** http://127.0.0.1:<port>; empty for a worker. */
  baseUrl: string;
  /** All that it wrote, to both. */
  output(): string;
  signal(signal: NodeJS.Signals): void;
  /** Its status or the signal that killed it, once it has ended. */
  ended: Promise<number | NodeJS.Signals>;
  kill(): Promise<void>;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const { scripts, config } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
  config: { node: string };
};

const started = { start: /listens on (http:\S+),/, worker: /worker runs up to (?:)/ };

/** Starts one and resolves when it says that it works. */
export async function startProcess(
  script: 'start' | 'worker',
  environment: Record<string, string>,
  nodeOptions: string[] = [],
): Promise<ServerProcess> {
  const command = scripts[script] ?? '';
  // Signals that are sent to npm's child reach the server because it takes the shell's place.
  if (!command.includes(' exec node ')) throw new Error(`npm run ${script} does not exec node`);
  const child = spawn('sh', ['-c', command], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
      npm_package_config_node: [config.node, ...nodeOptions].join(' '),
      npm_package_config_compiled: join(tmpdir(), 'idea-board-test-compile-cache'),
      PORT: '0',
      ...environment,
    },
  });
  let output = '';
  // Not when it exits: what it wrote last may come after that.
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
