import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { compileCache } from './compile-cache.ts';
import { programFor } from './programs.ts';
import { testAppKey } from './server.ts';

export interface ChildServer {
  /** Resolves when the child process has loaded all modules. */
  readonly isLoaded: Promise<unknown>;
  /**
   * Starts the server in the child process. Returns its URL http://127.0.0.1:<port>, or 'works' if the child process
   * has no HTTP server.
   */
  begin(): Promise<string>;
  /** Kills the child process with SIGKILL, so that it cannot finish or clean up anything. */
  kill(): Promise<void>;
}

/** Starts a child process that loads all modules of a server. The server starts when the test calls `begin`. */
export function loadChildServer(databaseUrl: string, environment: Record<string, string> = {}): ChildServer {
  const child = fork(programFor('test/helpers/killable-server.ts', environment), {
    // A server must not run with the Node options of the test process.
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: compileCache,
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
