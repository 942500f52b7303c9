import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { type Config, ConfigError } from './config.ts';
import { decodeSecret, makeKeptSecret, readKeptSecret } from './kept-secret.ts';

type KeyConfig = Pick<Config, 'APP_KEY' | 'DATABASE_URL' | 'DATA_DIR'>;

/** Begins the sentence of an error about the file. */
const fileName = 'The application key';

/**
 * Returns the application key from APP_KEY or from DATA_DIR, where the first start creates it. Logs a warning if
 * DATABASE_URL is set without APP_KEY: a second server would have another key and could not read the secrets.
 */
export async function loadAppKey(config: KeyConfig, logger: Pick<Logger, 'warn'>): Promise<Buffer> {
  if (config.APP_KEY) return config.APP_KEY;
  if (config.DATABASE_URL !== undefined) {
    logger.warn(
      { file: keyFile(config) },
      'APP_KEY is not set: every server and command that shares this database must use the same key',
    );
  }
  return (await readKey(config)) ?? makeKeptSecret(keyFile(config), fileName);
}

/** Returns the key for a command. Never creates one for the database of DATABASE_URL, because its server has another key. */
export async function requireAppKey(config: KeyConfig): Promise<Buffer> {
  const key = config.APP_KEY ?? (await readKey(config));
  if (key) return key;
  if (config.DATABASE_URL === undefined) return makeKeptSecret(keyFile(config), fileName);
  throw new ConfigError(`Set APP_KEY to the server's key: ${keyFile(config)} does not exist`);
}

/** Returns the key for the log, which starts before a key is loaded or created. Until then it is a random key. */
export function appKeyWhenKept(config: Pick<Config, 'APP_KEY' | 'DATA_DIR'>): () => Buffer {
  let known: Buffer | undefined = config.APP_KEY;
  const own = randomBytes(32);
  return () => {
    known ??= readKeySync(config);
    return known ?? own;
  };
}

function readKeySync(config: Pick<Config, 'DATA_DIR'>): Buffer | undefined {
  try {
    return decodeSecret(readFileSync(keyFile(config), 'utf8'));
  } catch {
    return undefined;
  }
}

function readKey(config: KeyConfig): Promise<Buffer | undefined> {
  return readKeptSecret(keyFile(config), fileName);
}

function keyFile({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): string {
  return join(DATA_DIR, 'app.key');
}
