import { beforeEach, describe, expect, test } from 'vitest';
import { updateAccount } from '../../server/domain/accounts/edit-account.ts';
import { Account } from '../../server/entities/account.ts';
import { turnOn } from '../admin/authenticator.ts';
import { emailOf, givePassword, hiddenFields, signedIn, Visitor, withoutTokens } from '../admin/visitor.ts';
import { cliOn } from '../cli/run-cli.ts';
import { readAudit } from '../helpers/audit.ts';
import { startOfHour, testClock } from '../helpers/clock.ts';
import { createMember, createUser, createWorld, insertIdea, type World } from '../helpers/fixtures.ts';
import { closeAfterAll } from '../helpers/for-file.ts';
import { runJobs } from '../helpers/jobs.ts';
import { startServerForFile, startServerForTest } from '../helpers/server.ts';
import { startSmtpReceiver } from '../helpers/smtp-receiver.ts';
import { administer } from '../helpers/webhooks.ts';
import { askForLink, follow, mailedToken, tokenIn } from './mailed-links.ts';

const start = startOfHour();
const clock = testClock(start);

let world: World;

const mail = closeAfterAll(await startSmtpReceiver());
const environment = {
  SMTP_URL: mail.url,
  BASE_URL: 'http://ideas.example.com',
  RATE_LIMIT_SIGN_IN_IP: '1000000',
  RATE_LIMIT_PASSWORD_LINK: '1000000',
};
const server = await startServerForFile({ clock, environment });
beforeEach(async () => {
  clock.set(start);
  world = await createWorld(server, { isPublic: true });
  mail.received.length = 0;
  server.auditLines.length = 0;
});

let count = 0;
const newAddress = (domain = 'example.com') => `grace-${++count}@${domain}`;
const boardPath = (of = world) => `/b/${of.boardSlug}`;
const letJoin = (joinRule: string, joinDomains: string[] = [], { accountId } = world) =>
  administer(server, async admin =>
    updateAccount(admin, await admin.em.findOneOrFail(Account, accountId), { joinRule, joinDomains }),
  );
const linkFor = (email: string, next = boardPath()) => mailedToken({ server, clock, mail }, email, { next });
const membersWith = (email: string) =>
  server.sql<{ account_id: number; role: string; name: string }>(
    `select m.account_id, m.role, u.name from memberships m join users u on u.id = m.user_id
    where u.email = $1 order by m.account_id`,
    [email],
  );
const asMember = (name: string, { accountId } = world) => ({ account_id: accountId, role: 'member', name });

describe('signing up from a board', () => {
  test('on a public board of an account that everybody may join, a new person signs up through a mailed link and becomes a member', async () => {
    await letJoin('everybody');
    server.auditLines.length = 0;
    const email = newAddress();
    const token = await linkFor(email, `${boardPath()}?sort=top`);
    expect(mail.received).toMatchObject([{ to: email, mail: { subject: 'Join An account on Idea-Board' } }]);
    const visitor = new Visitor(server);
    const page = await visitor.get(`/sign-in/link?token=${token}`);
    expect([page.html.includes(email), page.html.includes('An account')]).toEqual([true, true]);
    const answer = await visitor.submit(`/sign-in/link?token=${token}`, '/sign-in/link', { name: ' Grace ' });
    expect([answer.status, answer.location]).toEqual([303, `${boardPath()}?sort=top`]);
    expect((await visitor.get(answer.location ?? '')).html).toContain('<bdi>Grace</bdi>');
    expect(await membersWith(email)).toEqual([asMember('Grace')]);
    const [user] = await server.sql<{ id: number; is_confirmed: boolean }>(
      'select id, confirmed_email = canonical_email as is_confirmed from users where email = $1',
      [email],
    );
    expect(user?.is_confirmed).toBe(true);
    expect(readAudit(server.auditLines)).toMatchObject([
      { event: 'sign_in.link_requested' },
      { event: 'user.created', by: 'server', user_id: user?.id },
      { event: 'member.added', by: 'user', by_user_id: user?.id, account_id: world.accountId, role: 'member' },
      { event: 'member.joined', by: 'user', by_user_id: user?.id, account_id: world.accountId, user_id: user?.id },
      { event: 'sign_in.succeeded', user_id: user?.id, method: 'link' },
    ]);
    expect((await follow(new Visitor(server), token, 'Eve')).status).toBe(404);
  });

  test('a new person who signs up in a German browser gets the mail in German, and German becomes the language of the new profile', async () => {
    await letJoin('everybody');
    const email = newAddress();
    const visitor = new Visitor(server, { 'accept-language': 'de-CH, en;q=0.5' });
    await askForLink({ server, clock }, email, { next: boardPath(), visitor });
    await runJobs(server);
    expect(mail.received).toMatchObject([{ to: email, mail: { subject: 'An account auf Idea-Board beitreten' } }]);
    expect((await follow(visitor, tokenIn(mail.received[0]?.mail.text), 'Grace')).status).toBe(303);
    expect(await server.sql('select language from users where email = $1', [email])).toEqual([{ language: 'de' }]);
  });

  test('the server sends no sign-up mail to an unknown e-mail address if the account is invitation-only or the board does not exist', async () => {
    expect(await linkFor(newAddress())).toBeUndefined();
    await letJoin('everybody');
    for (const next of ['/admin', '/b/no-such-board', `/admin${boardPath()}`]) {
      expect([next, await linkFor(newAddress(), next)]).toEqual([next, undefined]);
    }
    expect(mail.received).toEqual([]);
  });

  test('the server mails a sign-up link to an address with an allowed domain, in any spelling, but not to an address with a similar domain', async () => {
    await letJoin('domains', ['Example.ORG', '@bücher.example']);
    for (const domain of [
      'example.org',
      'EXAMPLE.org',
      'example.org.',
      'ｅｘａｍｐｌｅ.org',
      'bücher.example',
      'xn--bcher-kva.example',
      'BÜCHER.example',
    ]) {
      expect([domain, await linkFor(newAddress(domain))]).toEqual([domain, expect.any(String)]);
    }
    const others = [
      'example.com',
      'mail.example.org',
      'notexample.org',
      'example.org.evil.example',
      'example.or',
      // The first letter of this domain is Cyrillic, although it looks like the Latin letter "e".
      'еxample.org',
      'bucher.example',
      'exаmple.org',
      'example.org@evil.example',
    ];
    for (const domain of others) {
      mail.received.length = 0;
      const { status } = await askOn(boardPath(), newAddress(domain));
      expect([domain, [200, 422].includes(status)]).toEqual([domain, true]);
      await runJobs(server);
      expect([domain, mail.received]).toEqual([domain, []]);
    }
  });

  async function askOn(next: string, email: string) {
    const visitor = new Visitor(server);
    const { html } = await visitor.get(`/sign-in?next=${encodeURIComponent(next)}`);
    clock.advance(2_000);
    return visitor.post('/sign-in/mail-link', { ...hiddenFields(html, '/sign-in'), email });
  }

  test('if a person enters an e-mail address with full-width letters in the domain, the server mails the sign-up link to the ordinary domain', async () => {
    await letJoin('domains', ['example.org']);
    await linkFor('someone@ｅｘａｍｐｌｅ.org');
    expect(mail.received.map(({ to }) => to)).toEqual(['someone@example.org']);
  });

  test('a request to join a private board gets the same answer as for a missing board, and unknown e-mail addresses get no sign-up link', async () => {
    await letJoin('everybody');
    await server.sql('update boards set is_public = false where account_id = $1', [world.accountId]);
    expect(await linkFor(newAddress())).toBeUndefined();
    const visitor = await signedIn(server, await createUser(server));
    const token = { form_token: hiddenFields((await visitor.get('/admin')).html, '/admin/sign-out').form_token ?? '' };
    const missing = await visitor.post('/b/no-such-board/join', token);
    const hidden = await visitor.post(`${boardPath()}/join`, token);
    expect([hidden.status, withoutTokens(hidden.html)]).toEqual([404, withoutTokens(missing.html)]);
    expect((await visitor.get(boardPath())).status).toBe(404);
  });

  test('a new password invalidates the sign-up links that the same address got before the person signed up', async () => {
    await letJoin('everybody');
    const email = newAddress();
    const [used, unused] = [await linkFor(email), await linkFor(email)];
    expect((await follow(new Visitor(server), used, 'Grace')).status).toBe(303);
    const [user] = await server.sql<{ id: number }>('select id from users where email = $1', [email]);
    await givePassword(server, user?.id ?? 0);
    const thief = new Visitor(server);
    expect((await follow(thief, unused, 'Grace')).status).toBe(404);
    expect(thief.cookies.size).toBe(0);
    expect(await server.sql('select from sessions where user_id = $1', [user?.id])).toEqual([]);
    expect(await server.sql('select from sign_in_links where canonical_email = $1', [email])).toEqual([]);
  });

  test('a user with two-factor sign-in who follows a sign-up link becomes a member only after entering a code and pressing the join button', async () => {
    await letJoin('everybody');
    const email = newAddress();
    const token = await linkFor(email);
    const grace = await createUser(server);
    const person = await givePassword(server, grace);
    const elsewhere = new Visitor(server);
    await elsewhere.signIn(person.email, person.password);
    const app = await turnOn(elsewhere, person.password, clock);
    await server.sql('update users set email = $2, canonical_email = $2 where id = $1', [grace, email]);
    const visitor = new Visitor(server);
    expect((await follow(visitor, token)).location).toContain('/sign-in/code');
    expect(await membersWith(email)).toEqual([]);
    await visitor.submit('/sign-in/code', '/sign-in/code', { code: app.code() });
    expect((await visitor.submit(boardPath(), `${boardPath()}/join`)).status).toBe(303);
    expect(await membersWith(email)).toMatchObject([{ account_id: world.accountId }]);
  });

  test('a sign-up link stays valid if the server refuses the name that the person entered', async () => {
    await letJoin('everybody');
    const email = newAddress();
    const token = await linkFor(email);
    for (const name of ['', '  ', 'x'.repeat(101)]) {
      const { status, html } = await follow(new Visitor(server), token, name);
      expect([status, html.includes('The name')]).toEqual([422, true]);
    }
    expect(await server.sql('select from users where email = $1', [email])).toEqual([]);
    expect((await follow(new Visitor(server), token, 'Grace')).status).toBe(303);
  });

  test("a sign-up link becomes invalid when its e-mail address may no longer join the account, or when the account's erasure begins", async () => {
    await letJoin('everybody');
    const [first, second] = [await linkFor(newAddress()), await linkFor(newAddress())];
    await letJoin('domains', ['example.org']);
    expect((await follow(new Visitor(server), first, 'Grace')).status).toBe(404);
    await letJoin('everybody');
    await server.sql('update accounts set deletion_scheduled_at = now(), erasure_began_at = now() where id = $1', [
      world.accountId,
    ]);
    expect((await new Visitor(server).get(`/sign-in/link?token=${second}`)).status).toBe(404);
    expect((await follow(new Visitor(server), second, 'Grace')).status).toBe(404);
    expect(await linkFor(newAddress())).toBeUndefined();
  });

  test("a sign-up link leads to the account that mailed the link, even if another account's board has taken the slug since then", async () => {
    await letJoin('everybody');
    const email = newAddress();
    const token = await linkFor(email);
    const other = await createWorld(server, { isPublic: true });
    await letJoin('everybody', [], other);
    await server.sql(`update boards set slug = $2 where account_id = $1`, [world.accountId, `${world.boardSlug}-old`]);
    await server.sql(`update boards set slug = $2 where account_id = $1`, [other.accountId, world.boardSlug]);
    expect((await follow(new Visitor(server), token, 'Grace')).status).toBe(303);
    expect(await membersWith(email)).toEqual([asMember('Grace')]);
  });

  test('a person who signed up for one account cannot join an invitation-only account', async () => {
    await letJoin('everybody');
    const other = await createWorld(server, { isPublic: true });
    const visitor = new Visitor(server);
    await follow(visitor, await linkFor(newAddress()), 'Grace');
    expect((await visitor.get(boardPath(other))).html).not.toContain('/join"');
    const answer = await visitor.post(`${boardPath(other)}/join`, await tokenOf(visitor));
    expect([answer.status, answer.html.includes('without an invitation')]).toEqual([403, true]);
  });

  test('if one person uses the sign-up links of two accounts at the same time, the server creates one user, a member of both accounts', async () => {
    const other = await createWorld(server, { isPublic: true });
    for (const one of [world, other]) await letJoin('everybody', [], one);
    for (let round = 0; round < 3; round++) {
      const email = newAddress();
      const tokens = [await linkFor(email), await linkFor(email.toUpperCase(), boardPath(other))];
      const visitors = tokens.map(() => new Visitor(server));
      const answers = await Promise.all(tokens.map((token, n) => follow(visitors[n] as Visitor, token, 'Grace')));
      expect(answers.map(({ status }) => status)).toEqual([303, 303]);
      const users = await server.sql<{ email: string }>('select email from users where canonical_email = $1', [email]);
      expect(users).toHaveLength(1);
      expect(await membersWith(users[0]?.email ?? '')).toEqual([asMember('Grace'), asMember('Grace', other)]);
      for (const visitor of visitors) expect((await visitor.get('/admin/profile')).status).toBe(200);
    }
  });

  test('if two sign-up links of one account to one e-mail address are used at the same time, the account gets one new member', async () => {
    await letJoin('everybody');
    const email = newAddress();
    const tokens = [await linkFor(email), await linkFor(email)];
    const answers = await Promise.all(tokens.map(token => follow(new Visitor(server), token, 'Grace')));
    expect(answers.map(({ status }) => status)).toEqual([303, 303]);
    expect(await membersWith(email)).toEqual([asMember('Grace')]);
  });

  test('if a user with the same e-mail address is created after the sign-up mail, the link signs this user in without asking for a name', async () => {
    await letJoin('everybody');
    const email = newAddress();
    const token = await linkFor(email);
    await server.sql(`insert into users (email, canonical_email, name) values ($1, $1, 'Ada')`, [email]);
    const visitor = new Visitor(server);
    expect((await visitor.get(`/sign-in/link?token=${token}`)).html).not.toContain('name="name"');
    expect((await follow(visitor, token, 'Eve')).status).toBe(303);
    expect(await membersWith(email)).toEqual([asMember('Ada')]);
  });
});

async function tokenOf(visitor: Visitor) {
  const { form_token = '' } = hiddenFields((await visitor.get('/admin')).html, '/admin/sign-out');
  return { form_token };
}

describe('joining as a signed-in person', () => {
  const join = (visitor: Visitor, of = world) => visitor.submit(boardPath(of), `${boardPath(of)}/join`);
  const confirm = (userId: number) =>
    server.sql('update users set confirmed_email = canonical_email where id = $1', [userId]);

  test('a signed-in person with a confirmed e-mail address can join on the page of a board, if the account lets the address join', async () => {
    const userId = await createUser(server);
    const email = await emailOf(server, userId);
    const visitor = new Visitor(server);
    expect((await follow(visitor, await linkFor(email))).location).toBe(boardPath());
    expect((await visitor.get(boardPath())).html).not.toContain('/join"');
    await letJoin('domains', ['example.com']);
    server.auditLines.length = 0;
    const page = await visitor.get(boardPath());
    expect([page.html.includes('Sign out'), page.headers.get('cache-control')]).toEqual([true, 'no-store']);
    expect((await join(visitor)).location).toBe(boardPath());
    expect(await membersWith(email)).toEqual([asMember('Somebody')]);
    expect((await visitor.get(boardPath())).html).not.toContain('/join"');
    expect(readAudit(server.auditLines)).toMatchObject([
      { event: 'member.added', by: 'user', by_user_id: userId, role: 'member' },
      { event: 'member.joined', by: 'user', by_user_id: userId, account_id: world.accountId },
    ]);
    // If the person presses the join button a second time, nothing changes.
    expect((await visitor.post(`${boardPath()}/join`, await tokenOf(visitor))).location).toBe(boardPath());
    expect(await membersWith(email)).toHaveLength(1);
  });

  test('a signed-in person can join on the page of an idea, and comes back to the idea, where the new member can vote', async () => {
    await letJoin('everybody');
    const ideaPath = `${boardPath()}/ideas/${await insertIdea(server, world)}`;
    const userId = await createUser(server);
    const visitor = await signedIn(server, userId);
    expect((await visitor.submit(ideaPath, `${ideaPath}/join`)).location).toBe(`${ideaPath}?notice=confirm`);
    const { html } = await visitor.get(`${ideaPath}?notice=confirm`);
    expect([html.includes('We mailed you a link'), html.includes(`action="${ideaPath}/vote"`)]).toEqual([true, false]);
    await runJobs(server);
    expect((await follow(visitor, tokenIn(mail.received[0]?.mail.text))).location).toBe(ideaPath);
    expect((await visitor.submit(ideaPath, `${ideaPath}/join`)).location).toBe(ideaPath);
    expect(await membersWith(await emailOf(server, userId))).toEqual([asMember('Somebody')]);
    const joined = (await visitor.get(ideaPath)).html;
    expect([joined.includes(`${ideaPath}/join`), joined.includes(`action="${ideaPath}/vote"`)]).toEqual([false, true]);
  });

  test('after a refusal, the form to join on the page of an idea leads back to the idea', async () => {
    const ideaPath = `${boardPath()}/ideas/${await insertIdea(server, world)}`;
    const answer = await new Visitor(server).post(`${ideaPath}/join`, {});
    expect(answer.location).toBe(`/sign-in?${new URLSearchParams({ next: ideaPath, notice: 'expired' })}`);
    const visitor = await signedIn(server, await createUser(server));
    expect((await visitor.get(ideaPath)).html).not.toContain('/join"');
    expect((await visitor.get(`${ideaPath}/join`)).location).toBe(ideaPath);
    await letJoin('everybody');
    const strict = await startServerForTest({
      on: server,
      clock,
      environment: { ...environment, RATE_LIMIT_PASSWORD_LINK: '1' },
    });
    const hasty = await signedIn(strict, await createUser(server));
    expect((await hasty.submit(ideaPath, `${ideaPath}/join`)).status).toBe(303);
    const refused = await hasty.submit(ideaPath, `${ideaPath}/join`);
    expect([refused.status, refused.html.includes(`<a class="button" href="${ideaPath}">Back</a>`)]).toEqual([
      429,
      true,
    ]);
    await runJobs(server);
    expect(mail.received).toHaveLength(1);
  });

  test('a signed-in person with an unconfirmed e-mail address gets a mailed link before joining, because another person may own the address', async () => {
    await letJoin('domains', ['example.com']);
    const userId = await createUser(server);
    const email = await emailOf(server, userId);
    const visitor = await signedIn(server, userId);
    expect((await join(visitor)).location).toBe(`${boardPath()}?notice=confirm`);
    expect((await visitor.get(`${boardPath()}?notice=confirm`)).html).toContain('We mailed you a link');
    expect(await membersWith(email)).toEqual([]);
    expect(await runJobs(server)).toEqual([]);
    expect(mail.received.map(({ to }) => to)).toEqual([email]);
    const answer = await follow(visitor, tokenIn(mail.received[0]?.mail.text));
    expect(answer.location).toBe(boardPath());
    expect((await join(visitor)).location).toBe(boardPath());
    expect(await membersWith(email)).toEqual([asMember('Somebody')]);
  });

  test('on a server that sends no mail, a person with an unconfirmed e-mail address sees no form to join the account', async () => {
    await letJoin('everybody');
    const silent = await startServerForTest({ on: server, clock });
    const visitor = await signedIn(silent, await createUser(server));
    expect((await visitor.get(boardPath())).html).not.toContain('/join"');
  });

  test('admins and blocked people see no form to join the account, and an admin who sends the form keeps the admin role', async () => {
    await letJoin('everybody');
    const blockedId = await createMember(server, (await createWorld(server)).accountId, 'member');
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, blockedId]);
    await confirm(blockedId);
    const blocked = await signedIn(server, blockedId);
    expect((await blocked.get(boardPath())).html).not.toContain('/join"');
    expect((await blocked.post(`${boardPath()}/join`, await tokenOf(blocked))).status).toBe(403);
    const adminId = await createMember(server, world.accountId, 'admin');
    await confirm(adminId);
    const admin = await signedIn(server, adminId);
    expect((await admin.get(boardPath())).html).not.toContain('/join"');
    expect((await admin.post(`${boardPath()}/join`, await tokenOf(admin))).status).toBe(303);
    expect(await membersWith(await emailOf(server, adminId))).toMatchObject([{ role: 'admin' }]);
  });

  test('a visitor who sends the form to join an account must sign in first, and the server refuses the form without form_token', async () => {
    await letJoin('everybody');
    const answer = await new Visitor(server).post(`${boardPath()}/join`, {});
    expect([answer.status, answer.location]).toEqual([
      303,
      `/sign-in?next=${encodeURIComponent(boardPath())}&notice=expired`,
    ]);
    const userId = await createUser(server);
    await confirm(userId);
    const visitor = await signedIn(server, userId);
    expect((await visitor.post(`${boardPath()}/join`, {})).status).toBe(403);
    expect(await membersWith(await emailOf(server, userId))).toEqual([]);
  });

  test('the page of a board links to a sign-in page that returns to the board, and ignores an unknown session cookie', async () => {
    const page = await new Visitor(server).get(`${boardPath()}?sort=top`);
    expect(page.html).toContain(`href="/sign-in?next=${encodeURIComponent(`${boardPath()}?sort=top`)}"`);
    const other = new Visitor(server);
    other.cookies.set('idea_board_session', 'A'.repeat(43));
    const again = await other.get(`${boardPath()}?sort=top`);
    expect([again.html, again.headers.get('etag')]).toEqual([page.html, page.headers.get('etag')]);
    expect(page.headers.get('etag')).not.toBeNull();
  });
});

describe('the rule for joining an account', () => {
  const setting = async () =>
    (await server.sql('select join_rule, join_domains from accounts where id = $1', [world.accountId]))[0];
  const save = (visitor: Visitor, join_rule: string, join_domains = '') =>
    visitor.submit('/admin/account', '/admin/account/joining', { join_rule, join_domains });

  test('an owner or admin can set which people may join the account, but a moderator cannot', async () => {
    for (const role of ['owner', 'admin'] as const) {
      const userId = await createMember(server, world.accountId, role);
      const visitor = await signedIn(server, userId);
      server.auditLines.length = 0;
      const answer = await save(visitor, 'domains', ` ${role}.example\n@Bücher.example, ${role}.example `);
      expect(answer.location).toBe('/admin/account?notice=saved');
      expect(await setting()).toEqual({
        join_rule: 'domains',
        join_domains: [`${role}.example`, 'xn--bcher-kva.example'],
      });
      expect((await visitor.get('/admin/account')).html).toContain(`${role}.example\nxn--bcher-kva.example</textarea>`);
      expect(readAudit(server.auditLines)).toMatchObject([
        { event: 'account.updated', by_user_id: userId, changed: expect.arrayContaining(['join_domains']) },
      ]);
      await save(visitor, 'everybody', 'ignored.example');
      expect(await setting()).toEqual({ join_rule: 'everybody', join_domains: [] });
      await save(visitor, 'invited');
      expect(await setting()).toEqual({ join_rule: 'invited', join_domains: [] });
    }
    const moderator = await signedIn(server, await createMember(server, world.accountId, 'moderator'));
    const fields = { ...(await tokenOf(moderator)), join_rule: 'everybody' };
    expect((await moderator.post('/admin/account/joining', fields)).status).toBe(403);
    expect(await setting()).toEqual({ join_rule: 'invited', join_domains: [] });
  });

  test.each([
    ['com', 'is not a domain'],
    ['example', 'is not a domain'],
    ['localhost', 'is not a domain'],
    ['192.0.2.1', 'is not a domain'],
    ['*.example.com', 'is not a domain'],
    ['ada@example.com', 'is not a domain'],
    ['https://example.com/', 'is not a domain'],
    ['example..com', 'is not a domain'],
    ['-a.example', 'is not a domain'],
    [`${'x'.repeat(64)}.com`, 'is not a domain'],
    ['', 'at least one domain'],
    [Array.from({ length: 21 }, (_, n) => `d${n}.example`).join(' '), 'at most 20 domains'],
  ])(
    'the account settings refuse the e-mail domains %j for joining, and the form still shows the entered domains',
    async (domains, why) => {
      const visitor = await signedIn(server, world.ownerId);
      const { status, html } = await save(visitor, 'domains', domains);
      expect([status, html.includes(why)]).toEqual([422, true]);
      expect(html).toContain(`>${domains}</textarea>`);
      expect(await setting()).toEqual({ join_rule: 'invited', join_domains: [] });
    },
  );

  test('the operator can set on the command line which people may join an account', async () => {
    const cli = cliOn(server.url);
    const [account] = await server.sql<{ slug: string }>('select slug from accounts where id = $1', [world.accountId]);
    const update = ['account', 'update', '--account', account?.slug ?? ''];
    const domains = ['--join-rule', 'domains', '--join-domains', 'acme.example,Acme.example.'];
    expect(await cli.json(...update, ...domains)).toMatchObject({
      join_rule: 'domains',
      join_domains: ['acme.example'],
    });
    expect(await cli.json(...update, '--name', 'Acme')).toMatchObject({ join_domains: ['acme.example'] });
    expect(await cli.json(...update, '--join-rule', 'everybody')).toMatchObject({
      join_rule: 'everybody',
      join_domains: [],
    });
    expect(await cli.refusal(...update, '--join-domains', 'acme.example')).toContain('Domains apply only');
  });
});
