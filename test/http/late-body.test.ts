import { beforeEach, expect, test } from 'vitest';
import { endAllSessions } from '../../server/domain/sign-in/session.ts';
import { hiddenFields, signedIn, type Visitor } from '../admin/visitor.ts';
import { createMember, createWorld, issueToken, type World } from '../helpers/fixtures.ts';
import { rawRequest } from '../helpers/raw-request.ts';
import { startServerForFile } from '../helpers/server.ts';

const server = await startServerForFile();
let world: World;
let adminId: number;
let admin: Visitor;

beforeEach(async () => {
  world = await createWorld(server);
  adminId = await createMember(server, world.accountId, 'admin');
  admin = await signedIn(server, adminId);
});

const countCharges = async () => {
  const [row] = await server.sql<{ count: number }>('select sum(count)::int as count from rate_limits');
  return row?.count ?? 0;
};

/** Sends a request whose body arrives only after `change`. At that time, the server has checked who sends the request. */
async function sendLate(path: string, headers: Record<string, string>, body: string, change: () => Promise<unknown>) {
  const before = await countCharges();
  return rawRequest(server, 'POST', path, {
    headers,
    body,
    beforeBody: async () => {
      await expect.poll(countCharges, { timeout: 10_000 }).toBeGreaterThan(before);
      await change();
    },
  });
}

test('a token that is revoked before the body of its request has arrived changes nothing and gets 401', async () => {
  const { id, token } = await issueToken(server, world, 'write');
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ title: 'Too late', body: 'By a revoked token.' });
  const late = await sendLate('/api/v1/ideas', headers, body, () =>
    server.sql('update api_tokens set revoked_at = now() where id = $1', [id]),
  );
  expect([late.status, late.key]).toEqual([401, 'unauthorized']);
  expect(await server.sql('select from ideas where account_id = $1', [world.accountId])).toEqual([]);
});

/** Sends the form that saves who may join the account. The form arrives only after `change`. */
async function saveLate(change: () => Promise<unknown>) {
  const path = '/admin/account/joining';
  const { html } = await admin.get('/admin/account');
  const fields = { ...hiddenFields(html, path), join_rule: 'everybody', join_domains: '' };
  const headers = {
    cookie: [...admin.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    origin: server.baseUrl,
    'content-type': 'application/x-www-form-urlencoded',
  };
  return sendLate(path, headers, new URLSearchParams(fields).toString(), change);
}

const joinRule = async () => {
  const [account] = await server.sql<{ join_rule: string }>('select join_rule from accounts where id = $1', [
    world.accountId,
  ]);
  return account?.join_rule;
};

test('a form changes nothing if its sender was signed out everywhere, demoted or removed before the body arrived', async () => {
  const rule = await joinRule();
  const ended = await saveLate(() => endAllSessions(server.database, adminId));
  expect([ended.status, await joinRule()]).toEqual([403, rule]);

  admin = await signedIn(server, adminId);
  const demoted = await saveLate(() =>
    server.sql(`update memberships set role = 'member' where user_id = $1`, [adminId]),
  );
  expect([demoted.status, await joinRule()]).toEqual([403, rule]);

  await server.sql(`update memberships set role = 'admin' where user_id = $1`, [adminId]);
  const removed = await saveLate(() => server.sql('delete from memberships where user_id = $1', [adminId]));
  expect([removed.status, await joinRule()]).toEqual([403, rule]);
});
