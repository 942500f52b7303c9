import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { loadConfig } from '../../server/config.ts';
import { requireProductionSecrets } from '../../server/production-secrets.ts';
import { runServer } from '../../server/run-server.ts';
import { explainFailure } from '../../server/start-failure.ts';

const strong = {
  NODE_ENV: 'production',
  APP_KEY: randomBytes(32).toString('base64'),
  DATABASE_URL: 'postgresql://ideas:nine-Blue-Whales-sing@db.internal/ideas',
};

const check = (settings: Record<string, string>) => () =>
  requireProductionSecrets(loadConfig({ ...strong, ...settings }));

test.for<[string, Record<string, string>, string]>([
  ['no application key', { APP_KEY: '' }, 'APP_KEY is not set'],
  ['a key of zeros', { APP_KEY: Buffer.alloc(32).toString('base64') }, 'APP_KEY is not random'],
  [
    'an APP_KEY that is a phrase',
    { APP_KEY: Buffer.from('please change me before you go!!').toString('base64') },
    'APP_KEY is not random',
  ],
  ['a missing DATABASE_URL', { DATABASE_URL: '' }, 'DATABASE_URL is not set'],
  [
    'a database password from an example',
    { DATABASE_URL: 'postgresql://ideas:postgres@db/ideas' },
    'DATABASE_URL has a well-known',
  ],
  [
    'a database password from an example in capitals',
    { DATABASE_URL: 'postgresql://ideas:CHANGEME@db/ideas' },
    'DATABASE_URL has a well-known',
  ],
  [
    'a database password that equals the user name',
    { DATABASE_URL: 'postgresql://idea-board-app:idea-board-app@db/i' },
    'DATABASE_URL has the',
  ],
  [
    'a short database password',
    { DATABASE_URL: 'postgresql://ideas:w7Gq2xZ@db/ideas' },
    'DATABASE_URL has a password of fewer',
  ],
  [
    'a short database password in a URL parameter',
    { DATABASE_URL: 'postgresql://ideas@db/ideas?password=w7Gq2xZ' },
    'DATABASE_URL has a passwor',
  ],
])('a production server rejects %s, and the error names the setting without its value', ([, settings, reason]) => {
  expect(check(settings)).toThrow(reason);
  for (const secret of Object.values(settings)) {
    if (secret !== '') expect(check(settings)).not.toThrow(secret);
  }
  expect(check({ ...settings, NODE_ENV: '' })).not.toThrow();
});

test('if neither APP_KEY nor DATABASE_URL is set, the error of the production server names both settings', () => {
  expect(check({ APP_KEY: '', DATABASE_URL: '' })).toThrow(/^NODE_ENV is production, and APP_KEY .*; DATABASE_URL /);
});

test.for([
  'postgresql://ideas@db/ideas',
  'postgresql:///ideas?host=/run/postgresql',
  'postgresql://ideas:nine%20Blue%20Whales@db/ideas',
])('a production server with a random APP_KEY accepts the setting DATABASE_URL=%s', DATABASE_URL => {
  expect(check({ DATABASE_URL })).not.toThrow();
});

test('a production server without secrets does not start and explains the reason in one line', async () => {
  const failure: unknown = await runServer({ NODE_ENV: 'production', LOG_LEVEL: 'silent' }).catch(error => error);
  expect(explainFailure(failure)).toMatch(
    /^Idea-Board cannot start: NODE_ENV is production, and APP_KEY is not set.*$/,
  );
});

test.for(['DATABASE_CONNECT_TIMEOUT_MS', 'DATABASE_STATEMENT_TIMEOUT_MS'])(
  'the server rejects a value of %s above the maximum of a JavaScript timer, because a timer with such a value fires immediately',
  name => {
    expect(() => loadConfig({ [name]: '2147483648' })).toThrow(`Invalid settings: ${name} `);
    expect(loadConfig({ [name]: '86400000' })).toMatchObject({ [name]: 86_400_000 });
  },
);
