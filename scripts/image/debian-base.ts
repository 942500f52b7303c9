import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { capture } from './engine.ts';

export const debianBase = 'localhost/idea-board-base';

/**
 * Makes an image like the base image of the Dockerfile, on a machine that reaches no container registry: Debian from
 * mmdebstrap, and Node.js and npm from the npm registry.
 */
export function makeDebianBase() {
  const directory = mkdtempSync(join(tmpdir(), 'idea-board-base-'));
  const run = (file: string, ...args: string[]) =>
    execFileSync(file, args, { cwd: directory, stdio: ['ignore', 'inherit', 'inherit'] });
  try {
    run('mmdebstrap', '--variant=minbase', '--include=ca-certificates', 'bookworm', 'base.tar');
    const container = capture('buildah', 'from', 'scratch');
    run('buildah', 'add', container, 'base.tar', '/');
    const root = capture('buildah', 'mount', container);
    unpackNode(root);
    run('chroot', root, 'useradd', '--create-home', '--uid', '1000', 'node');
    // On a network with its own certificate authority, npm ci needs the certificate of that authority.
    const authorities = process.env.NODE_EXTRA_CA_CERTS;
    const variables = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'];
    if (authorities && existsSync(authorities)) {
      run('cp', authorities, join(root, 'etc/ssl/certs/extra.pem'));
      variables.push('NODE_EXTRA_CA_CERTS=/etc/ssl/certs/extra.pem');
    }
    run('buildah', 'config', ...variables.flatMap(pair => ['--env', pair]), container);
    run('buildah', 'commit', '--quiet', '--rm', container, debianBase);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Unpacks Node.js and npm from the npm registry into a root directory, as the archive from nodejs.org would. */
export function unpackNode(root: string) {
  const directory = mkdtempSync(join(tmpdir(), 'idea-board-node-'));
  const modules = join(root, 'usr/local/lib/node_modules/npm');
  const run = (file: string, ...args: string[]) => execFileSync(file, args, { stdio: 'ignore' });
  const unpack = (name: string, into: string) => {
    const tarball = capture('npm', 'pack', '--silent', '--pack-destination', directory, name);
    mkdirSync(into, { recursive: true });
    run('tar', '-xzf', join(directory, tarball), '-C', into, '--strip-components=1');
  };
  unpack(`node-linux-${process.arch}@${process.versions.node}`, join(root, 'usr/local'));
  unpack('npm@11', modules);
  for (const name of ['npm', 'npx']) {
    run('chmod', '+x', join(modules, `bin/${name}-cli.js`));
    run('ln', '-s', `../lib/node_modules/npm/bin/${name}-cli.js`, join(root, 'usr/local/bin', name));
  }
  rmSync(directory, { recursive: true, force: true });
}
