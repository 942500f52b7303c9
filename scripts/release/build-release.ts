import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { changelogs, hasVersion, releaseNotes } from './changelog.ts';
import { refuseLicences, writeNotice } from './licences.ts';
import { packPackage, tarballName } from './pack-package.ts';
import { packServer } from './pack-server.ts';
import { prepareRelease } from './prepare.ts';
import { findPublishedFolders, git, readManifest, repository } from './repository.ts';
import { makeSbom } from './sbom.ts';
import { tryServer } from './try-server.ts';
import { writeChecksums } from './upload.ts';

/** Quick checks. The release workflow publishes nothing until CI has also run all other checks. */
const checks = ['check:generated', 'check:contract', 'check:migrations', 'check:workflows'];

/**
 * Builds all files of a release from the last commit, and checks them. With the same versions of Node.js and npm, the
 * same commit always results in the same tarballs. If the commit is not prepared for the version, prepares it first.
 */
export async function buildRelease(output: string, version: string) {
  if (git(repository, 'status', '--porcelain') !== '') throw new Error('commit or remove your changes first');
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
  const source = mkdtempSync(join(tmpdir(), 'idea-board-release-'));
  try {
    git(repository, 'clone', '--quiet', '--shared', '.', source);
    symlinkSync(join(repository, 'node_modules'), join(source, 'node_modules'));
    const date = commitPreparedRelease(source, version);
    for (const check of checks)
      step(check, () => execFileSync('npm', ['run', '--silent', check], { cwd: source, stdio: 'inherit' }));

    const sbom = step('SBOM and licences', () => makeSbom(source, date));
    const refused = refuseLicences(sbom.components);
    if (refused.length > 0) throw new Error(refused.join('\n'));
    writeFileSync(join(output, `idea-board-${version}.cdx.json`), `${JSON.stringify(sbom, null, 2)}\n`);
    writeFileSync(join(output, 'THIRD-PARTY.md'), writeNotice(sbom.components, join(repository, 'node_modules')));
    const notes = releaseNotes(readFileSync(join(source, 'CHANGELOG.md'), 'utf8'), version);
    writeFileSync(join(output, 'RELEASE-NOTES.md'), notes);

    const archive = packServer(source, output);
    for (const folder of findPublishedFolders(source))
      await step(`pack ${folder}`, () => packPackage(source, folder, output));

    step('install the packages in empty projects', () => tryPackages(output));
    const client = join(output, tarballName(source, 'client'));
    const installed = await step('install the server in an empty directory', () => tryServer(archive, client));
    // npm ci also installs a link to each workspace, so the list of installed packages contains the workspaces.
    const workspaces = (readManifest(source).workspaces ?? []).map(folder => readManifest(source, folder));
    const listed = sbom.components.map(component => component['bom-ref']);
    const known = new Set([...listed, ...workspaces.map(({ name, version }) => `${name}@${version}`)]);
    const unknown = installed.filter(one => !known.has(one));
    if (unknown.length > 0) throw new Error(`the SBOM lacks installed packages: ${unknown.join(', ')}`);

    writeChecksums(output, readdirSync(output).sort());
  } finally {
    rmSync(source, { recursive: true, force: true });
  }
}

/**
 * Prepares the release in a clone. If this changes a file, commits the changes with the date of the last commit.
 * Returns this date.
 */
function commitPreparedRelease(source: string, version: string): Date {
  const date = git(source, 'show', '--no-patch', '--format=%cI', 'HEAD');
  prepareRelease(source, version, date.slice(0, 10));
  if (git(source, 'status', '--porcelain', '--untracked-files=no') !== '') {
    console.log(`the commit is not prepared for ${version}: building the release as after --prepare`);
    // The server's archive contains the hash of this commit, so the hash must not depend on the current time.
    Object.assign(process.env, { GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date });
    git(
      source,
      '-c',
      'user.name=Release',
      '-c',
      'user.email=release@localhost',
      'commit',
      '--quiet',
      '--all',
      '--message=Release',
    );
  }
  return new Date(date);
}

/** Fails unless the last commit is tagged with the version, and the changelogs contain the version. */
export function requireTag(version: string) {
  const isDated = changelogs.every(file => hasVersion(readFileSync(join(repository, file), 'utf8'), version));
  if (!isDated || readManifest(repository).version !== version) throw new Error(`prepare the release ${version} first`);
  const tags = git(repository, 'tag', '--points-at', 'HEAD').split('\n');
  if (!tags.includes(`v${version}`)) throw new Error(`the last commit has no tag v${version}`);
}

/** Runs the tests of the published packages with the packed tarballs. */
function tryPackages(tarballs: string) {
  execFileSync('vitest', ['run', 'test/packages'], {
    cwd: repository,
    env: { ...process.env, PACKED_PACKAGES: tarballs },
    stdio: 'inherit',
  });
}

function step<Result>(title: string, run: () => Result): Result {
  console.log(`\n== ${title}`);
  return run();
}
