import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../client/packed.ts';

const manifestOf = (folder: string) => JSON.parse(readFileSync(join(repository, folder, 'package.json'), 'utf8'));

/** The folders of the packages that are published together: the workspaces that are not private. */
export const publishedFolders: string[] = manifestOf('').workspaces.filter((folder: string) => {
  return manifestOf(folder).private !== true;
});
