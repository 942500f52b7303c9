import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** Creates a directory for the files of a test file. Removes it after the last test. */
export async function makeDirectoryForFile(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'idea-board-transfer-'));
  afterAll(() => rm(directory, { recursive: true }));
  return directory;
}
