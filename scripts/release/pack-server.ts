import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { readManifest } from './repository.ts';

/**
 * The files of the server's archive: the documents for operators, the files that build the container image, and the
 * code in this image. The archive contains TypeScript, because Node.js runs it directly. Node.js does not run
 * TypeScript from node_modules, so the server is not an npm package.
 */
const documents = ['README.md', 'CHANGELOG.md', 'LICENSE', 'SECURITY.md', 'docs'];
const deployment = ['Dockerfile', '.dockerignore', 'compose.yaml'];
const code = ['package.json', 'package-lock.json', 'contract', 'migrations', 'server'];

/** Writes the server's archive into a directory. The same commit always results in the same archive. */
export function packServer(root: string, into: string): string {
  const { name, version, workspaces = [] } = readManifest(root);
  // npm ci needs the package.json of each workspace.
  const manifests = workspaces.map(folder => `${folder}/package.json`);
  const args = ['archive', '--format=tar', `--prefix=${name}-${version}/`, 'HEAD', '--'];
  const tar = execFileSync('git', [...args, ...documents, ...deployment, ...code, ...manifests], {
    cwd: root,
    maxBuffer: 256 * 1024 * 1024,
  });
  const path = join(into, `${name}-${version}.tar.gz`);
  writeFileSync(path, gzipSync(tar, { level: 9 }));
  return path;
}
