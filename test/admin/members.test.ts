import { beforeEach, describe, expect, test } from 'vitest';
import { readAudit } from '../helpers/audit.ts';
import { createAccount, createMember, createUser, createWorld, issueToken } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { emailOf, hiddenFields, signedIn, type Visitor } from './visitor.ts';

const server = await startServerForFile();
const world = await createWorld(server);
const owner = await signedIn(server, world.ownerId);
const adminId = await createMember(server, world.accountId, 'admin');
const admin = await signedIn(server, adminId);
beforeEach(() => {
  server.auditLines.length = 0;
});

const roleOf = async (userId: number, { accountId } = world) => {
  const values = [accountId, userId];
  const rows = await server.sql<{ role: string }>(
    'select role from memberships where account_id = $1 and user_id = $2',
    values,
  );
  return rows[0]?.role;
};
const formTokenOf = async (visitor: Visitor) =>
  hiddenFields((await visitor.get('/admin')).html, '/admin/sign-out').form_token ?? '';
const send = async (visitor: Visitor, path: string, fields: Record<string, string> = {}) =>
  visitor.post(path, { form_token: await formTokenOf(visitor), ...fields });
const namesIn = (html: string) => [...html.matchAll(/<strong><bdi>([^<]*)/g)].map(([, name]) => name);

describe('the list of members', () => {
  test('each page of the member list is smaller than 50 kB, and people can search the list by name, e-mail address, role or blocked state', async () => {
    const { accountId } = await createWorld(server);
    const lister = await signedIn(server, await createMember(server, accountId, 'owner', 'Zoe'));
    await server.sql(
      `with made as (
        insert into users (email, name)
        select 'bulk' || n || '@example.com', rpad('Bulk ' || n, 100, 'W') from generate_series(1, 60) n returning id
      )
      insert into memberships (account_id, user_id, role) select $1, id, 'member' from made`,
      [accountId],
    );
    const blockedId = await createMember(server, accountId, 'moderator', 'Mallory');
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [accountId, blockedId]);

    const seen: (string | undefined)[] = [];
    let path: string | undefined = '/admin/members';
    let pages = 0;
    while (path !== undefined) {
      const { status, html } = await lister.get(path);
      expect([status, html.length < 50_000]).toEqual([200, true]);
      seen.push(...namesIn(html));
      pages += 1;
      path = /<a class="button" rel="next" href="([^"]+)"/.exec(html)?.[1]?.replaceAll('&amp;', '&');
    }
    expect([pages, seen.length, new Set(seen).size]).toEqual([3, 63, 63]);
    expect(seen.slice(0, 3)).toEqual(['The owner', 'Zoe', 'Mallory']);

    const found = async (query: string) => namesIn((await lister.get(`/admin/members?${query}`)).html);
    expect(await found('q=zo')).toEqual(['Zoe']);
    expect(await found(`q=${await emailOf(server, blockedId)}`)).toEqual(['Mallory']);
    expect(await found('role=owner')).toEqual(['The owner', 'Zoe']);
    expect(await found('blocked=yes&q=&role=')).toEqual(['Mallory']);
    expect(await found('blocked=no&role=moderator')).toEqual([]);
    const filtered = await lister.get('/admin/members?q=bulk&role=member');
    expect(filtered.html).toContain('q=bulk&amp;role=member&amp;after=member.');
    expect(filtered.html).toContain('<option value="member" selected>');
    // The page ignores invalid search parameters.
    expect(await found('role=king&blocked=maybe&after=king.1')).toHaveLength(25);
  });

  test('the admin pages of members escape HTML in names and e-mail addresses', async () => {
    const hostile = `"><img src=x onerror='alert(1)'>`;
    const userId = await createMember(server, world.accountId, 'member', `${hostile}\u202e`);
    await server.sql(`update users set email = '<img@example.com' where id = $1`, [userId]);
    const paths = ['', `/${userId}`, `/${userId}/remove`, `?q=${encodeURIComponent(hostile)}`];
    for (const path of paths.map(one => `/admin/members${one}`)) {
      const { status, html } = await owner.get(path);
      expect([path, status, html.includes('<img'), html.includes('\u202e')]).toEqual([path, 200, false, false]);
      expect(html).toContain('&lt;img src=x onerror=&#39;alert(1)&#39;&gt;');
    }
  });
});

describe('a member', () => {
  test("a member's new role takes effect at the member's next request", async () => {
    const userId = await createMember(server, world.accountId, 'member');
    const visitor = await signedIn(server, userId);
    server.auditLines.length = 0;
    expect((await visitor.get('/admin/members')).status).toBe(403);
    const path = `/admin/members/${userId}`;
    const answer = await admin.submit(path, `${path}/role`, { role: 'admin' });
    expect([answer.status, answer.location]).toEqual([303, `${path}?notice=role`]);
    expect((await admin.get(`${path}?notice=role`)).html).toContain('Their role is now admin.');
    expect((await visitor.get('/admin/members')).status).toBe(200);
    expect(readAudit(server.auditLines)).toMatchObject([
      { event: 'member.role_changed', by: 'user', by_user_id: adminId, user_id: userId, from: 'member', to: 'admin' },
    ]);
    for (const role of ['', 'king']) {
      const refused = await send(admin, `${path}/role`, { role });
      expect([refused.status, refused.html.includes('Choose a role')]).toEqual([422, true]);
    }
    // An admin who lowers their own role is redirected to a page that they may still open.
    expect((await send(visitor, `${path}/role`, { role: 'member' })).location).toBe('/admin?notice=role');
    expect((await visitor.get('/admin?notice=role')).html).toContain('Your role has changed.');
  });

  test('an admin cannot make themselves an owner, and cannot change or remove an owner', async () => {
    const page = await admin.get(`/admin/members/${world.ownerId}`);
    expect(page.html).toContain('Only an owner can change or remove an owner.');
    expect(page.html).not.toMatch(/<select|remove"/);
    expect((await admin.get(`/admin/members/${adminId}`)).html).not.toContain('value="owner"');
    for (const [path, fields] of [
      [`${adminId}/role`, { role: 'owner' }],
      [`${world.ownerId}/role`, { role: 'member' }],
      [`${world.ownerId}/remove`, {}],
    ] as const) {
      const answer = await send(admin, `/admin/members/${path}`, fields);
      expect([path, answer.status, answer.html.includes('Only an owner of the account')]).toEqual([path, 403, true]);
    }
    expect([await roleOf(world.ownerId), await roleOf(adminId)]).toEqual(['owner', 'admin']);
    expect(server.auditLines).toEqual([]);

    expect((await send(owner, `/admin/members/${adminId}/role`, { role: 'owner' })).status).toBe(303);
    expect((await send(owner, `/admin/members/${adminId}/role`, { role: 'admin' })).status).toBe(303);
    expect(await roleOf(adminId)).toBe('admin');
  });

  test("the page that confirms the removal of a member offers to revoke the member's API tokens", async () => {
    for (const isRevoked of [true, false]) {
      const userId = await createMember(server, world.accountId, 'admin', 'Grace');
      const visitor = await signedIn(server, userId);
      const { token, id } = await issueToken(server, world, 'moderate', { issuerId: userId });
      const path = `/admin/members/${userId}/remove`;
      const question = await admin.get(path);
      expect(question.html).toContain('Remove <bdi>Grace</bdi>?');
      expect(question.html).toContain(
        '<input type="checkbox" name="revoke_tokens" value="yes" checked> <span>Revoke their API tokens</span>',
      );
      server.auditLines.length = 0;
      const answer = await admin.submit(path, path, isRevoked ? { revoke_tokens: 'yes' } : {});
      expect(answer.location).toBe('/admin/members?notice=removed');
      expect(await roleOf(userId)).toBeUndefined();
      expect((await visitor.get('/admin')).html).toContain('You are not a member of any account');
      const status = async (path: string) => (await request(server, `GET /api/v1/ideas${path}`, { token })).status;
      expect([await status(''), await status('?moderation_state=pending')]).toEqual(
        isRevoked ? [401, 401] : [200, 403],
      );
      const told = readAudit(server.auditLines).filter(({ by_user_id }) => by_user_id === adminId);
      const removal = { event: 'member.removed', user_id: userId, role: 'admin' };
      expect(told).toMatchObject(isRevoked ? [removal, { event: 'token.revoked', token_id: id }] : [removal]);
      expect((await admin.get(path)).status).toBe(404);
      expect((await send(admin, path)).status).toBe(404);
    }
  });

  test('a person who leaves the account can revoke their own API tokens if their role is admin, but not if their role is member', async () => {
    for (const role of ['admin', 'member'] as const) {
      const userId = await createMember(server, world.accountId, role);
      const visitor = await signedIn(server, userId);
      const { token } = await issueToken(server, world, 'read', { issuerId: userId });
      const path = '/admin/members/leave';
      const { html } = await visitor.get(path);
      expect(html.includes('name="revoke_tokens" value="yes" checked')).toBe(role === 'admin');
      expect((await visitor.submit(path, path, { revoke_tokens: 'yes' })).status).toBe(303);
      expect((await request(server, 'GET /api/v1/ideas', { token })).status).toBe(role === 'admin' ? 401 : 200);
    }
  });

  test('a person with the role member can leave the account, but the last owner can neither leave nor give up the owner role', async () => {
    const visitor = await signedIn(server, await createMember(server, world.accountId, 'member'));
    expect((await visitor.get('/admin')).html).toContain('href="/admin/members/leave"');
    const answer = await visitor.submit('/admin/members/leave', '/admin/members/leave');
    expect(answer.location).toBe('/admin?notice=left');
    expect((await visitor.get('/admin?notice=left')).html).toContain('You have left the account.');
    for (const path of ['/admin/members/leave', `/admin/members/${world.ownerId}/remove`]) {
      const refused = await owner.submit(path, path);
      expect([refused.status, refused.html.includes('The last owner')]).toEqual([409, true]);
    }
    const demoted = await send(owner, `/admin/members/${world.ownerId}/role`, { role: 'admin' });
    expect([demoted.status, demoted.html.includes('The last owner')]).toEqual([409, true]);
    expect(demoted.html).toContain('<option value="admin" selected>');
    expect(await roleOf(world.ownerId)).toBe('owner');
  });
});

test('if two owners remove each other at the same time, one owner remains', async () => {
  const { accountId } = await createAccount(server);
  const ids = [await createMember(server, accountId, 'owner'), await createMember(server, accountId, 'owner')];
  const [one, other] = [await signedIn(server, ids[0] ?? 0), await signedIn(server, ids[1] ?? 0)];
  const tokens = await Promise.all([formTokenOf(one), formTokenOf(other)]);
  const answers = await Promise.all([
    one.post(`/admin/members/${ids[1]}/remove`, { form_token: tokens[0] }),
    other.post(`/admin/members/${ids[0]}/remove`, { form_token: tokens[1] }),
  ]);
  expect(answers.map(({ status }) => status).sort()).toEqual([303, 403]);
  expect(await server.sql('select role from memberships where account_id = $1', [accountId])).toEqual([
    { role: 'owner' },
  ]);
});

describe('the pages of members', () => {
  const pages = (id: number) => [
    ['GET', '/admin/members'],
    ['GET', `/admin/members/${id}`],
    ['POST', `/admin/members/${id}/role`],
    ['GET', `/admin/members/${id}/remove`],
    ['POST', `/admin/members/${id}/remove`],
    ['GET', '/admin/members/invitations'],
    ['POST', '/admin/members/invitations'],
    ['GET', '/admin/members/invitations/1/revoke'],
    ['POST', '/admin/members/invitations/1/revoke'],
  ];
  const fields = { role: 'member', email: 'eve@example.com' };

  test.each(['moderator', 'member'] as const)(
    'a person with the role %s cannot list, change, remove or invite members in the admin area',
    async role => {
      const visitor = await signedIn(server, await createMember(server, world.accountId, role));
      const form_token = await formTokenOf(visitor);
      for (const [method, path = ''] of pages(adminId)) {
        const answer = await (method === 'GET' ? visitor.get(path) : visitor.post(path, { ...fields, form_token }));
        expect([path, answer.status, answer.html.includes(`is ${role}`)]).toEqual([path, 403, true]);
      }
      expect(await roleOf(adminId)).toBe('admin');
      expect(await server.sql('select from invitations where account_id = $1', [world.accountId])).toEqual([]);
    },
  );

  test('the server refuses every form on the admin pages of members that is sent without the form_token of the session', async () => {
    for (const [method, path = ''] of [...pages(adminId), ['POST', '/admin/members/leave']]) {
      if (method === 'POST') expect([path, (await owner.post(path, fields)).status]).toEqual([path, 403]);
    }
    expect(await roleOf(adminId)).toBe('admin');
  });

  test('requests for admin pages about members of another account or about unknown users get 404', async () => {
    const other = await createWorld(server);
    const form_token = await formTokenOf(owner);
    for (const id of [other.ownerId, await createUser(server), 999_999_999, 'x', '9'.repeat(20)]) {
      const path = `/admin/members/${id}`;
      for (const one of [path, `${path}/remove`]) expect([one, (await owner.get(one)).status]).toEqual([one, 404]);
      for (const one of [`${path}/role`, `${path}/remove`]) {
        expect([one, (await owner.post(one, { form_token, ...fields })).status]).toEqual([one, 404]);
      }
    }
    expect(await roleOf(other.ownerId, other)).toBe('owner');
  });
});
