import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const image = 'localhost/idea-board';
const repository = join(import.meta.dirname, '../..');

/**
 * A process of the image. Its root file system is read-only except /tmp, and it has no capabilities, as in
 * compose.yaml.
 */
export interface ImageProcess {
  output(): string;
  ended: Promise<number | NodeJS.Signals>;
  signal(signal: 'SIGTERM' | 'SIGKILL'): void;
}

export interface Engine {
  name: string;
  /** The base image that the Dockerfile names, or its replacement. */
  base: string;
  build(): void;
  /** Returns the size of an image in megabytes. */
  sizeOf(image: string): number;
  start(command: string[], environment: Record<string, string>): ImageProcess;
  close(): void;
}

export const capture = (file: string, ...args: string[]) =>
  execFileSync(file, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
const works = (file: string, ...args: string[]) => spawnSync(file, args, { stdio: 'ignore' }).status === 0;

/** Finds an engine that runs on this machine. Only Podman and Buildah can replace the base image of the Dockerfile. */
export function findEngine(replacement?: string): Engine {
  const named = /^FROM (\S+)/m.exec(readFileSync(join(repository, 'Dockerfile'), 'utf8'))?.[1] ?? '';
  const base = replacement ?? named;
  if (!replacement && works('docker', 'info')) return openDocker('docker', base, []);
  const from = replacement ? ['--from', replacement] : [];
  if (works('podman', 'info')) return openDocker('podman', base, ['--format', 'docker', ...from]);
  if (works('buildah', 'info')) return openBuildah(base, ['--format', 'docker', ...from]);
  throw new Error('no container engine runs here: install Docker, Podman or Buildah');
}

const build = (file: string, args: string[]) =>
  execFileSync(file, [...args, '--tag', image, '.'], { cwd: repository, stdio: ['ignore', 'inherit', 'inherit'] });

function openDocker(program: 'docker' | 'podman', base: string, buildOptions: string[]): Engine {
  let count = 0;
  return {
    name: capture(program, '--version'),
    base,
    build() {
      // BuildKit does not list the base image among the images, so sizeOf would not find it.
      if (!base.startsWith('localhost/')) execFileSync(program, ['pull', '--quiet', base], { stdio: 'inherit' });
      build(program, ['build', ...buildOptions]);
    },
    sizeOf: name => Number(capture(program, 'image', 'inspect', '--format', '{{.Size}}', name)) / 1e6,
    start(command, environment) {
      const name = `idea-board-${process.pid}-${count++}`;
      const limits = ['--read-only', '--tmpfs', '/tmp', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];
      // The arguments contain only the names of the variables and not their values, because every user of the machine
      // can see the arguments of a process.
      const variables = Object.keys(environment).flatMap(key => ['--env', key]);
      const args = ['run', '--rm', '--name', name, '--network', 'host', ...limits, ...variables, image, ...command];
      return follow(program, args, { ...process.env, ...environment }, signal =>
        spawnSync(program, ['kill', '--signal', signal, name], { stdio: 'ignore' }),
      );
    },
    close() {},
  };
}

/** Buildah cannot run a process with a read-only root, so this script makes the namespace of the process itself. */
const isolate = `
  set -e
  root=$1 user=$2 directory=$3
  shift 3
  mount --bind "$root" "$root"
  mount --rbind /dev "$root/dev"
  mount -t proc proc "$root/proc"
  mount -t tmpfs tmpfs "$root/tmp"
  touch "$root/etc/hosts"
  mount --bind /etc/hosts "$root/etc/hosts"
  mount -o remount,bind,ro "$root"
  exec setpriv --no-new-privs chroot --userspec="$user" "$root" env --chdir="$directory" "$@"`;

function openBuildah(base: string, buildOptions: string[]): Engine {
  let container = '';
  let root = '';
  let config: { User: string; WorkingDir: string; Env: string[]; Cmd: string[] };
  function mount() {
    container = capture('buildah', 'from', '--pull-never', image);
    root = capture('buildah', 'mount', container);
    config = JSON.parse(capture('buildah', 'inspect', '--type', 'image', image)).Docker.config;
  }
  return {
    name: capture('buildah', '--version'),
    base,
    build: () => build('buildah', ['build', '--layers', '--isolation', 'chroot', '--network', 'host', ...buildOptions]),
    sizeOf(name) {
      const images: { names: string[] | null; size: string }[] = JSON.parse(capture('buildah', 'images', '--json'));
      const found = images.find(({ names }) => names?.some(one => one === name || one === `${name}:latest`));
      const [, number, unit] = /^([\d.]+) (GB|MB)$/.exec(found?.size ?? '') ?? [];
      return Number(number) * (unit === 'GB' ? 1000 : 1);
    },
    start(command, environment) {
      if (root === '') mount();
      const ids = readFileSync(join(root, 'etc/passwd'), 'utf8').match(
        new RegExp(`^${config.User}:x:(\\d+:\\d+)`, 'm'),
      );
      const args = ['--mount', 'sh', '-c', isolate, 'sh', root, ids?.[1] ?? '', config.WorkingDir];
      const ofImage = Object.fromEntries(config.Env.map(pair => pair.split(/=(.*)/s, 2)));
      return follow(
        'unshare',
        [...args, ...(command.length > 0 ? command : config.Cmd)],
        { ...ofImage, ...environment },
        // unshare, sh, setpriv, chroot and env each replace their process by the next program, so its id stays the
        // same.
        (signal, pid) => process.kill(pid, signal),
      );
    },
    close() {
      if (container !== '') capture('buildah', 'rm', container);
    },
  };
}

function follow(
  file: string,
  args: string[],
  env: NodeJS.ProcessEnv,
  signal: (signal: 'SIGTERM' | 'SIGKILL', pid: number) => void,
): ImageProcess {
  const child = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const ended = once(child, 'close').then(([status, by]) => status ?? by);
  return {
    output: () => output,
    ended,
    signal(name) {
      if (child.exitCode === null && child.signalCode === null) signal(name, child.pid ?? 0);
    },
  };
}
