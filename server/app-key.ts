import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { type Config, ConfigError } from './config.ts';
import { decodeSecret, makeKeptSecret, readKeptSecret } from './kept-secret.ts';

type KeyConfig = Pick<Config, 'APP_KEY' | 'DATABASE_URL' | 'DATA_DIR'>;

/** Error messages about the file of the application key begin with this name. */
const fileName = 'The application key';

/**
 * Returns the application key from APP_KEY, or from a file in DATA_DIR that the first start creates. Logs a warning if
 * DATABASE_URL is set without APP_KEY. A server with another DATA_DIR would then create another key, and could not
 * decrypt the secrets in the database.
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

/**
 * Returns the application key for a command. If DATABASE_URL is set and the key is missing, throws instead of creating
 * a key. A new key would differ from the key that the server already uses.
 */
export async function requireAppKey(config: KeyConfig): Promise<Buffer> {
  const key = config.APP_KEY ?? (await readKey(config));
  if (key) return key;
  if (config.DATABASE_URL === undefined) return makeKeptSecret(keyFile(config), fileName);
  throw new ConfigError(`Set APP_KEY to the server's key: ${keyFile(config)} does not exist`);
}

/**
 * Builds a function that returns the application key for the hashes that replace e-mail addresses in the log. The log
 * starts before the server loads or creates the key. Until then, the function returns a random key.
 */
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
