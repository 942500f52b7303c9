import { expect, onTestFinished, test } from 'vitest';
import { fillCanonicalAddresses } from '../../server/domain/users/fill-canonical-addresses.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { createWorld } from '../helpers/fixtures.ts';
import { testAppKey } from '../helpers/server.ts';
import { cliOn } from './run-cli.ts';

const key = { APP_KEY: testAppKey.toString('base64') };

async function openDatabase(): Promise<TestDatabase> {
  const db = await createTestDatabase();
  onTestFinished(() => db.drop());
  await createWorld(db);
  await db.sql(`update users set email = 'ada@bücher.example', canonical_email = 'ada@xn--bcher-kva.example'`);
  return db;
}

test.concurrent('doctor names a user whose address an older one has, and the operator gives them another one', async () => {
  const db = await openDatabase();
  // As a server of the version before makes one.
  await db.sql(`insert into users (email, name) values ('ada@BÜCHER。example', 'Younger'), ('zoë@example.com', 'Zoë')`);
  const users = await db.sql<{ id: number }>('select id from users order by id');
  const [older, younger, waiting] = users.map(({ id }) => id);
  const cli = cliOn(db.url, key);
  const diagnose = async () => {
    const { stdout } = await cli.run('doctor', '--json');
    const { findings } = JSON.parse(stdout) as { findings: { level: string; what: string; remedy: string | null }[] };
    return findings.filter(({ what, remedy }) => /address|e-mail/.test(what) || remedy?.includes('user update'));
  };
  expect(await diagnose()).toEqual([
    {
      level: 'warning',
      what: `User ${younger} has the address of user ${older} in another spelling, and cannot sign in with it`,
      remedy: `Have them confirm another one at /admin/profile where they are still signed in, or set it: npm run cli -- user update --user ${younger} --email <address>`,
    },
    {
      level: 'warning',
      what: `The address of user ${waiting} has no canonical form in the database, so nobody can sign in with it`,
      remedy: expect.stringMatching(/^npm run cli -- migrate adds the form,/),
    },
  ]);
  await cli.json('migrate');
  expect(await diagnose()).toHaveLength(1);
  await cli.json('user', 'update', '--user', String(younger), '--email', 'younger@example.com');
  expect(await diagnose()).toEqual([
    { level: 'ok', what: 'Every user has an e-mail address of their own', remedy: null },
  ]);
  expect(await db.sql('select canonical_email from users order by id')).toEqual([
    { canonical_email: 'ada@xn--bcher-kva.example' },
    { canonical_email: 'younger@example.com' },
    { canonical_email: 'zoë@example.com' },
  ]);
});

test.concurrent('a command finds a user by every spelling of the address, and no other user by one that looks alike', async () => {
  const db = await openDatabase();
  const cli = cliOn(db.url, key);
  for (const spelling of ['ADA@xn--bcher-kva.example', 'ａda@BÜCHER.example.']) {
    expect(await cli.json('user', 'update', '--user', spelling, '--name', 'Ada')).toMatchObject({ name: 'Ada' });
  }
  for (const other of ['аda@bücher.example', 'ada@bucher.example', '0', '4711']) {
    expect(await cli.refusal('user', 'update', '--user', other, '--name', 'Eve')).toContain('There is no user');
  }
  await db.sql(`insert into users (name, is_placeholder) values ('Deleted user', true)`);
  const [placeholder] = await db.sql<{ id: number }>('select id from users where is_placeholder');
  expect(await cli.refusal('user', 'update', '--user', String(placeholder?.id), '--name', 'Eve')).toContain(
    'There is no user',
  );
  await fillCanonicalAddresses(db.database);
  expect(await db.sql('select name from users order by id')).toEqual([{ name: 'Ada' }, { name: 'Deleted user' }]);
});
