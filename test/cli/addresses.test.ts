import { expect, onTestFinished, test } from 'vitest';
import { fillCanonicalAddresses } from '../../server/domain/users/fill-canonical-addresses.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { createWorld } from '../helpers/fixtures.ts';
import { testAppKey } from '../helpers/server.ts';
import { type ServerProcess, startProcess } from '../helpers/server-process.ts';
import { cliOn } from './run-cli.ts';

const key = { APP_KEY: testAppKey.toString('base64') };

async function openDatabase(): Promise<TestDatabase> {
  const db = await createTestDatabase();
  onTestFinished(() => db.drop());
  await createWorld(db);
  await db.sql(`update users set email = 'ada@bücher.example', canonical_email = 'ada@xn--bcher-kva.example'`);
  return db;
}

test.concurrent("the command `doctor` reports a newer user with another spelling of an older user's e-mail address, until the operator gives the newer user another address", async () => {
  const db = await openDatabase();
  // Servers of the previous version did not compare spellings, so they could create two users for the same mailbox.
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
      remedy: `If they are still signed in, they can change it at /admin/profile; otherwise set another address: npm run cli -- user update --user ${younger} --email <address>`,
    },
    {
      level: 'warning',
      what: `The address of user ${waiting} has no canonical form in the database, so nobody can sign in with it`,
      remedy: expect.stringMatching(/^Add it: npm run cli -- migrate\. /),
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

test.concurrent('the command `user update` finds a user by another spelling of the e-mail address, but not by an address that only looks similar', async () => {
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

test('the links that `user password-link` and `member invite` print lead to the running server, even if these commands run with another PORT', async () => {
  const db = await openDatabase();
  const start = async (settings: Record<string, string> = {}): Promise<ServerProcess> => {
    const server = await startProcess('start', { DATABASE_URL: db.url, ...key, SHUTDOWN_DELAY_MS: '0', ...settings });
    onTestFinished(() => server.kill());
    return server;
  };
  const printed = async (settings: Record<string, string> = {}) => {
    const cli = cliOn(db.url, { ...key, ...settings });
    const link = await cli.json<{ url: string }>('user', 'password-link', '--email', 'ada@bücher.example');
    const to = ['--email', 'grace@example.com', '--role', 'member'];
    const invitation = await cli.json<{ url: string }>('member', 'invite', ...to);
    expect(new URL(invitation.url).origin).toBe(new URL(link.url).origin);
    return link.url;
  };
  // No server has started yet, so the printed password link begins with the default address.
  expect(await printed()).toMatch(/^http:\/\/localhost:3000\/admin\/password\?token=/);
  const first = await start();
  const url = await printed();
  expect(url.startsWith(`${first.baseUrl}/admin/password?token=`)).toBe(true);
  expect((await fetch(url)).status).toBe(200);
  // No server listens on the PORT that this command gets, so the printed password link still begins with the address of
  // the started server.
  expect((await printed({ PORT: '4711' })).startsWith(first.baseUrl)).toBe(true);
  expect(await printed({ BASE_URL: 'https://ideas.example.com' })).toMatch(/^https:\/\/ideas\.example\.com\//);
  const second = await start({ HOST: '0.0.0.0' });
  expect(new URL(await printed()).origin).toBe(`http://localhost:${new URL(second.baseUrl).port}`);
  await start({ BASE_URL: 'https://feedback.example.com' });
  expect(await printed()).toMatch(/^https:\/\/feedback\.example\.com\//);
});
