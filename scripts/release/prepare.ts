import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { changelogs, dateChangelog } from './changelog.ts';
import { findPublishedFolders, readManifest } from './repository.ts';

/** Matches a version such as 1.2.3, without a suffix such as -beta. */
const versionFormat = /^(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}$/;

/** The files that contain the version as a constant in TypeScript. */
const constants: [file: string, line: RegExp][] = [
  ['client/version.ts', /(?<=^const version = ')[^']+/m],
  ['contract/openapi/info.ts', /(?<=^ {2}version: ')[^']+/m],
];

/**
 * Writes a version and a date into a checkout: into the packages, the lock file, the contract and the changelogs.
 * Writes the OpenAPI document, and copies it to contract/openapi.released.json. Fails if the version is too low for the
 * changes of the API.
 */
export function prepareRelease(root: string, version: string, date: string) {
  if (!versionFormat.test(version)) throw new Error(`${version} is not a version such as 1.2.3`);
  const folders = ['', ...findPublishedFolders(root)];
  const own = new Set(folders.map(folder => readManifest(root, folder).name));

  for (const folder of folders) {
    edit(join(root, folder, 'package.json'), text => writeJson(withVersion(JSON.parse(text), version, own)));
  }
  edit(join(root, 'package-lock.json'), text => {
    const lock = JSON.parse(text);
    for (const folder of folders) lock.packages[folder] = withVersion(lock.packages[folder], version, own);
    return writeJson({ ...lock, version });
  });
  for (const [file, line] of constants) {
    edit(join(root, file), text => {
      if (!line.test(text)) throw new Error(`${file} has no version`);
      return text.replace(line, version);
    });
  }
  for (const file of changelogs) edit(join(root, file), text => dateChangelog(text, version, date));

  for (const script of ['scripts/openapi.ts', 'scripts/openapi-release.ts']) {
    execFileSync(process.execPath, [script], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  }
}

/** Sets the version of a package. Makes its dependencies on packages of this repository require the same version. */
function withVersion(
  manifest: { version: string; dependencies?: Record<string, string> },
  version: string,
  own: Set<string>,
) {
  const { dependencies } = manifest;
  if (!dependencies) return { ...manifest, version };
  const raised = Object.entries(dependencies).map(([name, range]) => [name, own.has(name) ? `^${version}` : range]);
  return { ...manifest, version, dependencies: Object.fromEntries(raised) };
}

function edit(path: string, change: (text: string) => string) {
  writeFileSync(path, change(readFileSync(path, 'utf8')));
}

const writeJson = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
