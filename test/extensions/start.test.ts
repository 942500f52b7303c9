import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { request } from '../helpers/request.ts';
import { testAppKey } from '../helpers/server.ts';
import { startProcess } from '../helpers/server-process.ts';
import { eventually } from '../helpers/webhooks.ts';
import { fixture, formInboxSecret } from './with-extensions.ts';

const api = fileURLToPath(new URL('../../server/extensions/extension.ts', import.meta.url));

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'idea-board-extensions-'));
  return () => rm(directory, { recursive: true });
});

const start = ({ url }: TestDatabase, settings: Record<string, string>) =>
  startProcess('start', { DATABASE_URL: url, APP_KEY: testAppKey.toString('base64'), ...settings });

async function databaseForTest(): Promise<TestDatabase> {
  const db = await createTestDatabase();
  onTestFinished(() => db.drop());
  return db;
}

/** Writes the module and the migrations of an extension, and returns the path of the module. */
async function write(name: string, definition: string, migrations: Record<string, string> = {}): Promise<string> {
  const own = join(directory, name);
  await mkdir(join(own, 'migrations'), { recursive: true });
  for (const [file, sql] of Object.entries(migrations)) await writeFile(join(own, 'migrations', file), sql);
  const module = `import { defineExtension } from '${api}';\nexport default defineExtension(${definition});`;
  await writeFile(join(own, 'extension.mjs'), module);
  return join(own, 'extension.mjs');
}

test.each([
  [
    'rejects',
    `{ name: 'rejects', register: async () => { throw new Error('no such form\\nhere'); } }`,
    'The extension rejects cannot be registered: no such form',
  ],
  [
    'migrates',
    `{ name: 'migrates', migrations: new URL('migrations', import.meta.url) }`,
    'Migration migrates/0001_broken.sql failed: type "no_such_type" does not exist',
  ],
])(
  'if one extension fails while the server starts, the server exits with an error and stores no subscription or job of other extensions (failing: %s)',
  async (name, definition, reason) => {
    const db = await databaseForTest();
    const fine = await write(
      'fine',
      `{ name: 'fine', on: { 'idea.created': async () => {} }, tasks: { t: async () => {} }, cron: { t: '* * * * *' } }`,
    );
    const failing = await write(name, definition.replace('\n', '\\n'), {
      '0001_broken.sql': 'create table broken (id no_such_type);',
    });
    const refusal = await start(db, { EXTENSIONS: `${fine}, ${failing}` }).catch(error => error.message);
    expect(refusal).toBe(`It ended with 1:\nIdea-Board cannot start: ${reason}\n`);
    const left = await db.sql(
      `select 'a subscription' as what from extension_subscriptions
    union all select 'a cron' from graphile_worker._private_known_crontabs
    union all select 'a job' from graphile_worker._private_jobs`,
    );
    expect(left).toEqual([]);
  },
);

test('a server applies the migrations of its extensions and serves their routes, and is not ready while a migration of an extension is pending', async () => {
  const db = await databaseForTest();
  const growing = await write('growing', `{ name: 'growing', migrations: new URL('migrations', import.meta.url) }`, {
    '0001_first.sql': 'create table growing (id int);',
  });
  const server = await start(db, {
    EXTENSIONS: `${fixture('form-inbox')},${growing}`,
    EXT_FORM_INBOX_SECRET: formInboxSecret,
    EXT_FORM_INBOX_ACCOUNT: 'acme',
    EXT_FORM_INBOX_BOARD: 'web-app',
    EXT_FORM_INBOX_AUTHOR: 'ada@example.com',
  });
  onTestFinished(() => server.kill());
  expect(await request(server, 'POST /ext/form-inbox/submissions')).toMatchObject({ status: 401 });
  expect(await db.sql('select event_type, extension from extension_subscriptions')).toEqual([
    { event_type: 'idea.status_changed', extension: 'form-inbox' },
  ]);
  // The worker may still register the cron jobs when the server already answers requests.
  await eventually(async () => {
    const crons = await db.sql<{ identifier: string }>(
      'select identifier from graphile_worker._private_known_crontabs',
    );
    expect(crons.map(({ identifier }) => identifier)).toContain('ext:form-inbox:clear_old');
  });
  await eventually(async () => expect((await request(server, 'GET /ready')).status).toBe(200));
  await write('growing', '{}', { '0002_second.sql': 'alter table growing add column more int;' });
  expect((await request(server, 'GET /ready')).status).toBe(503);
});
