/**
 * Makes a release of the server and of all packages. See docs/releasing.md.
 *
 *     npm run release -- --prepare 1.2.3   writes the version and the date into the files; then commit them
 *     npm run release -- --dry-run         builds and checks all files of the release in dist/release
 *     npm run release -- --upload          uploads the packages in dist/release to npm
 *     npm run release                      builds, checks and uploads
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildRelease, requireTag } from './build-release.ts';
import { prepareRelease } from './prepare.ts';
import { findPublishedFolders, readManifest, repository } from './repository.ts';
import { upload } from './upload.ts';

const { values } = parseArgs({
  options: { prepare: { type: 'string' }, 'dry-run': { type: 'boolean' }, upload: { type: 'boolean' } },
});

try {
  await release();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function release() {
  if (values.prepare) return prepareRelease(repository, values.prepare, new Date().toISOString().slice(0, 10));
  const { version } = readManifest(repository);
  const output = join(repository, 'dist/release');
  if (!values['dry-run']) requireTag(version);
  if (!values.upload) await buildRelease(output, version);
  if (!values['dry-run']) upload(output, findPublishedFolders(repository));
}
