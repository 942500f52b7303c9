import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { tarballName } from './pack-package.ts';
import { readManifest, repository } from './repository.ts';

const checksums = 'SHA256SUMS';

/** Writes the checksums of files, in the format of sha256sum. */
export function writeChecksums(directory: string, files: readonly string[]) {
  const lines = files.map(file => `${sha256(join(directory, file))}  ${file}\n`);
  writeFileSync(join(directory, checksums), lines.join(''));
}

/** Uploads the packed packages to the npm registry, with provenance. Skips packages that the registry already has. */
export function upload(directory: string, folders: readonly string[]) {
  // npm can prove the origin of a package only on a CI server with OpenID Connect.
  if (!process.env.GITHUB_ACTIONS) throw new Error('only the release workflow uploads packages');
  const tarballs = verifyChecksums(directory);
  for (const folder of folders) {
    const { name, version } = readManifest(repository, folder);
    const tarball = tarballs.find(path => basename(path) === tarballName(repository, folder));
    if (!tarball) throw new Error(`${directory} has no tarball of ${name}@${version}`);
    if (isPublished(`${name}@${version}`)) console.log(`${name}@${version} is already published`);
    else execFileSync('npm', ['publish', tarball, '--provenance', '--access', 'public'], { stdio: 'inherit' });
  }
}

/** Returns the paths of all files with a checksum. Fails if a checksum is wrong. */
function verifyChecksums(directory: string): string[] {
  const lines = readFileSync(join(directory, checksums), 'utf8').trimEnd().split('\n');
  return lines.map(line => {
    const [expected = '', file = ''] = line.split('  ');
    const path = join(directory, file);
    if (sha256(path) !== expected) throw new Error(`the checksum of ${file} is wrong`);
    return path;
  });
}

function isPublished(spec: string): boolean {
  try {
    return execFileSync('npm', ['view', spec, 'version'], { encoding: 'utf8', stdio: 'pipe' }).trim() !== '';
  } catch (error) {
    if (String((error as { stderr?: string }).stderr).includes('E404')) return false;
    throw error;
  }
}

function sha256(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}
