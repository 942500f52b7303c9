import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { parse } from 'yaml';
import type { Engine, ImageProcess } from './engine.ts';
import { findPostgres, startPostgres } from './installed-postgres.ts';

const cli = join(import.meta.dirname, '../../server/cli/main.ts');
const ports = { postgres: 25_432, proxy: 28_080, 'server-1': 28_081, 'server-2': 28_082 };
export const baseUrl = `http://localhost:${ports.proxy}`;
export type ServiceName = 'server-1' | 'server-2' | 'worker';

interface Service {
  command?: string[];
  environment: Record<string, string | null>;
}
interface Compose {
  services: Record<ServiceName | 'migrate', Service>;
  configs: { caddyfile: { content: string } };
}

export type Deployment = Awaited<ReturnType<typeof deploy>>;

/**
 * Makes a directory with `cli init`, and runs the services of its compose.yaml on this machine. The containers share
 * the network of the machine, so some settings differ from compose.yaml: ports, the address of PostgreSQL, and
 * TRUST_PROXY.
 */
export async function deploy(engine: Engine) {
  const directory = mkdtempSync('/tmp/idea-board-compose-');
  const spawnOnHost = (args: string[], environment: Record<string, string>) =>
    spawn(process.execPath, [cli, ...args], {
      cwd: directory,
      env: { PATH: `${findPostgres()}:${process.env.PATH}`, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const onHost = async (args: string[], environment: Record<string, string> = {}) => {
    const child = spawnOnHost(args, environment);
    const [output, errors, [status]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${output}${errors}`);
    return output;
  };
  await onHost(['init', directory, '--base-url', baseUrl, '--image', 'localhost/idea-board']);
  const variables = readVariables(join(directory, '.env'));
  const compose: Compose = parse(fill(readFileSync(join(directory, 'compose.yaml'), 'utf8'), variables), {
    merge: true,
  });
  let postgres = await startPostgres(findPostgres(), ports.postgres, variables.POSTGRES_PASSWORD ?? '');
  const running = new Map<ServiceName, ImageProcess>();
  let proxy: ChildProcess | undefined;

  // An error or Ctrl-C must not leave processes behind.
  process.once('exit', () => {
    for (const container of running.values()) container.signal('SIGKILL');
    proxy?.kill();
    postgres.kill();
  });

  const environmentOf = (name: keyof Compose['services']): Record<string, string> => ({
    ...withText(compose.services[name].environment),
    DATABASE_URL: postgres.url,
    HOST: '127.0.0.1',
    TRUST_PROXY: '127.0.0.1',
    ...(name in ports ? { PORT: String(ports[name as keyof typeof ports]) } : {}),
    // The load of this script exceeds the usual rate limits.
    RATE_LIMIT_IP: '1000000',
    RATE_LIMIT_READ: '1000000',
    RATE_LIMIT_WRITE: '1000000',
  });

  return {
    directory,
    postgres: () => postgres,
    /** Runs a one-off container with the settings of the service `migrate`. Returns its output. */
    async run(...command: string[]): Promise<string> {
      const container = engine.start(command, environmentOf('migrate'));
      const status = await container.ended;
      if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}: ${container.output()}`);
      return container.output().trim();
    },
    /** Runs the command line of this checkout outside a container, because the image has no pg_dump and pg_restore. */
    cliOnHost: (...args: string[]) => onHost(args, environmentOf('migrate')),
    spawnOnHost: (...args: string[]) => spawnOnHost(args, environmentOf('migrate')),
    /** Whether PostgreSQL has a session with this name. */
    async hasSession(name: string): Promise<boolean> {
      const client = new pg.Client(postgres.url);
      await client.connect();
      const { rowCount } = await client.query('select from pg_stat_activity where application_name = $1', [name]);
      await client.end();
      return rowCount === 1;
    },
    async start(name: ServiceName) {
      const container = engine.start(compose.services[name].command ?? [], environmentOf(name));
      running.set(name, container);
      if (name !== 'worker') await waitForReady(`http://127.0.0.1:${ports[name]}`, container);
    },
    /** Stops a container as `docker stop` does, or kills it. Returns its exit status. */
    async stop(name: ServiceName, signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM') {
      const container = running.get(name);
      running.delete(name);
      container?.signal(signal);
      return container?.ended;
    },
    async startProxy() {
      const file = join(directory, 'Caddyfile');
      const content = compose.configs.caddyfile.content
        .replace(/^:80 /m, `:${ports.proxy} `)
        .replace(/server-[12](?=:3000)/g, '127.0.0.1')
        .replace(
          /127\.0\.0\.1:3000 127\.0\.0\.1:3000/,
          `127.0.0.1:${ports['server-1']} 127.0.0.1:${ports['server-2']}`,
        );
      writeFileSync(file, `{\n  admin off\n}\n${content}`);
      const environment = { PATH: process.env.PATH, HOME: directory };
      proxy = spawn('caddy', ['run', '--config', file], { env: environment, stdio: 'ignore' });
      await waitForReady(baseUrl);
    },
    /** Kills PostgreSQL, deletes its data, and starts an empty PostgreSQL. */
    async losePostgres() {
      await postgres.remove('SIGQUIT');
      postgres = await startPostgres(findPostgres(), ports.postgres, variables.POSTGRES_PASSWORD ?? '');
    },
    async close() {
      for (const container of running.values()) container.signal('SIGKILL');
      await Promise.all([...running.values()].map(({ ended }) => ended));
      if (proxy?.kill()) await once(proxy, 'exit');
      await postgres.remove();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function readVariables(file: string): Record<string, string> {
  return Object.fromEntries(
    [...readFileSync(file, 'utf8').matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  );
}

/** Fills variables into compose.yaml as Docker Compose does. */
function fill(text: string, variables: Record<string, string>): string {
  return text.replace(/\$\{(\w+)(?::[-?][^}]*)?\}/g, (_, name) => variables[name] ?? '');
}

/** Docker Compose passes an empty text to the process for a variable without a value. */
function withText(values: Record<string, string | null>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value ?? '']));
}

async function waitForReady(url: string, container?: ImageProcess) {
  for (const deadline = performance.now() + 60_000; ; await delay(100)) {
    const response = await fetch(`${url}/ready`).catch(() => undefined);
    if (response?.ok) return;
    if (performance.now() > deadline) throw new Error(`${url}/ready does not answer 200\n${container?.output()}`);
  }
}
