import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ConfigError } from './config.ts';

const secretBytes = 32;

/**
 * Reads a secret of 32 bytes in base64 from a file. Returns undefined if the file does not exist. Error messages
 * contain `name`, the name of the secret.
 */
export async function readKeptSecret(file: string, name: string): Promise<Buffer | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new ConfigError(`${name} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  const secret = decodeSecret(text);
  if (secret === undefined) throw new ConfigError(`${file} is not 32 bytes in base64`);
  return secret;
}

/** Decodes the content of a secret's file. Returns undefined if the content is invalid. */
export function decodeSecret(text: string): Buffer | undefined {
  const secret = Buffer.from(text.trim(), 'base64');
  return secret.length === secretBytes ? secret : undefined;
}

/**
 * Creates a file with a random secret that only the process's system user can read. Writes a draft and then links the
 * draft under the final name, so that the file is never incomplete. If two processes create the file at the same time,
 * both get the secret of the first process.
 */
export async function makeKeptSecret(file: string, name: string): Promise<Buffer> {
  await mkdir(dirname(file), { recursive: true });
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;
  try {
    await writeFile(draft, `${randomBytes(secretBytes).toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
    await link(draft, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(draft, { force: true });
  }
  const secret = await readKeptSecret(file, name);
  if (!secret) throw new ConfigError(`${file} was removed while it was made`);
  return secret;
}
