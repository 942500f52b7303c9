import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { unpackNode } from './debian-base.ts';

const repository = join(import.meta.dirname, '../..');

/** Replaces systemctl, because systemd does not run in a chroot. Starts the command of a unit as the unit's user. */
const systemctl = `#!/bin/bash
shift 2
for instance in "$@"; do
  name=\${instance#*@}
  unit=$(sed "s/%i/$name/g" /etc/systemd/system/idea-board@.service)
  of() { sed -n "s/^$1=-\\?//p" <<< "$unit"; }
  set -a
  while read -r pair; do export "$pair"; done < <(of Environment)
  for file in $(of EnvironmentFile); do [ ! -e "$file" ] || . "$file"; done
  set +a
  cd "$(of WorkingDirectory)"
  setsid runuser -u "$(of User)" -- $(of ExecStart) > "/var/log/$name.log" 2>&1 &
done
`;

/**
 * Installs the server on a bare Debian 12 in a chroot, with the commands of docs/deployment.md. These things differ:
 * the download of Node.js, the repository, the database password, the public origin, and the start of services without
 * systemd. Returns the duration of all commands in seconds, without the download of Node.js.
 */
export function installOnDebian(): number {
  const directory = mkdtempSync('/tmp/idea-board-debian-');
  const root = join(directory, 'root');
  try {
    execFileSync('mmdebstrap', ['--variant=minbase', '--include=ca-certificates', 'bookworm', root]);
    const guide = readFileSync(join(repository, 'docs/deployment.md'), 'utf8').split('\n## systemd\n')[1] ?? '';
    const [, unit = ''] = /```ini\n([^`]*)```/.exec(guide) ?? [];
    const [, commands = ''] = /```sh\n([^`]*)```/.exec(guide) ?? [];
    mkdirSync(join(root, 'etc/systemd/system'), { recursive: true });
    writeFileSync(join(root, 'etc/systemd/system/idea-board@.service'), unit);
    writeFileSync(join(root, 'usr/local/bin/systemctl'), systemctl, { mode: 0o755 });
    execFileSync('git', ['clone', '--quiet', '--bare', repository, join(root, 'srv/idea-board.git')]);
    const authorities = process.env.NODE_EXTRA_CA_CERTS;
    if (authorities) copyFileSync(authorities, join(root, 'etc/ssl/extra.pem'));
    unpackNode(root);
    for (const file of ['etc/hosts', 'etc/resolv.conf']) copyFileSync(join('/', file), join(root, file));
    writeFileSync(join(root, 'root/install.sh'), adapt(commands));

    const startedAt = performance.now();
    const isolate =
      'mount --rbind /dev "$1/dev" && mount -t proc proc "$1/proc" && exec chroot "$1" bash -e /root/install.sh';
    const namespaces = ['--mount', '--pid', '--fork', '--kill-child'];
    const { status } = spawnSync('unshare', [...namespaces, 'sh', '-c', isolate, 'sh', root], {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: {
        PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        DEBIAN_FRONTEND: 'noninteractive',
        HOME: '/root',
        ...(authorities && { NODE_EXTRA_CA_CERTS: '/etc/ssl/extra.pem' }),
      },
    });
    if (status !== 0) throw new Error(`the installation ended with ${status}`);
    return (performance.now() - startedAt) / 1000;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const waitForReady = `for i in $(seq 300); do
  if node --eval 'fetch("http://localhost:3000/ready").then(({ ok }) => process.exit(ok ? 0 : 1))' 2> /dev/null; then break; fi
  sleep 0.2
done`;

function adapt(commands: string): string {
  const password = 'correct-horse-battery';
  const adapted = commands
    .replace('git clone …', 'git clone --quiet /srv/idea-board.git')
    // Replaces createuser, because nobody would answer its password prompt.
    .replace('createuser --pwprompt ideas', `psql --command "create role ideas login password '${password}'"`)
    .replace('<password>', password)
    .replace('https://ideas.example.com', 'http://localhost:3000')
    // Node.js is already installed. The command pg_ctlcluster starts PostgreSQL, because there is no systemd that would
    // start it.
    .replace(/^curl .*nodejs\.org.*\n/m, 'pg_ctlcluster 15 main start\n')
    .replace(/^(?=node .* doctor)/m, `${waitForReady}\n`);
  return `set -x\n${adapted}`;
}
