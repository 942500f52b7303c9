import { beforeEach, describe, expect, test } from 'vitest';
import { updateAccount } from '../../server/domain/accounts/edit-account.ts';
import { createProvider } from '../../server/domain/identities/providers.ts';
import { enableSecondFactor } from '../../server/domain/second-factor/second-factor.ts';
import { buildSecretBox } from '../../server/domain/secret-box.ts';
import { updateUser } from '../../server/domain/users/edit-user.ts';
import { Account } from '../../server/entities/account.ts';
import { User } from '../../server/entities/user.ts';
import { hiddenFields, signedIn, Visitor } from '../admin/visitor.ts';
import { readAudit } from '../helpers/audit.ts';
import { testClock } from '../helpers/clock.ts';
import { createBoard, createMember, createWorld, insertIdea, type World } from '../helpers/fixtures.ts';
import { closeAfterAll } from '../helpers/for-file.ts';
import { runJobs, waitingJobs } from '../helpers/jobs.ts';
import { type OpenidProvider, passThrough, startOpenidProvider } from '../helpers/openid-provider.ts';
import { startServer, startServerForFile, testAppKey } from '../helpers/server.ts';
import { startSmtpReceiver } from '../helpers/smtp-receiver.ts';
import { administer } from '../helpers/webhooks.ts';
import { tokenIn } from './mailed-links.ts';

const start = new Date();
const clock = testClock(start);
const baseUrl = 'http://ideas.example.com';

let provider: OpenidProvider;
let world: World;
let key: string;
let people = 0;

const mail = closeAfterAll(await startSmtpReceiver());
/** `first` is the OpenID provider of most tests. `provider` is the OpenID provider that currently signs people in. */
const first = closeAfterAll(await startOpenidProvider());
provider = first;
const environment = {
  SMTP_URL: mail.url,
  BASE_URL: baseUrl,
  WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
  RATE_LIMIT_SIGN_IN_IP: '1000000',
  RATE_LIMIT_PASSWORD_LINK: '1000000',
};
const server = await startServerForFile({ clock, environment });
beforeEach(async () => {
  clock.set(start);
  world = await createWorld(server, { isPublic: true });
  key = await addProvider(world);
  Object.assign(provider, { changeIdToken: undefined, answer: undefined });
  provider.person = newPerson();
  mail.received.length = 0;
  server.auditLines.length = 0;
});

function newPerson() {
  const sub = `person-${++people}`;
  return { sub, email: `${sub}@partner.example`, email_verified: true, name: 'Grace Hopper' };
}

async function addProvider({ accountId }: World, admitsEverybody = true) {
  const { issuer, clientId, clientSecret } = provider;
  const fields = { accountId, issuer, clientId, clientSecret, name: 'Acme', admitsEverybody };
  const made = await administer(server, admin => createProvider(admin, buildSecretBox(testAppKey), fields));
  return made.key;
}

const boardPath = () => `/b/${world.boardSlug}`;
const pathOf = (url: string) => url.slice(baseUrl.length);

/**
 * Begins a sign-in on the sign-in page of the board, and signs in at the OpenID provider. Returns the path of the
 * callback.
 */
async function reachCallback(visitor: Visitor, next = boardPath()): Promise<string> {
  const parameters = new URLSearchParams({ next });
  // The sign-in page redirects a person who is already signed in. Such a person starts on the page of the provider.
  const from = visitor.cookies.size === 0 ? '/sign-in' : `/sign-in/provider/${key}`;
  const page = await visitor.submit(`${from}?${parameters}`, `/sign-in/provider/${key}`);
  expect(page.status).toBe(200);
  const [, href = ''] = /<meta http-equiv="refresh" content="0; url=([^"]+)">/.exec(page.html) ?? [];
  const end = await passThrough(href.replaceAll('&amp;', '&'), provider.issuer);
  expect(end.startsWith(`${baseUrl}/sign-in/provider/callback/${world.accountId}?`)).toBe(true);
  return pathOf(end);
}

async function signInWith(visitor = new Visitor(server)) {
  return visitor.get(await reachCallback(visitor));
}

async function memberSignedIn() {
  const visitor = new Visitor(server);
  expect(await signInWith(visitor)).toMatchObject({ status: 303, location: boardPath() });
  return visitor;
}

const membersOf = ({ accountId }: World) =>
  server.sql<{ user_id: number; role: string; name: string }>(
    'select m.user_id, m.role, u.name from memberships m join users u on u.id = m.user_id where m.account_id = $1 order by u.id',
    [accountId],
  );
const countUsers = async () => (await server.sql('select id from users')).length;
const events = () => readAudit(server.auditLines).map(({ event, reason, method }) => [event, reason ?? method]);

async function useAddressOf(userId: number) {
  const [user] = await server.sql<{ email: string }>('select email from users where id = $1', [userId]);
  const email = user?.email ?? '';
  provider.person = { ...newPerson(), email };
  return email;
}

describe('signing in with a provider', () => {
  test('a new person can sign in through an identity provider from the sign-in page of a public board, and becomes a member', async () => {
    const visitor = await memberSignedIn();
    const page = await visitor.get(boardPath());
    expect(page.html).toContain('<bdi>Grace Hopper</bdi>');
    expect((await membersOf(world)).slice(1)).toMatchObject([{ role: 'member', name: 'Grace Hopper' }]);
    const submitted = await visitor.submit(`${boardPath()}/new`, `${boardPath()}/new`, {
      title: 'Dark mode',
      body: 'Please',
    });
    expect(submitted.status).toBe(303);
    expect(events()).toEqual([
      ['user.created', undefined],
      ['identity.created', undefined],
      ['member.added', undefined],
      ['member.joined', undefined],
      ['sign_in.succeeded', 'provider'],
    ]);
    expect(readAudit(server.auditLines).at(-1)).toMatchObject({ account_id: world.accountId });
  });

  test('people can sign in with an identity provider that returns the e-mail address only at its userinfo endpoint', () =>
    withAnotherProvider(
      async another => {
        await memberSignedIn();
        expect(another.requests).toContain('/me');
        const stored = await server.sql('select address from identities where subject = $1', [another.person?.sub]);
        expect(stored).toEqual([{ address: another.person?.email }]);
      },
      { hasLeanTokens: true },
    ));

  test('the sign-in pages of a private board and of a missing board show no buttons of identity providers', async () => {
    const secret = await createBoard(server, world.accountId, { isPublic: false });
    for (const slug of [secret.slug, 'no-such-board']) {
      const page = await new Visitor(server).get(`/sign-in?next=/b/${slug}`);
      expect([page.status, page.html.includes('/sign-in/provider/')]).toEqual([200, false]);
    }
  });

  test('a sign-in with an identity provider starts only after a form of this server is submitted, and a GET request shows this form', async () => {
    const visitor = new Visitor(server);
    const page = await visitor.get(`/sign-in/provider/${key}?next=${boardPath()}`);
    expect(hiddenFields(page.html, `/sign-in/provider/${key}`)).toEqual({ next: boardPath() });
    const forged = await visitor.post(`/sign-in/provider/${key}`, {}, { headers: { origin: 'https://evil.example' } });
    expect(forged.status).toBe(403);
    expect(visitor.cookies.size).toBe(0);
    expect((await visitor.get('/sign-in/provider/0123456789abcdef0123456789abcdef')).status).toBe(404);
  });

  test("an invitation-only account refuses new people who sign in with an identity provider, unless the provider's setting lets everybody join", async () => {
    world = await createWorld(server, { isPublic: true });
    key = await addProvider(world, false);
    const before = await countUsers();
    const refused = await signInWith();
    expect([refused.status, refused.html.includes('cannot join it this way')]).toEqual([403, true]);
    expect(await countUsers()).toBe(before);
    expect(events().at(-1)).toEqual(['sign_in.failed', 'may_not_join']);
  });

  test('a blocked person who signs in with an identity provider reads which account blocks them and whom to ask, and gets no session', async () => {
    await memberSignedIn();
    await server.sql(
      'insert into user_blocks (account_id, user_id) select account_id, user_id from identities where account_id = $1',
      [world.accountId],
    );
    const visitor = new Visitor(server);
    const refused = await signInWith(visitor);
    expect([refused.status, refused.html.includes('You cannot sign in to An account. The account blocks you')]).toEqual(
      [403, true],
    );
    expect(refused.html).toContain('Ask an owner, admin or moderator of the account.');
    expect([...visitor.cookies.keys()].some(name => name.endsWith('_session'))).toBe(false);
    expect(events().at(-1)).toEqual(['sign_in.failed', 'blocked']);
  });
});

describe('failures of a provider', () => {
  const refused = async (visitor = new Visitor(server)) => {
    const before = await countUsers();
    const page = await signInWith(visitor);
    expect(await countUsers()).toBe(before);
    expect(visitor.cookies.size).toBe(0);
    expect(page.html).not.toMatch(/OAUTH|nonce|issuer|id_token/i);
    return [page.status, events().at(-1)];
  };
  const invalid = [400, ['sign_in.failed', 'provider']];

  test.each([
    ['of another issuer', { iss: 'http://127.0.0.1:9' }],
    ['for another client', { aud: 'another-client' }],
    ['with another nonce', { nonce: 'another-nonce' }],
    ['that has expired', { exp: Math.floor(Date.now() / 1000) - 3_600 }],
    [
      'that was issued in the future',
      { iat: Math.floor(Date.now() / 1000) + 3_600, nbf: Math.floor(Date.now() / 1000) + 3_600 },
    ],
    ['with a subject of 256 characters', { sub: 'x'.repeat(256) }],
  ])("an identity provider's ID token %s signs nobody in", async (_, changes) => {
    provider.changeIdToken = claims => ({ ...claims, ...changes });
    expect(await refused()).toEqual(invalid);
  });

  test("an identity provider's ID token with a signature of a wrong key signs nobody in", () =>
    withAnotherProvider(async another => {
      another.answer = (request, response) => {
        if (request.url !== '/jwks') return false;
        void fetch(`${first.issuer}/jwks`).then(async answer => {
          response.setHeader('content-type', 'application/json');
          response.end(await answer.text());
        });
        return true;
      };
      expect(await refused()).toEqual(invalid);
    }));

  test('a sign-in with an identity provider is refused if the provider has not verified the e-mail address', async () => {
    provider.person = { ...newPerson(), email_verified: false };
    expect(await refused()).toEqual([403, ['sign_in.failed', 'unverified_address']]);
  });

  test('a person who cancels the sign-in at an identity provider is not signed in', async () => {
    provider.person = null;
    expect(await refused()).toEqual([403, ['sign_in.failed', 'provider']]);
  });

  test("an identity provider's answer signs nobody in if it arrives ten minutes or more after the start of the sign-in", async () => {
    const visitor = new Visitor(server);
    const callback = await reachCallback(visitor);
    clock.advance(10 * 60_000);
    expect((await visitor.get(callback)).status).toBe(400);
  });

  test("an identity provider's answer signs nobody in if it arrives from another browser or has a changed state or account", async () => {
    const visitor = new Visitor(server);
    const callback = await reachCallback(visitor);
    const cookies = [...visitor.cookies];
    const other = await createWorld(server);
    await addProvider(other);
    const paths = [
      callback.replace(/state=[^&]+/, `state=${'x'.repeat(43)}`),
      callback.replace(`/callback/${world.accountId}`, `/callback/${other.accountId}`),
    ];
    expect((await new Visitor(server).get(callback)).status).toBe(400);
    for (const path of paths) {
      for (const [name, value] of cookies) visitor.cookies.set(name, value);
      expect((await visitor.get(path)).status).toBe(400);
    }
  });

  test("if an identity provider's answer arrives several times, even in parallel, the person is signed in once, and only one user is created", async () => {
    const visitor = new Visitor(server);
    const callback = await reachCallback(visitor);
    const browsers = [1, 2, 3].map(() => {
      const copy = new Visitor(server);
      for (const [name, value] of visitor.cookies) copy.cookies.set(name, value);
      return copy;
    });
    const before = await countUsers();
    provider.requests.length = 0;
    const answers = await Promise.all(browsers.map(browser => browser.get(callback)));
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 400, 400]);
    for (const [name, value] of visitor.cookies) browsers[0]?.cookies.set(name, value);
    expect((await browsers[0]?.get(callback))?.status).toBe(400);
    expect(provider.requests.filter(path => path === '/token')).toHaveLength(1);
    expect(await countUsers()).toBe(before + 1);
  });

  test('if a new person signs in with an identity provider in two browsers at the same time, only one user is created', async () => {
    const visitors = [new Visitor(server), new Visitor(server)];
    const callbacks: [Visitor, string][] = [];
    for (const visitor of visitors) callbacks.push([visitor, await reachCallback(visitor)]);
    const before = await countUsers();
    const answers = await Promise.all(callbacks.map(([visitor, path]) => visitor.get(path)));
    expect(answers.map(({ status }) => status)).toEqual([303, 303]);
    expect(await countUsers()).toBe(before + 1);
  });

  test('if an identity provider does not answer, the sign-in page reports the problem, and the other ways to sign in still work', () =>
    withAnotherProvider(async another => {
      another.answer = (_request, response) => {
        response.destroy();
        return true;
      };
      const visitor = new Visitor(server);
      const page = await visitor.submit(`/sign-in?next=${boardPath()}`, `/sign-in/provider/${key}`);
      expect([page.status, page.html.includes('Acme does not answer')]).toEqual([503, true]);
      const owner = await signedIn(server, world.ownerId);
      expect((await owner.get('/admin')).status).toBe(200);
    }));

  test('the server refuses an identity provider with a private IP address, unless WEBHOOK_ALLOWED_CIDRS allows this address', async () => {
    const closed = await startServer({ on: server, clock, environment: { BASE_URL: baseUrl } });
    try {
      const before = provider.requests.length;
      const page = await new Visitor(closed).submit(`/sign-in?next=${boardPath()}`, `/sign-in/provider/${key}`);
      expect([page.status, provider.requests.length - before]).toEqual([503, 0]);
    } finally {
      await closed.close();
    }
  });
});

/** Calls `work` with a new provider of another account. The server has not contacted this provider yet. */
async function withAnotherProvider(
  work: (another: OpenidProvider) => Promise<void>,
  options?: { hasLeanTokens: boolean },
) {
  provider = await startOpenidProvider(options);
  try {
    provider.person = newPerson();
    world = await createWorld(server, { isPublic: true });
    key = await addProvider(world);
    await work(provider);
  } finally {
    await provider.close();
    provider = first;
  }
}

describe('an identity with the address of an existing user', () => {
  test("if an identity provider reports an existing user's e-mail address, the sign-in succeeds only after a confirmation through a mailed link", async () => {
    const userId = await createMember(server, world.accountId, 'moderator');
    const email = await useAddressOf(userId);
    const visitor = new Visitor(server);
    const asked = await signInWith(visitor);
    expect([asked.status, asked.html.includes(email), visitor.cookies.size]).toEqual([200, true, 0]);
    const sent = await visitor.post('/sign-in/provider/confirm', hiddenFields(asked.html, '/sign-in/provider/confirm'));
    expect(sent.html).toContain('We sent a link to');
    await runJobs(server);
    expect(mail.received).toMatchObject([{ to: email }]);
    const link = `/sign-in/link?token=${tokenIn(mail.received[0]?.mail.text)}`;
    const followed = await visitor.submit(link, '/sign-in/link');
    expect(followed.location).toMatch(/^\/admin\/profile\/connections\/connect\?token=/);
    const connectPath = '/admin/profile/connections/connect';
    const connected = await visitor.submit(followed.location ?? '', connectPath);
    expect(connected.location).toBe(boardPath());
    const other = await memberSignedIn();
    expect((await other.get('/admin')).html).toContain('moderator');
    expect((await server.sql('select id from identities where user_id = $1', [userId])).length).toBe(1);
  });

  test("the page that offers a link to confirm an identity does not show a user's new e-mail address, and mails no link to it", async () => {
    const userId = await createMember(server, world.accountId, 'member');
    await useAddressOf(userId);
    const visitor = new Visitor(server);
    const asked = await signInWith(visitor);
    await administer(server, async admin =>
      updateUser(admin, await admin.em.findOneOrFail(User, userId), { email: `moved-${userId}@example.net` }),
    );
    const sent = await visitor.post('/sign-in/provider/confirm', hiddenFields(asked.html, '/sign-in/provider/confirm'));
    expect([sent.status, sent.html.includes('moved-')]).toEqual([400, false]);
    expect(await waitingJobs(server)).toEqual([]);
  });

  test('a signed-in user can confirm the connection to an identity provider with a button, but another user cannot use this confirmation', async () => {
    const userId = await createMember(server, world.accountId, 'member');
    await useAddressOf(userId);
    const visitor = await signedIn(server, userId);
    const asked = await signInWith(visitor);
    expect(asked.location).toMatch(/^\/admin\/profile\/connections\/connect\?/);
    const page = await visitor.get(asked.location ?? '');
    expect(page.html).toContain('An account');
    const stranger = await signedIn(server, world.ownerId);
    expect((await stranger.get(asked.location ?? '')).status).toBe(403);
    const path = '/admin/profile/connections/connect';
    expect((await visitor.submit(asked.location ?? '', path)).status).toBe(303);
    expect((await memberSignedIn()).cookies.size).toBe(1);
    const profile = await visitor.get('/admin/profile/connections');
    const [, disconnect = ''] = /href="([^"]+\/disconnect)"/.exec(profile.html) ?? [];
    expect((await visitor.submit(disconnect, disconnect)).status).toBe(303);
    expect((await signInWith()).status).toBe(200);
  });

  test("a user with two-factor sign-in who signs in with an account's identity provider must enter a code, and can open only this account", async () => {
    const { user, secretCode } = await userWithSecondFactor();
    const visitor = new Visitor(server);
    const asked = await signInWith(visitor);
    expect(asked.location).toMatch(/^\/sign-in\/code/);
    const done = await visitor.submit(asked.location ?? '', '/sign-in/code', { code: secretCode });
    expect(done.location).toBe(boardPath());
    expect(await server.sql('select account_id, has_second_factor from sessions where user_id = $1', [user])).toEqual([
      { account_id: world.accountId, has_second_factor: true },
    ]);
    expect(events().at(-1)).toEqual(['sign_in.succeeded', 'provider']);
  });

  async function userWithSecondFactor() {
    const user = await createMember(server, world.accountId, 'member');
    await useAddressOf(user);
    const browser = await signedIn(server, user);
    const asked = await signInWith(browser);
    await browser.submit(asked.location ?? '', '/admin/profile/connections/connect');
    const codes = await turnOnSecondFactor(user);
    await server.sql('delete from sessions where user_id = $1', [user]);
    return { user, secretCode: codes[0] ?? '' };
  }
});

async function turnOnSecondFactor(userId: number): Promise<string[]> {
  const { TOTP } = await import('otpauth');
  const { buildSecondFactorKeys } = await import('../../server/domain/second-factor/second-factor-keys.ts');
  const { makeTotpSecret } = await import('../../server/domain/second-factor/totp.ts');
  const secret = makeTotpSecret();
  return administer(server, admin => {
    const code = new TOTP({ secret }).generate({ timestamp: admin.now.getTime() });
    const session = { userId, tokenHash: Buffer.alloc(32) };
    return enableSecondFactor(admin, buildSecondFactorKeys(testAppKey), session, { secret, code });
  });
}

/** Makes a user follow an idea of an account, and creates a notification for the user in the account. */
async function followSomething(of: World, userId: number, title: string) {
  const ideaId = await insertIdea(server, of, { title });
  await server.sql('insert into followers (account_id, idea_id, user_id) values ($1, $2, $3)', [
    of.accountId,
    ideaId,
    userId,
  ]);
  await server.sql(
    `with endpoint as (
      insert into webhook_endpoints (account_id, url, secret) values ($1, 'https://example.com', '') returning id
    )
    insert into notifications (account_id, user_id, endpoint_id, kind) select $1, $2, id, 'webhook.disabled' from endpoint`,
    [of.accountId, userId],
  );
}

describe('a session of a provider', () => {
  test("a session from a sign-in with an identity provider cannot open other accounts, the operator's panel or the person's profile pages", async () => {
    const userId = await createMember(server, world.accountId, 'owner');
    const other = await createWorld(server);
    await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'owner')`, [
      other.accountId,
      userId,
    ]);
    await server.sql('update users set is_operator = true where id = $1', [userId]);
    await useAddressOf(userId);
    const browser = await signedIn(server, userId);
    const asked = await signInWith(browser);
    await browser.submit(asked.location ?? '', '/admin/profile/connections/connect');

    const visitor = await memberSignedIn();
    const [slug] = await server.sql<{ slug: string }>('select slug from accounts where id = $1', [other.accountId]);
    expect((await visitor.get('/admin/account')).status).toBe(200);
    expect((await visitor.get(`/admin/account?account=${slug?.slug}`)).status).toBe(404);
    expect((await visitor.get(`/b/${other.boardSlug}`)).status).toBe(404);
    expect((await visitor.get('/operator')).status).toBe(404);
    for (const path of [
      '',
      '/picture',
      '/second-factor',
      '/export',
      '/delete',
      '/connections',
      '/connections/connect',
    ]) {
      expect([path, (await visitor.get(`/admin/profile${path}`)).status]).toEqual([path, 403]);
    }
    const page = await visitor.get('/admin/profile/notifications');
    const [, form_token = ''] = /name="form_token" value="([^"]+)"/.exec(page.html) ?? [];
    for (const path of [
      '/admin/profile',
      '/admin/profile/password',
      '/admin/profile/mentions',
      '/admin/profile/email',
      '/admin/sign-out-everywhere',
    ]) {
      expect([path, (await visitor.post(path, { form_token })).status]).toEqual([path, 403]);
    }
    expect((await visitor.get('/sign-in?next=/admin/profile')).status).toBe(200);
    expect((await browser.get('/admin/profile')).status).toBe(200);
  });

  test('a session from a sign-in with an identity provider shows no notifications and no followed ideas from other accounts', async () => {
    const userId = await createMember(server, world.accountId, 'member');
    const other = await createWorld(server);
    // The test looks for the name or the slug of the other account. A notification shows the name of its account, or
    // the slug if the session has no access to the account.
    await server.sql(`update accounts set name = 'Elsewhere', slug = 'elsewhere' where id = $1`, [other.accountId]);
    await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'admin')`, [
      other.accountId,
      userId,
    ]);
    await followSomething(other, userId, 'An idea elsewhere');
    await useAddressOf(userId);
    const ordinary = await signedIn(server, userId);
    const asked = await signInWith(ordinary);
    await ordinary.submit(asked.location ?? '', '/admin/profile/connections/connect');
    const bound = await memberSignedIn();
    const shownTo = async (visitor: Visitor) => [
      (await visitor.get('/admin/profile/following')).html.includes('An idea elsewhere'),
      /elsewhere/i.test((await visitor.get('/admin/profile/notifications')).html),
    ];
    expect([await shownTo(bound), await shownTo(ordinary)]).toEqual([
      [false, false],
      [true, true],
    ]);
    await server.sql('update accounts set requires_provider = true where id = $1', [other.accountId]);
    expect(await shownTo(ordinary)).toEqual([false, false]);
  });

  test('a person who can sign in only with an identity provider can open the profile, and can download personal data right after a sign-in', async () => {
    const visitor = await memberSignedIn();
    const profile = await visitor.get('/admin/profile');
    expect([profile.status, profile.html.includes('/admin/profile/password')]).toEqual([200, false]);
    expect(profile.html).not.toContain('identity.invalid');
    expect((await visitor.submit('/admin/profile/export', '/admin/profile/export')).status).toBe(200);
    clock.advance(11 * 60_000);
    expect((await visitor.submit('/admin/profile/export', '/admin/profile/export')).status).toBe(422);
  });

  test('if an account requires sign-in with its identity provider, other sign-ins open the account only for owners', async () => {
    const member = await createMember(server, world.accountId, 'member');
    const ordinary = await signedIn(server, member);
    await administer(server, async admin =>
      updateAccount(admin, await admin.em.findOneOrFail(Account, world.accountId), { requiresProvider: true }),
    );
    const home = await ordinary.get('/admin');
    expect([home.html.includes(`/sign-in/provider/${key}`), home.html.includes('admin/members/leave')]).toEqual([
      true,
      false,
    ]);
    expect((await ordinary.get(boardPath())).html).toContain(`/sign-in/provider/${key}`);
    expect((await ordinary.get(`${boardPath()}/new`)).status).toBe(403);
    const visitor = await memberSignedIn();
    expect((await visitor.get(`${boardPath()}/new`)).status).toBe(200);
    const owner = await signedIn(server, world.ownerId);
    expect((await owner.get('/admin/account')).status).toBe(200);
  });
});
