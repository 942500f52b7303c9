import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testAppKey } from './server.ts';

/** The default program of a child, not bundled. */
export const childProgram = join(import.meta.dirname, 'killable-server.ts');

export interface ChildServer {
  /** Resolves when all modules are loaded. */
  readonly isLoaded: Promise<unknown>;
  /** Starts the server and returns http://127.0.0.1:<port>, or 'works' without HTTP. */
  begin(): Promise<string>;
  /** Kills the child with SIGKILL, so that it finishes and cleans up nothing. */
  kill(): Promise<void>;
}

/** Loads a server in a separate process. It starts when the test calls `begin`. */
export function loadChildServer(
  databaseUrl: string,
  environment: Record<string, string> = {},
  program = childProgram,
): ChildServer {
  const child = fork(program, {
    // The Node options of the test process do not apply to a server.
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: join(tmpdir(), 'idea-board-test-compile-cache'),
      DATABASE_URL: databaseUrl,
      APP_KEY: testAppKey.toString('base64'),
      DATABASE_POOL_SIZE: '8',
      WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
      LOG_LEVEL: 'error',
      RATE_LIMIT_READ: '1000000',
      RATE_LIMIT_WRITE: '1000000',
      RATE_LIMIT_IP: '1000000',
      ...environment,
    },
  });
  const isReady = nextMessage(child);
  isReady.catch(() => {});
  return {
    isLoaded: isReady,
    async begin() {
      await isReady;
      const started = nextMessage(child);
      child.send('begin');
      return started;
    },
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}

function nextMessage(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const onExit = () => reject(new Error('The child ended'));
    child.once('exit', onExit);
    child.once('message', message => {
      child.off('exit', onExit);
      resolve(String(message));
    });
  });
}
