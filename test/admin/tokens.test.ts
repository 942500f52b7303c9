import { beforeEach, describe, expect, test } from 'vitest';
import { readAudit } from '../helpers/audit.ts';
import { testClock } from '../helpers/clock.ts';
import { createBoard, createMember, createWorld, issueToken, type World } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { hiddenFields, signedIn, type Visitor } from './visitor.ts';

const clock = testClock();
let world: World;
let visitor: Visitor;

const server = await startServerForFile({
  clock,
  environment: { PLANS_WITHOUT_AGENT_API: 'starter', RATE_LIMIT_READ: '120', RATE_LIMIT_WRITE: '20' },
});
beforeEach(async () => {
  world = await createWorld(server, { name: 'Web <b>app</b>' });
  visitor = await signedIn(server, world.ownerId);
  server.auditLines.length = 0;
});

const tokens = () =>
  server.sql<{ id: number; name: string; revoked_at: string | null }>(
    'select id, name, revoked_at from api_tokens where account_id = $1 order by id',
    [world.accountId],
  );
const level = (boardId = world.boardId) => `level_${boardId}`;
const create = (fields: Record<string, string>) => visitor.submit('/admin/tokens', '/admin/tokens', fields);
const plaintextIn = (html: string) => /ib_\d+_[\w-]{43}/.exec(html)?.[0] ?? '';
// Joins all parts after the second underscore, because the secret of a token may contain underscores.
const secretOf = (plaintext: string) => plaintext.split('_').slice(2).join('_');
const slug = async (accountId: number) =>
  (await server.sql<{ slug: string }>('select slug from accounts where id = $1', [accountId]))[0]?.slug ?? '';

describe('an API token', () => {
  test('the page of API tokens and the error message for an invalid expiry date are in German for a browser that prefers German', async () => {
    const german = { headers: { 'accept-language': 'de' } };
    const { html } = await visitor.get('/admin/tokens', german);
    expect(html).toContain('<option value="moderate">Moderieren</option>');
    const fields = { ...hiddenFields(html, '/admin/tokens'), name: 'Bot', [level()]: 'read', expires_on: 'morgen' };
    const refused = await visitor.post('/admin/tokens', fields, german);
    expect(refused.status).toBe(422);
    expect(refused.html).toContain('Geben Sie den letzten Tag als Jahr-Monat-Tag ein.');
    expect(refused.html).toContain('<option value="read" selected>Lesen</option>');
  });

  test('a new API token can manage webhooks only if the admin ticks this capability, and the webhook list names the token that created a webhook', async () => {
    const fields = { [level()]: 'read' };
    const made = [
      await create({ ...fields, name: 'Plain' }),
      await create({ ...fields, name: 'Infra <b>', capability_manage_webhooks: '1' }),
    ];
    const [plain, able] = made.map(({ html }) => plaintextIn(html));
    for (const [token, capabilities] of [
      [plain, []],
      [able, ['manage_webhooks']],
    ] as const) {
      expect((await request(server, 'GET /api/v1/token', { token })).body.capabilities).toEqual(capabilities);
    }
    expect(made.map(({ html }) => html.includes('<dd>Manage webhooks</dd>'))).toEqual([false, true]);
    const audited = readAudit(server.auditLines).filter(({ event }) => event === 'token.created');
    expect(audited.map(({ capabilities }) => capabilities)).toEqual([[], ['manage_webhooks']]);
    const refused = await create({ name: '', capability_manage_webhooks: '1' });
    expect(refused.html).toContain('name="capability_manage_webhooks" value="1" checked');

    const json = { url: 'https://hooks.example.com/ideas' };
    expect((await request(server, 'POST /api/v1/webhooks', { token: able, json })).status).toBe(201);
    const { html } = await visitor.get('/admin/webhooks');
    expect(html).toContain('<dt>Created with the token</dt>\n<dd><bdi>Infra &lt;b&gt;</bdi></dd>');
  });

  test('a new API token works on the chosen boards and is shown only once', async () => {
    const second = await createBoard(server, world.accountId, { name: 'Mobile' });
    const third = await createBoard(server, world.accountId);
    const day = new Date(clock.now().getTime() + 86_400_000).toISOString().slice(0, 10);
    const answer = await create({
      name: ' Support bot ',
      [level()]: 'write',
      [level(second.id)]: 'read',
      expires_on: day,
    });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    // The page with a new token has a script, which comes from this server and copies the token.
    expect(answer.headers.get('content-security-policy')).toMatch(/;script-src 'self'$/);
    expect(answer.html.match(/<script[^>]*>/g)).toEqual([
      expect.stringMatching(/^<script src="\/assets\/[0-9a-f]{16}\.js"( data-\w+="\w+")* defer>$/),
    ]);
    const plaintext = plaintextIn(answer.html);
    const { body } = await request(server, 'GET /api/v1/token', { token: plaintext });
    expect(body).toMatchObject({
      name: 'Support bot',
      expires_at: `${new Date(Date.parse(day) + 86_400_000).toISOString()}`,
    });
    expect(body.boards.map((one: { grant: string }) => one.grant).sort()).toEqual(['read', 'write']);
    expect(JSON.stringify(body.boards)).not.toContain(third.slug);
    // The command that the page with the new token shows works without changes.
    const [, path] =
      new RegExp(`Bearer ${plaintext}&#39; &#39;http://localhost:3000(/[^&]+)&#39;`).exec(answer.html) ?? [];
    expect((await request(server, `GET ${path}`, { token: plaintext })).status).toBe(200);
    const list = await visitor.get('/admin/tokens');
    expect(list.html).toContain('Support bot');
    expect(list.html).not.toContain(secretOf(plaintext));
    expect(server.logLines.join('') + server.auditLines.join('')).not.toContain(secretOf(plaintext));
    expect(readAudit(server.auditLines)).toMatchObject([
      {
        event: 'token.created',
        by: 'user',
        by_user_id: world.ownerId,
        user_id: world.ownerId,
        account_id: world.accountId,
      },
    ]);
  });

  test.each([
    ['no name', { name: ' ' }, 'must not be empty'],
    ['a name that is too long', { name: 'x'.repeat(101) }, 'at most 100'],
    ['no board', { level: '' }, 'at least one board'],
    ['an unknown grant', { level: 'admin' }, 'Choose a grant'],
    ['a past expiry date', { expires_on: '2020-01-01' }, 'expired already'],
    ['an invalid expiry date', { expires_on: 'soon' }, 'year-month-day'],
    ['an expiry date with extra characters', { expires_on: '2030-02-31x' }, 'year-month-day'],
  ])(
    'an API token with %s is refused, and the form still shows the entered name and grant if they are valid',
    async (_what, given: Record<string, string>, why) => {
      const fields = { name: 'Support "bot"', level: 'write', expires_on: '2099-01-01', ...given };
      const { level: chosen, ...rest } = fields;
      const answer = await create({ ...rest, [level()]: chosen });
      expect([answer.status, answer.html.includes(why)]).toEqual([422, true]);
      if (given.name === undefined) expect(answer.html).toContain('value="Support &quot;bot&quot;"');
      if (given.level === undefined) expect(answer.html).toContain('<option value="write" selected>');
      expect(await tokens()).toEqual([]);
      expect(server.auditLines).toEqual([]);
    },
  );

  test('an API token cannot get access to a board of another account', async () => {
    const other = await createWorld(server);
    const answer = await create({ name: 'Bot', [level(other.boardId)]: 'read' });
    expect(answer.status).toBe(422);
    expect(await tokens()).toEqual([]);
  });

  test("if the account's plan excludes the Agent API, the page of API tokens has no form, and the server refuses to create a token", async () => {
    const page = await visitor.get('/admin/tokens');
    await server.sql(`update accounts set plan = 'starter' where id = $1`, [world.accountId]);
    const refused = await visitor.get('/admin/tokens');
    expect([refused.status, refused.html.includes('name="expires_on"')]).toEqual([200, false]);
    const hidden = hiddenFields(page.html, '/admin/tokens');
    const answer = await visitor.post('/admin/tokens', { ...hidden, name: 'Bot', [level()]: 'read' });
    expect([answer.status, answer.html.includes('does not allow the Agent API')]).toEqual([403, true]);
    expect(await tokens()).toEqual([]);
  });

  test('an API token is revoked after a confirmation, and its next request gets 401', async () => {
    const { id, token } = await issueToken(server, world, 'read', { name: 'Old bot' });
    const path = `/admin/tokens/${id}/revoke`;
    expect((await visitor.get(path)).html).toContain('Revoke <bdi>Old bot</bdi>?');
    expect((await request(server, 'GET /api/v1/token', { token })).status).toBe(200);
    const answer = await visitor.submit(path, path);
    expect([answer.status, answer.location]).toEqual([303, '/admin/tokens?notice=revoked']);
    expect((await visitor.get('/admin/tokens?notice=revoked')).html).toContain('The token is revoked.');
    expect((await request(server, 'GET /api/v1/token', { token })).key).toBe('unauthorized');
    expect((await visitor.get(path)).html).toContain('The token is already revoked');
    expect(readAudit(server.auditLines)).toContainEqual(
      expect.objectContaining({ event: 'token.revoked', by: 'user', by_user_id: world.ownerId, token_id: id }),
    );
  });

  test('an owner gets 404 for an API token of another account and cannot revoke it', async () => {
    const other = await createWorld(server);
    const { id } = await issueToken(server, other, 'read');
    const { html } = await visitor.get('/admin');
    const formToken = /name="form_token" value="([^"]+)"/.exec(html)?.[1] ?? '';
    for (const one of [id, 999_999_999, 'x', '0', '9'.repeat(20)]) {
      expect((await visitor.get(`/admin/tokens/${one}/revoke`)).status).toBe(404);
      expect((await visitor.post(`/admin/tokens/${one}/revoke`, { form_token: formToken })).status).toBe(404);
    }
    expect(await server.sql('select revoked_at from api_tokens where id = $1', [id])).toEqual([{ revoked_at: null }]);
  });
});

describe('the list of tokens', () => {
  test("the list of API tokens shows each token's grant, kind, last use, expiry and state, and expired tokens come last", async () => {
    const { id: used } = await issueToken(server, world, 'moderate', { name: 'Used' });
    const { id: oauth } = await issueToken(server, world, 'read', { name: 'Agent' });
    const { id: expired } = await issueToken(server, world, 'read', { name: 'Expired one' });
    await server.sql(
      `update api_tokens set last_used_at = '2026-03-02T10:15:00Z', last_used_network = '192.0.2.0/24',
        last_used_client = 'idea-board-client/1.2.3' where id = $1`,
      [used],
    );
    await server.sql(`update api_tokens set kind = 'oauth' where id = $1`, [oauth]);
    await server.sql(`update api_tokens set created_at = '2020-01-01', expires_at = '2020-02-01' where id = $1`, [
      expired,
    ]);
    const { html } = await visitor.get('/admin/tokens');
    expect([...html.matchAll(/<h2><a [^>]+><bdi>([^<]+)/g)].map(([, name]) => name)).toEqual([
      'Agent',
      'Used',
      'Expired one',
    ]);
    for (const text of [
      'OAuth',
      'moderate',
      '2 Mar 2026, 10:15 UTC',
      '192.0.2.0/24',
      'idea-board-client/1.2.3',
      '1 Feb 2020, 00:00 UTC',
      'Expired',
      world.boardSlug,
    ])
      expect(html).toContain(text);
  });

  test('the list of API tokens and the page that confirms a revocation escape HTML in every name', async () => {
    const hostile = `"><img src=x onerror='alert(1)'>`;
    await issueToken(server, world, 'read', { name: hostile });
    await server.sql('update accounts a set name = $2 where id = $1', [world.accountId, hostile]);
    await server.sql('update users u set name = $2 where id = $1', [world.ownerId, `${hostile}\u202e`]);
    const [token] = await tokens();
    for (const path of [
      '/admin',
      '/admin/tokens',
      `/admin/tokens/${token?.id}/revoke`,
      '/admin/tokens?notice=%3Cimg%20',
    ]) {
      const { html, status } = await visitor.get(path);
      expect([status, html.includes('<img'), html.includes('\u202e'), html.includes('<b>app')]).toEqual([
        200,
        false,
        false,
        false,
      ]);
      expect(html).toContain('&quot;&gt;&lt;img src=x onerror=&#39;alert(1)&#39;&gt;');
    }
    const { html } = await create({ name: hostile, [level()]: 'nonsense' });
    expect(html).not.toContain('<img');
    const visitors = await visitor.get(`/sign-in?next=${encodeURIComponent(hostile)}`);
    expect(visitors.html).not.toContain('<img');
  });

  test('a list of 31 API tokens has two pages, and the first page has fewer than 50,000 characters', async () => {
    await server.sql(
      `insert into api_tokens (account_id, issuer_id, voter_id, name, secret_hash)
      select $1, $2, v.id, repeat('x', 100), sha256(v.id::text::bytea)
      from voters v, (select 1) one where v.account_id = $1`,
      [world.accountId, world.ownerId],
    );
    for (let made = 0; made < 30; made++) await issueToken(server, world, 'read', { name: 'W'.repeat(100) });
    // This revoked token is the newest token. The list still shows it last, because revoked tokens come last.
    const { id: over } = await issueToken(server, world, 'read', { name: 'Over' });
    await server.sql('update api_tokens set revoked_at = now() where id = $1', [over]);
    const first = await visitor.get('/admin/tokens');
    expect(first.html.length).toBeLessThan(50_000);
    expect(first.html.match(/<li class="card/g)).toHaveLength(25);
    const second = await visitor.get('/admin/tokens?page=2');
    expect(second.html.match(/<li class="card/g)).toHaveLength(6);
    expect(second.html.match(/<bdi>[^<]+<\/bdi><\/a><\/h2>/g)?.at(-1)).toBe('<bdi>Over</bdi></a></h2>');
    expect([first.html, second.html].map(html => /rel="next" href="([^"]+)"/.exec(html)?.[1])).toEqual([
      '/admin/tokens?page=2',
      undefined,
    ]);
    expect(second.html).toContain('href="/admin/tokens">First page');
    expect((await visitor.get(`/admin/tokens?page=${'9'.repeat(15)}`)).html).toContain('There is no token here');
  });
});

describe('the pages of tokens', () => {
  test.each(['moderator', 'member'] as const)(
    'a person with the role %s cannot open the admin pages of API tokens or send the forms on these pages',
    async role => {
      const { id } = await issueToken(server, world, 'read');
      const other = await signedIn(server, await createMember(server, world.accountId, role));
      const { html } = await other.get('/admin');
      expect(html).not.toContain('/admin/tokens');
      const form_token = /name="form_token" value="([^"]+)"/.exec(html)?.[1] ?? '';
      for (const path of ['/admin/tokens', `/admin/tokens/${id}/revoke`]) {
        const refused = await other.get(path);
        // The error page has the same navigation as the other pages, including the sign-out button.
        expect([refused.status, refused.html.includes('action="/admin/sign-out"')]).toEqual([403, true]);
        const answer = await other.post(path, { form_token, name: 'Bot', [level()]: 'read' });
        expect([answer.status, answer.html.includes(`is ${role}`)]).toEqual([403, true]);
      }
      expect(await tokens()).toMatchObject([{ id, revoked_at: null }]);
    },
  );

  test('an admin can open the page of API tokens, and a visitor who is not signed in cannot', async () => {
    const admin = await signedIn(server, await createMember(server, world.accountId, 'admin'));
    expect((await admin.get('/admin/tokens')).status).toBe(200);
    admin.cookies.clear();
    expect((await admin.get('/admin/tokens')).location).toBe('/sign-in?next=%2Fadmin%2Ftokens');
  });

  test('if a user has several accounts, the admin pages of API tokens work only for the account in the URL', async () => {
    const other = await createWorld(server);
    await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'admin')`, [
      other.accountId,
      world.ownerId,
    ]);
    const [own, another] = [await slug(world.accountId), await slug(other.accountId)];
    const { location } = await visitor.get('/admin/tokens?page=1');
    expect(location).toMatch(/^\/admin\/tokens\?page=1&account=account-/);
    const path = `/admin/tokens?account=${another}`;
    const answer = await visitor.submit(path, path, { name: 'There', [level(other.boardId)]: 'read' });
    expect(answer.status).toBe(201);
    expect(answer.html).toContain(path);
    expect(await tokens()).toEqual([]);
    const [made] = await server.sql<{ id: number }>('select id from api_tokens where account_id = $1', [
      other.accountId,
    ]);
    expect((await visitor.get(`/admin/tokens/${made?.id}/revoke?account=${own}`)).status).toBe(404);
    expect((await visitor.get(`/admin/tokens/${made?.id}/revoke?account=${another}`)).status).toBe(200);
    const home = await visitor.get(`/admin?account=${own}`);
    expect(home.html).toContain(`/admin?account=${another}`);
    const form_token = /name="form_token" value="([^"]+)"/.exec(home.html)?.[1] ?? '';
    expect((await visitor.post('/admin/tokens', { form_token, name: 'Which' })).status).toBe(404);
  });

  test('a user gets 404 for the API tokens of an unknown account or of an account that they do not belong to', async () => {
    const other = await createWorld(server);
    for (const name of [await slug(other.accountId), 'no-such-account']) {
      for (const path of ['/admin', '/admin/tokens']) {
        const { status, html } = await visitor.get(`${path}?account=${name}`);
        expect([status, html.includes('href="/admin/tokens"'), html.includes('To the admin area')]).toEqual([
          404,
          true,
          true,
        ]);
      }
    }
  });
});

describe('the page of a token', () => {
  const pageOf = (id: number, rest = '') => `/admin/tokens/${id}${rest}`;
  const rotate = (id: number, fields: Record<string, string>) =>
    visitor.submit(pageOf(id, '/rotate'), pageOf(id, '/rotate'), fields);
  const statusOf = async (token: string) => (await request(server, 'GET /api/v1/token', { token })).status;

  test('an admin can rotate a token, keep the old secret valid for 24 hours, see the new secret once, and end the old secret early', async () => {
    const { id, token: old } = await issueToken(server, world, 'read', { name: 'Bot' });
    const answer = await rotate(id, { overlap_hours: '24' });
    const fresh = plaintextIn(answer.html);
    expect([answer.status, fresh === old, answer.headers.get('cache-control')]).toEqual([200, false, 'no-store']);
    expect(answer.html).toContain('The old secret works until');
    const page = await visitor.get(pageOf(id));
    expect(page.html).toContain('Old secret works until');
    expect(page.html).not.toContain(secretOf(fresh));
    expect([await statusOf(old), await statusOf(fresh)]).toEqual([200, 200]);

    // If the token has two valid secrets, the form replaces only the newer secret.
    const replaced = await rotate(id, {});
    const newest = plaintextIn(replaced.html);
    expect([await statusOf(old), await statusOf(fresh), await statusOf(newest)]).toEqual([200, 401, 200]);

    const question = pageOf(id, '/end-old-secret');
    expect((await visitor.submit(question, question)).headers.get('location')).toBe(
      `${pageOf(id)}?notice=old_secret_ended`,
    );
    expect([await statusOf(old), await statusOf(newest)]).toEqual([401, 200]);
    expect(readAudit(server.auditLines).filter(({ by }) => by === 'user')).toMatchObject([
      { event: 'token.rotated', by_user_id: world.ownerId, token_id: id },
      { event: 'token.rotated', token_id: id },
      { event: 'token.old_secret_ended', token_id: id },
    ]);
    expect(server.logLines.join('') + server.auditLines.join('')).not.toContain(secretOf(newest));
  });

  test("an admin cannot rotate an owner's token, because the new secret would let the admin act as the owner", async () => {
    const { id, token } = await issueToken(server, world, 'read');
    const [row] = await server.sql('select secret_hash from api_tokens where id = $1', [id]);
    const admin = await signedIn(server, await createMember(server, world.accountId, 'admin'));
    const answer = await admin.submit(pageOf(id, '/rotate'), pageOf(id, '/rotate'), { overlap_hours: '0' });
    expect([answer.status, answer.html.includes('Only an owner can rotate the token of an owner')]).toEqual([
      403,
      true,
    ]);
    expect(await server.sql('select secret_hash from api_tokens where id = $1', [id])).toEqual([row]);
    expect(await statusOf(token)).toBe(200);
  });

  test('the form that rotates a token is refused if the token was rotated after the form was opened', async () => {
    const { id, token: old } = await issueToken(server, world, 'read');
    const fields = hiddenFields((await visitor.get(pageOf(id, '/rotate'))).html, pageOf(id, '/rotate'));
    const fresh = plaintextIn((await rotate(id, { overlap_hours: '24' })).html);
    const late = await visitor.post(pageOf(id, '/rotate'), { ...fields, overlap_hours: '24' });
    expect([late.status, late.html.includes('still works: end it first')]).toEqual([409, true]);
    expect([await statusOf(old), await statusOf(fresh)]).toEqual([200, 200]);
  });

  test('a rotation keeps the expiry of a token unless the person enters another expiry date in the form', async () => {
    const expiry = async (id: number) =>
      (await server.sql<{ at: Date }>('select expires_at as at from api_tokens where id = $1', [id]))[0]?.at;
    const { id } = await issueToken(server, world, 'read', { expiresAt: new Date('2099-03-14T12:30:00Z') });
    const page = await visitor.get(pageOf(id, '/rotate'));
    expect(page.html).toMatch(/name="expires_on"[^>]+value="2099-03-14"/);
    await rotate(id, { overlap_hours: '0', expires_on: '2099-03-14' });
    expect(new Date((await expiry(id)) ?? '').toISOString()).toBe('2099-03-14T12:30:00.000Z');
    await rotate(id, { overlap_hours: '0', expires_on: '2099-12-31' });
    expect(new Date((await expiry(id)) ?? '').toISOString()).toBe('2100-01-01T00:00:00.000Z');
    for (const [field, value, why] of [
      ['expires_on', '2020-01-01', 'expired already'],
      ['overlap_hours', '169', 'from 0 to 168'],
      ['overlap_hours', 'soon', 'from 0 to 168'],
    ] as const) {
      const refused = await rotate(id, { overlap_hours: '0', expires_on: '', [field]: value });
      expect([refused.status, refused.html.includes(why)]).toEqual([422, true]);
    }
    expect(new Date((await expiry(id)) ?? '').toISOString()).toBe('2100-01-01T00:00:00.000Z');
  });

  test('the forms for tokens accept valid rate limits and allowed networks and refuse invalid values, and the audit log names the changed fields', async () => {
    const fields = { read_limit: '7', write_limit: '', allowed_networks: '127.0.0.0/8\r\n 2001:db8::/32' };
    const made = plaintextIn((await create({ name: 'Bot', [level()]: 'read', ...fields })).html);
    const { body } = await request(server, 'GET /api/v1/token', { token: made });
    expect(body.buckets['apitoken:read'].limit).toBe(7);
    const path = pageOf(body.id);
    const page = await visitor.get(path);
    for (const text of ['7 reads a minute', '127.0.0.0/8, 2001:db8::/32', 'value="7"'])
      expect(page.html).toContain(text);

    const stored = () =>
      server.sql('select read_limit, write_limit, allowed_networks from api_tokens where id = $1', [body.id]);
    const save = (given: Record<string, string>) => visitor.submit(path, path, { ...fields, ...given });
    const before = await stored();
    for (const [given, why] of [
      [{ read_limit: '121' }, 'from 1 to 120'],
      [{ write_limit: '1e1' }, 'from 1 to 20'],
      [{ allowed_networks: '10.0.0.1/8' }, '10.0.0.1/8&quot; is not a network'],
    ] as const) {
      const refused = await save(given);
      expect([refused.status, refused.html.includes(why)]).toEqual([422, true]);
      expect(await stored()).toEqual(before);
    }
    server.auditLines.length = 0;
    expect((await save({ read_limit: '', write_limit: '3', allowed_networks: '' })).status).toBe(303);
    expect(await stored()).toEqual([{ read_limit: null, write_limit: 3, allowed_networks: [] }]);
    expect(readAudit(server.auditLines)).toMatchObject([
      { event: 'token.updated', token_id: body.id, changed: ['read_limit', 'write_limit', 'allowed_networks'] },
    ]);
  });

  test("only the owners and admins of a token's account can open the pages of the token and rotate the token", async () => {
    const { id, token } = await issueToken(server, world, 'read');
    const moderator = await signedIn(server, await createMember(server, world.accountId, 'moderator'));
    const stranger = await signedIn(server, (await createWorld(server)).ownerId);
    for (const [who, status] of [
      [moderator, 403],
      [stranger, 404],
    ] as const) {
      for (const path of [pageOf(id), pageOf(id, '/rotate'), pageOf(id, '/end-old-secret')]) {
        expect([path, (await who.get(path)).status]).toEqual([path, status]);
      }
    }
    const form = hiddenFields((await stranger.get('/admin/tokens')).html, '/admin/tokens');
    const forged = await stranger.post(pageOf(id, '/rotate'), { ...form, overlap_hours: '0' });
    expect([forged.status, await statusOf(token)]).toEqual([404, 200]);
  });
});
