import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { build } from 'esbuild';

export interface StartedWorker {
  url: string;
  close(): Promise<void>;
}

/**
 * Starts workerd, the runtime of Cloudflare Workers, with one worker. The worker's bundle cannot be built if the worker
 * imports a module that only one runtime has. `bindings` are the texts in the environment of the worker.
 */
export async function startWorker(
  workerd: string,
  entryPoint: string,
  bindings: Record<string, string> = {},
): Promise<StartedWorker> {
  const directory = await mkdtemp(join(tmpdir(), 'idea-board-workerd-'));
  await build({
    entryPoints: [entryPoint],
    bundle: true,
    platform: 'neutral',
    format: 'esm',
    outfile: join(directory, 'worker.js'),
  });
  await writeFile(join(directory, 'config.capnp'), configuration(bindings));
  // workerd writes the port to file descriptor 3.
  const child = spawn(workerd, ['serve', 'config.capnp', '--control-fd=3'], {
    cwd: directory,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  let errors = '';
  child.stderr?.on('data', data => {
    errors += data;
  });
  const listening = once(child.stdio[3] as Readable, 'data').then(([line]) => JSON.parse(String(line)).port as number);
  const port = await Promise.race([
    listening,
    exited.then(() => Promise.reject(new Error(`workerd did not start: ${errors}`))),
  ]);
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      child.kill();
      await exited;
      await rm(directory, { recursive: true });
    },
  };
}

/** Returns a configuration of workerd whose worker can reach this machine. */
function configuration(bindings: Record<string, string>): string {
  const texts = Object.entries(bindings).map(([name, text]) => `(name = "${name}", text = ${JSON.stringify(text)})`);
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "worker", worker = .worker),
    (name = "internet", network = (allow = ["local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "worker")],
);

const worker :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  bindings = [${texts.join(', ')}],
  compatibilityDate = "2026-01-01",
);
`;
}
