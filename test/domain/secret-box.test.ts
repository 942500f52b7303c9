import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadAppKey, requireAppKey } from '../../server/app-key.ts';
import { ConfigError, loadConfig } from '../../server/config.ts';
import { buildSecretBox, SecretBoxError } from '../../server/domain/secret-box.ts';

const key = Buffer.alloc(32, 1);
const box = buildSecretBox(key);

test('two encryptions of one secret differ, and a decryption needs the key and the stated purpose of the encryption, such as "webhook secret"', () => {
  const secret = 'whsec_☾';
  const sealed = box.seal(secret, 'webhook secret');
  expect(box.seal(secret, 'webhook secret')).not.toEqual(sealed);
  expect(sealed.toString('latin1')).not.toContain('whsec');
  expect(buildSecretBox(key).open(sealed, 'webhook secret')).toBe(secret);
  expect(() => box.open(sealed, 'chat url')).toThrow(SecretBoxError);
  expect(() => buildSecretBox(Buffer.alloc(32, 2)).open(sealed, 'webhook secret')).toThrow('another APP_KEY');
});

test('an encrypted secret with a changed or missing byte cannot be decrypted', () => {
  const sealed = box.seal('secret', 'x');
  for (let index = 0; index < sealed.length; index++) {
    const changed = Buffer.from(sealed);
    changed[index] = (changed[index] ?? 0) ^ 1;
    expect(() => box.open(changed, 'x'), `byte ${index}`).toThrow(SecretBoxError);
    expect(() => box.open(sealed.subarray(0, index), 'x'), `first ${index}`).toThrow(SecretBoxError);
  }
});

async function directory() {
  const path = await mkdtemp(join(tmpdir(), 'idea-board-key-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

const warnings: unknown[] = [];
const logger = { warn: (...line: unknown[]) => void warnings.push(line) };

test("several concurrent calls of loadAppKey() share one generated file with the encryption key, and only the file's owner can read it", async () => {
  const DATA_DIR = join(await directory(), 'data');
  const config = loadConfig({ DATA_DIR });
  const keys = await Promise.all(Array.from({ length: 8 }, () => loadAppKey(config, logger)));
  expect(new Set(keys.map(String)).size).toBe(1);
  expect(keys[0]).toHaveLength(32);
  expect(await loadAppKey(config, logger)).toEqual(keys[0]);
  expect((await stat(join(DATA_DIR, 'app.key'))).mode & 0o777).toBe(0o600);
  expect(await readFile(join(DATA_DIR, 'app.key'), 'utf8')).toBe(`${keys[0]?.toString('base64')}\n`);
  expect(warnings).toEqual([]);
});

test('if APP_KEY is set, the server uses it as the encryption key, and the server refuses an APP_KEY that does not have 32 bytes', async () => {
  const config = loadConfig({ APP_KEY: key.toString('base64'), DATA_DIR: await directory() });
  expect(await loadAppKey(config, logger)).toEqual(key);
  expect(() => loadConfig({ APP_KEY: 'short' })).toThrow('APP_KEY must be 32 bytes in base64');
});

test('a server with an external database warns if APP_KEY is not set, and CLI commands fail until a server has generated a key file', async () => {
  const config = loadConfig({ DATABASE_URL: 'postgres://db.example.com/ideas', DATA_DIR: await directory() });
  await expect(requireAppKey(config)).rejects.toThrow('Set APP_KEY');
  const kept = await loadAppKey(config, logger);
  expect(JSON.stringify(warnings.splice(0))).toContain('APP_KEY is not set');
  expect(await requireAppKey(config)).toEqual(kept);
});

test('loadAppKey() throws a ConfigError for an invalid encryption key file and does not replace the file', async () => {
  const DATA_DIR = await directory();
  const file = join(DATA_DIR, 'app.key');
  await writeFile(file, 'garbage');
  await expect(loadAppKey(loadConfig({ DATA_DIR }), logger)).rejects.toThrow(ConfigError);
  expect(await readFile(file, 'utf8')).toBe('garbage');
});
