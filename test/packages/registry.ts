import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Registry {
  url: string;
  close(): Promise<void>;
}

/** Starts a package registry for npm on 127.0.0.1 that has only the packages of these tarballs. */
export async function startRegistry(tarballs: readonly string[]): Promise<Registry> {
  const bytes = await Promise.all(tarballs.map(tarball => readFile(tarball)));
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '').slice(1);
    const tarball = /^tarballs\/(\d+)$/.exec(path)?.[1];
    const found = tarball ? bytes[Number(tarball)] : JSON.stringify(packages.get(path));
    if (!found) response.writeHead(404);
    response.end(found ?? '{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

  /** The documents that the registry serves, keyed by the name of the package. */
  const packages = new Map<
    string,
    { name: string; 'dist-tags': { latest: string }; versions: Record<string, object> }
  >();
  for (const [index, tarball] of tarballs.entries()) {
    const { stdout } = await run('tar', ['-xzOf', tarball, 'package/package.json']);
    const manifest = JSON.parse(stdout);
    const { name, version } = manifest;
    const integrity = `sha512-${createHash('sha512')
      .update(bytes[index] ?? '')
      .digest('base64')}`;
    const versions = { [version]: { ...manifest, dist: { tarball: `${url}tarballs/${index}`, integrity } } };
    packages.set(name, {
      name,
      'dist-tags': { latest: version },
      versions: { ...packages.get(name)?.versions, ...versions },
    });
  }
  return {
    url,
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
