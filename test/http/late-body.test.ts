import sharp from 'sharp';
import { beforeEach, expect, test } from 'vitest';
import { endAllSessions } from '../../server/domain/sign-in/session.ts';
import { hiddenFields, signedIn, type Visitor } from '../admin/visitor.ts';
import { createMember, createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { rawRequest } from '../helpers/raw-request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { signInOperator } from '../operator/operators.ts';

// With the second change in an hour, a member exceeds the limit.
const server = await startServerForFile({ environment: { RATE_LIMIT_MEMBER: '1' } });
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
async function sendLate(
  path: string,
  headers: Record<string, string>,
  body: string | Buffer,
  change: () => Promise<unknown>,
) {
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

function headersOf({ cookies }: Visitor) {
  return { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '), origin: server.baseUrl };
}

/** Sends a form of a signed-in person. The form arrives only after `change`. */
function submitLate(
  visitor: Visitor,
  { page, path, fields }: { page: string; path: string; fields: Record<string, string> },
  change: () => Promise<unknown>,
) {
  const headers = { ...headersOf(visitor), 'content-type': 'application/x-www-form-urlencoded' };
  const body = new URLSearchParams({ ...hiddenFields(page, path), ...fields }).toString();
  return sendLate(path, headers, body, change);
}

/** Sends the form that saves who may join the account. The form arrives only after `change`. */
async function saveLate(change: () => Promise<unknown>) {
  const { html: page } = await admin.get('/admin/account');
  const fields = { join_rule: 'everybody', join_domains: '' };
  return submitLate(admin, { page, path: '/admin/account/joining', fields }, change);
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

test('a picture of a person who signs out everywhere during the upload is not stored', async () => {
  const path = '/admin/profile/picture';
  const { form_token: formToken = '' } = hiddenFields((await admin.get(path)).html, path);
  const picture = await sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  const upload = async (change: () => Promise<unknown>) => {
    const form = new FormData();
    form.append('form_token', formToken);
    form.append('picture', new Blob([new Uint8Array(picture)]), 'me.png');
    const request = new Request(server.baseUrl, { method: 'POST', body: form });
    const headers = { ...headersOf(admin), 'content-type': request.headers.get('content-type') ?? '' };
    return sendLate(path, headers, Buffer.from(await request.arrayBuffer()), change);
  };
  const stored = () => server.sql('select from pictures where user_id = $1', [adminId]);
  expect((await upload(async () => {})).status).toBe(303);
  await server.sql('delete from pictures where user_id = $1', [adminId]);
  const late = await upload(() => endAllSessions(server.database, adminId));
  expect(late.status).toBe(403);
  expect(await stored()).toEqual([]);
});

test('an admin without a second factor changes nothing if the account begins to require one before the form has arrived', async () => {
  const rule = await joinRule();
  const late = await saveLate(() =>
    server.sql('update accounts set requires_second_factor = true where id = $1', [world.accountId]),
  );
  expect([late.status, late.headers.get('location')]).toEqual([303, '/admin/profile/second-factor?notice=required']);
  expect(await joinRule()).toBe(rule);
});

test('a person who is no longer an operator when the form arrives gets 404 and deletes no account', async () => {
  const { id, visitor, password } = await signInOperator(server);
  const path = `/operator/accounts/${world.accountId}/delete`;
  const { html: page } = await visitor.get(path);
  const late = await submitLate(visitor, { page, path, fields: { current_password: password } }, () =>
    server.sql('update users set is_operator = false where id = $1', [id]),
  );
  expect(late.status).toBe(404);
  expect(
    await server.sql('select from accounts where id = $1 and deletion_scheduled_at is not null', [world.accountId]),
  ).toEqual([]);
});

test('a moderator who is removed before their form has arrived gets 404 for a private board and reads none of its ideas', async () => {
  const userId = await createMember(server, world.accountId, 'moderator');
  const moderator = await signedIn(server, userId);
  const ideaId = await insertIdea(server, world, { title: 'Dark mode for the secret app' });
  const root = `/b/${world.boardSlug}`;
  // Uses up the member's limit. After that, the server refuses a vote and shows the page of the idea again.
  await moderator.submit(`${root}/ideas/${ideaId}`, `${root}/ideas/${ideaId}/vote`, { value: 'up' });
  const forms = [
    { page: `${root}/new`, path: `${root}/new`, fields: { title: 'Dark mode for the app', body: 'Easy on the eyes.' } },
    { page: `${root}/ideas/${ideaId}`, path: `${root}/ideas/${ideaId}/vote`, fields: { value: 'up' } },
  ];
  for (const form of forms) {
    const { html: page } = await moderator.get(form.page);
    const inTime = await submitLate(moderator, { ...form, page }, async () => {});
    expect(inTime.text).toContain('secret app');
    const late = await submitLate(moderator, { ...form, page }, () =>
      server.sql('delete from memberships where user_id = $1', [userId]),
    );
    expect([late.status, late.text.includes('secret app')], form.path).toEqual([404, false]);
    await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'moderator')`, [
      world.accountId,
      userId,
    ]);
  }
});
