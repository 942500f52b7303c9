import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const repository = resolve(import.meta.dirname, '../..');

export interface Manifest {
  name: string;
  version: string;
  private?: boolean;
  workspaces?: string[];
  dependencies?: Record<string, string>;
}

export function readManifest(root: string, folder = ''): Manifest {
  return JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
}

/** The folders of the packages that are published: the workspaces that are not private. */
export function findPublishedFolders(root: string): string[] {
  return (readManifest(root).workspaces ?? []).filter(folder => !readManifest(root, folder).private);
}

/** Runs git in a repository, and returns its output without white space at the end. */
export function git(root: string, ...args: string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trimEnd();
}
