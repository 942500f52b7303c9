import { beforeEach, describe, expect, test } from 'vitest';
import { readAudit } from '../helpers/audit.ts';
import { createMember, createWorld, type World } from '../helpers/fixtures.ts';
import { closeAfterAll } from '../helpers/for-file.ts';
import { startOpenidProvider } from '../helpers/openid-provider.ts';
import { startServerForFile } from '../helpers/server.ts';
import { signedIn, type Visitor } from './visitor.ts';

const path = '/admin/account/providers';

let world: World;
let owner: Visitor;

const provider = closeAfterAll(await startOpenidProvider());
const server = await startServerForFile({ environment: { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' } });
beforeEach(async () => {
  world = await createWorld(server);
  owner = await signedIn(server, world.ownerId);
  server.auditLines.length = 0;
});

const fields = (changes: Record<string, string> = {}) => ({
  name: 'Acme',
  issuer: provider.issuer,
  client_id: provider.clientId,
  client_secret: provider.clientSecret,
  ...changes,
});
const add = (changes: Record<string, string> = {}, visitor = owner) => visitor.submit(path, path, fields(changes));
const stored = () =>
  server.sql<{ id: number; name: string; issuer: string; client_id: string; client_secret: string; key: string }>(
    'select * from identity_providers where account_id = $1 order by id',
    [world.accountId],
  );
const events = () => readAudit(server.auditLines).map(({ event, changed }) => [event, changed]);

describe('the providers of an account', () => {
  test('an admin can add a sign-in provider, and the client secret of the provider is stored encrypted and shown on no page', async () => {
    const admin = await signedIn(server, await createMember(server, world.accountId, 'admin'));
    const added = await add({ issuer: `${provider.issuer}/.well-known/openid-configuration` }, admin);
    expect(added.location).toBe(`${path}?notice=added`);
    const [row] = await stored();
    expect(row).toMatchObject({ name: 'Acme', issuer: provider.issuer, key: expect.stringMatching(/^[0-9a-f]{32}$/) });
    expect(Buffer.from(row?.client_secret ?? '').includes(provider.clientSecret)).toBe(false);
    const pages = [await admin.get(path), await admin.get(`${path}/${row?.id}`)];
    expect(pages.map(({ html }) => html.includes(provider.clientSecret))).toEqual([false, false]);
    expect(pages[1]?.html).toContain(`/sign-in/provider/${row?.key}`);
    expect(pages[0]?.html).toContain(`/sign-in/provider/callback/${world.accountId}`);
  });

  test.each([
    ['whose server does not answer', { issuer: 'http://127.0.0.1:9' }, 'does not answer'],
    ['whose URL has a query', { issuer: 'http://127.0.0.1:9/?a=b' }, 'must be a URL'],
    ['without HTTPS on another host', { issuer: 'http://id.example.com' }, 'must begin with https://'],
    ['on a private network', { issuer: 'https://10.0.0.1' }, 'on the public internet'],
    ['without a client secret', { client_secret: ' ' }, 'Enter the client secret'],
    ['without a name', { name: '' }, 'must not be empty'],
  ])(
    'a sign-in provider %s is refused, and the form still shows the entered values except the client secret',
    async (_, changes, message) => {
      const refused = await add(changes);
      expect([refused.status, refused.html.includes(message)]).toEqual([422, true]);
      expect(refused.html).toContain(`value="${provider.clientId}"`);
      expect(refused.html).not.toContain(provider.clientSecret);
      expect(await stored()).toEqual([]);
    },
  );

  test('a sign-in provider is refused if its OpenID metadata names another issuer than the form', async () => {
    provider.answer = (_request, response) => {
      const metadata = { issuer: 'https://other.example.com', authorization_endpoint: 'https://other.example.com/a' };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(metadata));
      return true;
    };
    try {
      const refused = await add();
      expect([refused.status, refused.html.includes('names another issuer')]).toEqual([422, true]);
    } finally {
      provider.answer = undefined;
    }
  });

  test('an edit of a sign-in provider cannot change the issuer, and keeps the stored client secret if the secret field is empty', async () => {
    await add();
    const [before] = await stored();
    const own = `${path}/${before?.id}`;
    const changes = { name: 'Other', issuer: 'https://evil.example', client_id: provider.clientId, client_secret: '' };
    expect((await owner.submit(own, own, changes)).status).toBe(303);
    const [after] = await stored();
    expect(after).toEqual({ ...before, name: 'Other' });
    expect((await owner.submit(own, own, { ...changes, client_secret: 'another' })).status).toBe(303);
    expect((await stored())[0]?.client_secret).not.toEqual(before?.client_secret);
    expect(events().slice(1)).toEqual([
      ['identity_provider.updated', ['name']],
      ['identity_provider.updated', ['client_secret']],
    ]);
  });

  test("nobody can sign in with a deleted sign-in provider, and a moderator or another account's owner cannot open the pages of sign-in providers", async () => {
    await add();
    const [row] = await stored();
    const moderator = await signedIn(server, await createMember(server, world.accountId, 'moderator'));
    const stranger = await signedIn(server, (await createWorld(server)).ownerId);
    const own = `${path}/${row?.id}`;
    expect([(await moderator.get(own)).status, (await stranger.get(own)).status]).toEqual([403, 404]);
    expect((await owner.submit(`${own}/delete`, `${own}/delete`)).location).toBe(`${path}?notice=deleted`);
    expect(await stored()).toEqual([]);
    expect((await owner.get(`/sign-in/provider/${row?.key}`)).status).toBe(404);
  });

  test('an admin can require that members use the sign-in provider, an owner can end this requirement, and a moderator can do neither', async () => {
    const admin = await signedIn(server, await createMember(server, world.accountId, 'admin'));
    const moderator = await signedIn(server, await createMember(server, world.accountId, 'moderator'));
    const required = '/admin/account/require-provider';
    const form = /name="form_token" value="([^"]+)"/.exec((await moderator.get('/admin')).html);
    const refused = await moderator.post(required, { form_token: form?.[1] ?? '', requires_provider: 'yes' });
    expect(refused.status).toBe(403);
    expect((await admin.submit(path, required, { requires_provider: 'yes' })).status).toBe(303);
    expect((await admin.get(path)).status).toBe(403);
    const [account] = await server.sql('select requires_provider from accounts where id = $1', [world.accountId]);
    expect(account).toEqual({ requires_provider: true });
    expect(events().at(-1)).toEqual(['account.updated', ['requires_provider']]);
    expect((await owner.submit(path, required)).status).toBe(303);
    expect((await admin.get(path)).status).toBe(200);
  });
});
