import { beforeEach, describe, expect, test } from 'vitest';
import { readAudit } from '../helpers/audit.ts';
import { testClock } from '../helpers/clock.ts';
import { createMember, createWorld, type World } from '../helpers/fixtures.ts';
import { startServerForFile } from '../helpers/server.ts';
import { givePassword, hiddenFields, type Person, signedIn, Visitor } from './visitor.ts';

const clock = testClock('2026-03-02T09:00:00Z');
let world: World;
let slug: string;
let owner: Person;
let visitor: Visitor;

const server = await startServerForFile({
  clock,
  environment: {
    PLANS_WITHOUT_AGENT_API: 'starter',
    RATE_LIMIT_SIGN_IN_ACCOUNT: '3',
    RATE_LIMIT_SIGN_IN_IP: '10000',
  },
});
beforeEach(async () => {
  clock.set('2026-03-02T09:00:00Z');
  world = await createWorld(server);
  slug = (await account()).slug;
  owner = await givePassword(server, world.ownerId);
  visitor = new Visitor(server);
  await visitor.signIn(owner.email, owner.password);
  server.auditLines.length = 0;
});

const account = async () => {
  const [row] = await server.sql<{ name: string; slug: string; deletion_scheduled_at: string | null }>(
    'select name, slug, deletion_scheduled_at from accounts where id = $1',
    [world.accountId],
  );
  if (!row) throw new Error('The account is gone');
  return row;
};
const save = (fields: Record<string, string>) => visitor.submit('/admin/account', '/admin/account', fields);
const schedule = (fields: Record<string, string>) =>
  visitor.submit('/admin/account/delete', '/admin/account/delete', fields);
const told = () => readAudit(server.auditLines).map(({ event, by, by_user_id }) => ({ event, by, by_user_id }));
const byOwner = (event: string) => ({ event, by: 'user', by_user_id: world.ownerId });

describe('the account', () => {
  test("the account page shows the account's plan, the owner's e-mail address, and the numbers of members and boards", async () => {
    const admin = await signedIn(server, await createMember(server, world.accountId, 'admin'));
    expect((await visitor.get('/admin/account')).html).toContain('community, with the Agent API');
    await server.sql(`update accounts set plan = 'starter' where id = $1`, [world.accountId]);
    const { html } = await admin.get('/admin/account');
    expect(html).toContain('starter, without the Agent API');
    expect(html).toContain(owner.email);
    expect(html).toContain('<a href="/admin/members">2</a>');
    expect(html).toContain('<a href="/admin/boards">1</a>');
    expect(html).not.toContain('name="slug"');
  });

  test("an owner can change an account's name and slug, and afterwards the account page exists only at the URL with the new slug", async () => {
    const other = await createWorld(server);
    await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'member')`, [
      other.accountId,
      world.ownerId,
    ]);
    const path = `/admin/account?account=${slug}`;
    const answer = await visitor.submit(path, path, { name: ' Acme ', slug: `acme-${world.accountId}` });
    expect(answer.location).toBe(`/admin/account?account=acme-${world.accountId}&notice=saved`);
    expect((await visitor.get(answer.location ?? '')).html).toContain('The account is saved.');
    expect(await account()).toMatchObject({ name: 'Acme', slug: `acme-${world.accountId}` });
    expect((await visitor.get(path)).status).toBe(404);
    expect(readAudit(server.auditLines)).toMatchObject([
      { ...byOwner('account.updated'), account_id: world.accountId, changed: ['name', 'slug'] },
    ]);
  });

  test('an empty account name, an invalid slug and the slug of another account are refused, and the form still shows the entered slug', async () => {
    const [other] = await server.sql<{ slug: string }>('select slug from accounts where id = $1', [
      (await createWorld(server)).accountId,
    ]);
    const before = await account();
    for (const [given, status, why] of [
      [{ name: 'Acme', slug: 'No Slug' }, 422, 'lower-case letters'],
      [{ name: ' ', slug }, 422, 'must not be empty'],
      [{ name: 'Acme', slug: other?.slug ?? '' }, 409, 'Another account has the slug'],
    ] as const) {
      const answer = await save(given);
      expect([answer.status, answer.html.includes(why)]).toEqual([status, true]);
      expect(answer.html).toContain(`value="${given.slug}"`);
    }
    expect(await account()).toEqual(before);
    expect(server.auditLines).toEqual([]);
  });

  test('the account page, and the error message for a wrong account slug, are in German for a browser that prefers German', async () => {
    const german = { headers: { 'accept-language': 'de-DE,en;q=0.5' } };
    const { html } = await visitor.get('/admin/account', german);
    expect(html).toContain('community, mit der Agent API');
    expect(html).toContain('Nur Eingeladene');
    expect(html).toContain('<a href="/admin/queue"><bdi>Warteschlange</bdi></a>');
    const deletion = '/admin/account/delete';
    const fields = { ...hiddenFields((await visitor.get(deletion)).html, deletion), slug: 'wrong' };
    const refused = await visitor.post(deletion, fields, german);
    expect(refused.status).toBe(422);
    expect(refused.html).toContain(`Geben Sie ${slug} ein, um die Löschung zu bestätigen.`);
  });

  test("the account page escapes HTML in the account's name and in its owners' e-mail addresses", async () => {
    const hostile = `"><img src=x onerror='alert(1)'>\u202e`;
    await server.sql('update accounts a set name = $2 where id = $1', [world.accountId, hostile]);
    const address = `<img>\u202e${world.ownerId}@example.com`;
    await server.sql('update users set email = $2 where id = $1', [world.ownerId, address]);
    expect((await visitor.get('/admin/account')).html).toContain(`&lt;img&gt; ${world.ownerId}@example.com`);
    for (const path of ['/admin/account', '/admin/account/delete']) {
      const { html } = await visitor.get(path);
      expect([html.includes('<img'), html.replace(/value="[^"]*"/g, '').includes('\u202e')]).toEqual([false, false]);
      expect(html).toContain('&quot;&gt;&lt;img src=x onerror=&#39;alert(1)&#39;&gt;');
    }
  });
});

describe('the deletion of the account', () => {
  test("an owner who enters the account's slug and their own password schedules the account's deletion, and can cancel it on the account page", async () => {
    const admin = await signedIn(server, await createMember(server, world.accountId, 'admin'));
    server.auditLines.length = 0;
    const question = await visitor.get('/admin/account/delete');
    expect(question.html).toContain('1 Apr 2026, 09:00 UTC');
    expect(question.html).toContain('1 board, with all ideas');
    const answer = await schedule({ slug: ` ${slug} `, current_password: owner.password });
    expect([answer.status, answer.location]).toEqual([303, '/admin/account']);
    clock.advance(3_600_000);
    for (const one of [visitor, admin]) {
      const { html } = await one.get('/admin/account');
      expect(html).toContain('The account is scheduled for deletion.');
      expect(html).toContain('1 Apr 2026, 09:00 UTC');
      expect(html.includes('Keep the account')).toBe(one === visitor);
    }
    // A second request to delete the account must not restart the grace period.
    expect((await visitor.get('/admin/account/delete')).location).toBe('/admin/account');
    const scheduled = (await account()).deletion_scheduled_at;
    const again = { ...hiddenFields(question.html, '/admin/account/delete'), slug, current_password: owner.password };
    expect((await visitor.post('/admin/account/delete', again)).status).toBe(303);
    expect((await account()).deletion_scheduled_at).toBe(scheduled);

    const kept = await visitor.submit('/admin/account', '/admin/account/keep');
    expect(kept.location).toBe('/admin/account?notice=kept');
    expect((await visitor.get('/admin/account')).html).not.toContain('scheduled for deletion');
    expect((await account()).deletion_scheduled_at).toBeNull();
    expect(told()).toEqual([byOwner('account.deletion_scheduled'), byOwner('account.deletion_cancelled')]);
  });

  test("an account's deletion is not scheduled if the owner enters a wrong slug or password, and wrong passwords count against the rate limit of sign-ins", async () => {
    const wrong = await schedule({ slug: 'acme', current_password: owner.password });
    expect([wrong.status, wrong.html.includes(`Enter ${slug} to confirm`)]).toEqual([422, true]);
    expect(wrong.html).toContain('value="acme"');
    for (let tries = 0; tries < 3; tries++) {
      const answer = await schedule({ slug, current_password: 'a wrong password' });
      expect([answer.status, answer.html.includes('The current password is wrong')]).toEqual([422, true]);
    }
    const bounded = await schedule({ slug, current_password: owner.password });
    expect([bounded.status, bounded.headers.get('retry-after')]).toEqual([429, '900']);
    expect((await visitor.signIn(owner.email, owner.password)).status).toBe(429);
    expect((await account()).deletion_scheduled_at).toBeNull();
    expect(readAudit(server.auditLines)).toMatchObject([
      { event: 'password.refused', user_id: world.ownerId },
      { event: 'rate_limit.exceeded', bucket: 'sign-in:browser' },
    ]);
  });

  test("once the server has begun to erase an account, the account's owner can neither open the account page nor cancel the deletion", async () => {
    await schedule({ slug, current_password: owner.password });
    await server.sql('update accounts set erasure_began_at = now() where id = $1', [world.accountId]);
    expect((await visitor.get('/admin/account')).status).toBe(403);
    const { html } = await visitor.get('/admin');
    const answer = await visitor.post('/admin/account/keep', hiddenFields(html, '/admin/sign-out'));
    expect(answer.status).toBe(403);
    expect((await account()).deletion_scheduled_at).not.toBeNull();
  });
});

describe.each(['admin', 'moderator', 'member'] as const)(
  'the pages of the account for a person with the role %s',
  role => {
    test(`a person with the role ${role} cannot change or delete the account, and can open the account page only if the role is admin`, async () => {
      const other = await signedIn(server, await createMember(server, world.accountId, role));
      const mayWatch = role === 'admin';
      const fields = hiddenFields((await other.get('/admin')).html, '/admin/sign-out');
      expect((await other.get('/admin/account')).status).toBe(mayWatch ? 200 : 403);
      expect((await other.get('/admin/account/delete')).status).toBe(403);
      for (const path of ['/admin/account', '/admin/account/delete', '/admin/account/keep']) {
        const given = { ...fields, name: 'Mine', slug, current_password: owner.password };
        expect([path, (await other.post(path, given)).status]).toEqual([path, 403]);
      }
      expect(await account()).toMatchObject({ name: 'An account', slug, deletion_scheduled_at: null });
    });
  },
);

test('requests for the account page and the deletion page of another account get 404, and a visitor without a session must sign in first', async () => {
  const [other] = await server.sql<{ slug: string }>('select slug from accounts where id = $1', [
    (await createWorld(server)).accountId,
  ]);
  for (const path of ['/admin/account', '/admin/account/delete']) {
    expect((await visitor.get(`${path}?account=${other?.slug}`)).status).toBe(404);
    expect((await new Visitor(server).get(path)).location).toBe(`/sign-in?next=${encodeURIComponent(path)}`);
  }
  const fields = hiddenFields((await visitor.get('/admin')).html, '/admin/sign-out');
  const answer = await visitor.post(`/admin/account/delete?account=${other?.slug}`, {
    ...fields,
    slug: other?.slug ?? '',
    current_password: owner.password,
  });
  expect(answer.status).toBe(404);
});
