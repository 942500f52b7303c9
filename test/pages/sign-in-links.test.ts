import { beforeEach, describe, expect, test } from 'vitest';
import { setPassword } from '../../server/domain/sign-in/set-password.ts';
import { updateUser } from '../../server/domain/users/edit-user.ts';
import { User } from '../../server/entities/user.ts';
import { emailOf, givePassword, hiddenFields, Visitor } from '../admin/visitor.ts';
import { requestDeletion } from '../domain/erasure/populate.ts';
import { runCleanUp } from '../domain/erasure/run.ts';
import { readAudit } from '../helpers/audit.ts';
import { startOfHour, testClock } from '../helpers/clock.ts';
import { createMember, createWorld, type World } from '../helpers/fixtures.ts';
import { closeAfterAll } from '../helpers/for-file.ts';
import { makeJobsDue, runJobs, waitingJobs } from '../helpers/jobs.ts';
import { startServerForFile, startServerForTest } from '../helpers/server.ts';
import { startSmtpReceiver } from '../helpers/smtp-receiver.ts';
import { administer } from '../helpers/webhooks.ts';
import { askForLink, follow, mailedToken, tokenIn } from './mailed-links.ts';

const start = startOfHour();
const clock = testClock(start);
const farLimits = { RATE_LIMIT_SIGN_IN_IP: '1000000', RATE_LIMIT_PASSWORD_LINK: '1000000' };

let world: World;
let email: string;

const mail = closeAfterAll(await startSmtpReceiver());
const environment = { SMTP_URL: mail.url, BASE_URL: 'http://ideas.example.com', ...farLimits };
const server = await startServerForFile({ clock, environment });
beforeEach(async () => {
  clock.set(start);
  world = await createWorld(server, { isPublic: true });
  email = await emailOf(server, world.ownerId);
  mail.received.length = 0;
  server.auditLines.length = 0;
});

const linkFor = (address = email, next = '/admin') => mailedToken({ server, clock, mail }, address, { next });
const isIn = async (visitor: Visitor) => (await visitor.get('/admin')).status === 200;
const linkPage = (token: string | undefined) => `/sign-in/link?token=${token}`;

describe('a mailed sign-in link', () => {
  test("a mailed sign-in link signs a user in once without a password, and neither the database nor a log contains the link's token", async () => {
    const token = await linkFor(` ${email.toUpperCase()}`, '/admin/tokens?page=2');
    expect(mail.received).toMatchObject([{ to: email, mail: { subject: 'Sign in to Idea-Board' } }]);
    expect(mail.received[0]?.mail.html).toContain(`http://ideas.example.com/sign-in/link?token=${token}`);
    expect(await server.sql('select from sign_in_links where token_hash = sha256($1::bytea)', [token])).toHaveLength(1);
    const stored = await server.sql('select * from sign_in_links');
    expect(JSON.stringify(stored) + server.logLines.join('') + server.auditLines.join('')).not.toContain(token);

    const visitor = new Visitor(server);
    const answer = await visitor.submit(linkPage(token), '/sign-in/link');
    expect([answer.status, answer.location]).toEqual([303, '/admin/tokens?page=2']);
    expect(await isIn(visitor)).toBe(true);
    expect((await new Visitor(server).get(linkPage(token))).status).toBe(404);
    expect((await follow(new Visitor(server), token)).status).toBe(404);
    const told = readAudit(server.auditLines).map(({ event, user_id, method, reason }) => [
      event,
      user_id,
      method ?? reason,
    ]);
    expect(told).toEqual([
      ['sign_in.link_requested', world.ownerId, undefined],
      ['sign_in.succeeded', world.ownerId, 'link'],
      ['sign_in.failed', undefined, 'link'],
    ]);
  });

  test("the first sign-in link that a user uses sets the user's language to the browser's language, and later mails are in this language", async () => {
    const languageAfter = async (acceptLanguage: string) => {
      await follow(new Visitor(server, { 'accept-language': acceptLanguage }), await linkFor());
      return server.sql('select language from users where id = $1', [world.ownerId]);
    };
    expect(await languageAfter('fr, *;q=0.5')).toEqual([{ language: null }]);
    expect(await languageAfter('fr, de-CH;q=0.5')).toEqual([{ language: 'de' }]);
    expect(await languageAfter('en')).toEqual([{ language: 'de' }]);
    const changes = readAudit(server.auditLines).filter(({ event }) => event === 'user.updated');
    expect(changes).toMatchObject([{ by: 'user', by_user_id: world.ownerId, changed: ['language'] }]);
    expect(mail.received.at(-1)?.mail.subject).toBe('Bei Idea-Board anmelden');
  });

  test('a sign-in link still works after somebody only opened its page, because mail filters open the links in mails', async () => {
    const token = await linkFor();
    for (let looks = 0; looks < 3; looks++) {
      const { status, html, headers } = await new Visitor(server).get(linkPage(token));
      expect([status, html.includes(email), headers.get('cache-control')]).toEqual([200, true, 'no-store']);
      expect(headers.getSetCookie()).toEqual([]);
    }
    expect(await server.sql('select from sessions where user_id = $1', [world.ownerId])).toEqual([]);
    expect((await follow(new Visitor(server), token)).status).toBe(303);
  });

  test('if eight concurrent requests use one sign-in link, exactly one of them starts a session', async () => {
    const token = await linkFor();
    const answers = await Promise.all(Array.from({ length: 8 }, () => follow(new Visitor(server), token)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([303, ...Array(7).fill(404)]);
    expect(await server.sql('select from sessions where user_id = $1', [world.ownerId])).toHaveLength(1);
  });

  test('a sign-in link expires after 30 minutes', async () => {
    const token = await linkFor();
    clock.advance(30 * 60_000 - 1);
    expect((await new Visitor(server).get(linkPage(token))).status).toBe(200);
    clock.advance(1);
    expect((await new Visitor(server).get(linkPage(token))).status).toBe(404);
    expect((await follow(new Visitor(server), token)).status).toBe(404);
  });

  test('a sign-in link signs nobody in while its user is blocked, and its page names the account that blocks the user, and a blocked user gets no new link', async () => {
    const userId = await createMember(server, world.accountId, 'member');
    const address = await emailOf(server, userId);
    const token = await linkFor(address);
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, userId]);
    server.auditLines.length = 0;
    const visitor = new Visitor(server);
    for (const page of [await visitor.get(linkPage(token)), await follow(visitor, token)]) {
      expect([page.status, page.html.includes('you are blocked in An account.')]).toEqual([403, true]);
    }
    expect([visitor.cookies.size, await server.sql('select from sessions where user_id = $1', [userId])]).toEqual([
      0,
      [],
    ]);
    const entry = { event: 'sign_in.failed', reason: 'blocked', user_id: userId };
    expect(readAudit(server.auditLines)).toMatchObject([entry]);
    expect((await new Visitor(server).get(linkPage('x'.repeat(43)))).status).toBe(404);
    expect(await linkFor(address)).toBeUndefined();
    expect(mail.received).toEqual([]);
  });

  test("the erasure of a user also deletes the user's sign-in links and the queued mails with these links", async () => {
    const userId = await createMember(server, world.accountId, 'member');
    const address = await emailOf(server, userId);
    const token = await linkFor(address);
    await askForLink({ server, clock }, address);
    await requestDeletion(server, userId);
    expect((await runCleanUp(server)).users.map(({ id }) => id)).toEqual([userId]);
    expect((await follow(new Visitor(server), token)).status).toBe(404);
    expect(await server.sql('select from sign_in_links where canonical_email = $1', [address])).toEqual([]);
    expect(JSON.stringify(await waitingJobs(server))).not.toContain('mail_sign_in_link');
    expect(await linkFor(address)).toBeUndefined();
  });

  test("a new password or a change of the e-mail address invalidates the user's sign-in links", async () => {
    const { passwords } = server.dependencies;
    const first = await linkFor();
    const credential = await passwords.hash('a few words for a password');
    await administer(server, admin => setPassword(admin, world.ownerId, credential));
    expect((await follow(new Visitor(server), first)).status).toBe(404);
    const second = await linkFor();
    await administer(server, async admin =>
      updateUser(admin, await admin.em.findOneOrFail(User, world.ownerId), { email: `new-${email}` }),
    );
    expect((await follow(new Visitor(server), second)).status).toBe(404);
    expect(await server.sql('select from sessions where user_id = $1', [world.ownerId])).toEqual([]);
  });

  test("if a user's password is set while a sign-in link of this user is used, the user has no session afterwards", async () => {
    for (let round = 0; round < 5; round++) {
      const token = await linkFor();
      const credential = await server.dependencies.passwords.hash(`the password number ${round}`);
      const visitor = new Visitor(server);
      await Promise.all([
        follow(visitor, token),
        administer(server, admin => setPassword(admin, world.ownerId, credential)),
      ]);
      // There are two possible orders. Either the server refused the sign-in link, or the change of the password ended
      // the session that the link had started.
      expect(await server.sql('select from sessions where user_id = $1', [world.ownerId])).toEqual([]);
    }
  });

  test("a used sign-in link confirms the user's e-mail address, and a later change makes the address unconfirmed again", async () => {
    const confirmed = async () =>
      (await server.sql('select canonical_email = confirmed_email as it from users where id = $1', [world.ownerId]))[0];
    expect(await confirmed()).toEqual({ it: null });
    await follow(new Visitor(server), await linkFor());
    expect(await confirmed()).toEqual({ it: true });
    await administer(server, async admin =>
      updateUser(admin, await admin.em.findOneOrFail(User, world.ownerId), { email: `new-${email}` }),
    );
    expect(await confirmed()).toEqual({ it: false });
  });

  test("the server retries the mail with a sign-in link after a temporary failure, and no job or log contains the link's token", async () => {
    mail.refuse(email, 451);
    await askForLink({ server, clock }, email);
    expect(await runJobs(server)).toMatchObject([{ task: 'mail_sign_in_link' }]);
    expect(JSON.stringify(await waitingJobs(server)) + server.logLines.join('')).not.toMatch(/token=[\w-]{43}/);
    mail.accept();
    await makeJobsDue(server);
    expect(await runJobs(server)).toEqual([]);
    expect(tokenIn(mail.received[0]?.mail.text)).toBeDefined();
  });
});

describe('a request for a mailed link', () => {
  test('a request for a sign-in link gets the same response and queues the same kind of job for known, unknown and blocked e-mail addresses', async () => {
    const blockedId = await createMember(server, world.accountId, 'admin');
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, blockedId]);
    const blocked = await emailOf(server, blockedId);
    const answers = new Set<string>();
    for (const address of [email, 'nobody@example.com', blocked]) {
      const { status, html } = await askForLink({ server, clock }, address, { next: `/b/${world.boardSlug}` });
      answers.add(`${status} ${html.replaceAll(address, '')}`);
    }
    expect(answers.size).toBe(1);
    const common = { next: `/b/${world.boardSlug}`, board: world.boardSlug, language: 'en' };
    const known = { ...common, email: null, canonical_email: null };
    const unknown = { ...common, user_id: null, email: 'nobody@example.com', canonical_email: 'nobody@example.com' };
    expect((await waitingJobs(server)).map(({ task, payload }) => [task, payload])).toEqual([
      ['mail_sign_in_link', { ...known, user_id: world.ownerId }],
      ['mail_sign_in_link', unknown],
      ['mail_sign_in_link', { ...known, user_id: blockedId }],
    ]);
    await runJobs(server);
    expect(mail.received.map(({ to }) => to)).toEqual([email]);
  });

  test("a request for a sign-in link by a program gets the same response as a person's request, but the server queues no mail", async () => {
    const visitor = new Visitor(server);
    const { html } = await visitor.get('/sign-in');
    const { next = '', opened = '' } = hiddenFields(html, '/sign-in');
    const fields = { next, opened, email, topic: '' };
    const answers = new Set<string>();
    const send = async (given: Record<string, string>) => {
      const answer = await visitor.post('/sign-in/mail-link', given);
      answers.add(`${answer.status} ${answer.html}`);
      return (await waitingJobs(server)).length;
    };
    clock.advance(1_999);
    expect(await send(fields)).toBe(0);
    clock.advance(1);
    expect(await send({ ...fields, topic: 'Cheap watches' })).toBe(0);
    expect(await send({ next, email })).toBe(0);
    expect(await send({ ...fields, opened: opened.replace(/^\d/, '0') })).toBe(0);
    expect(await send(fields)).toBe(1);
    expect(answers.size).toBe(1);
    expect(readAudit(server.auditLines)).toMatchObject([{ event: 'sign_in.link_requested' }]);
    await runJobs(server);
  });

  test('requests for sign-in links have a rate limit for each e-mail address, known or unknown, and for each IP network', async () => {
    const own = await startServerForTest({
      clock,
      environment: { SMTP_URL: mail.url, TRUST_PROXY: 'true', RATE_LIMIT_SIGN_IN_IP: '12' },
    });
    const { ownerId } = await createWorld(own);
    for (const address of [await emailOf(own, ownerId), 'nobody@example.com']) {
      const ask = (n: number, given = address) =>
        askForLink({ server: own, clock }, given, {
          visitor: new Visitor(own, { 'x-forwarded-for': `198.51.100.${n}` }),
        });
      const statuses = [];
      for (let n = 0; n < 7; n++) statuses.push((await ask(n, n % 2 ? address : address.toUpperCase())).status);
      expect(statuses).toEqual([...Array(5).fill(200), 429, 429]);
    }
    const from = new Visitor(own, { 'x-forwarded-for': '203.0.113.1' });
    const statuses = [];
    for (let n = 0; n < 14; n++) {
      statuses.push((await askForLink({ server: own, clock }, `user${n}@example.com`, { visitor: from })).status);
    }
    expect(statuses).toEqual([...Array(12).fill(200), 429, 429]);
    const limits = readAudit(own.auditLines).filter(({ event }) => event === 'rate_limit.exceeded');
    expect(new Set(limits.map(({ bucket }) => bucket))).toEqual(new Set(['sign-in-link:address', 'sign-in-link:ip']));
  });

  test('a request for a sign-in link with an invalid e-mail address is refused, and the page still shows the entered address', async () => {
    for (const address of ['', 'no address', 'a@b@c', `a@${'x'.repeat(300)}.com`]) {
      const { status, html } = await askForLink({ server, clock }, address);
      expect([status, html.includes('is not an e-mail address')]).toEqual([422, true]);
      expect(html).toContain(`value="${address}"`);
    }
    expect(await waitingJobs(server)).toEqual([]);
  });

  test('a GET request to the path that receives the form for a sign-in link is redirected to the sign-in page', async () => {
    const { status, location } = await new Visitor(server).get('/sign-in/mail-link');
    expect([status, location]).toEqual([303, '/sign-in']);
  });

  test('if the server cannot send mail, the sign-in page offers only the sign-in with a password and gives the reason', async () => {
    const silent = await startServerForTest({ on: server, clock });
    const { html } = await new Visitor(silent).get('/sign-in');
    expect([html.includes('cannot mail a link'), html.includes('Mail me a link')]).toEqual([true, false]);
    const refused = await askForLink({ server: silent, clock }, email);
    expect([refused.status, refused.html.includes('This server sends no mail')]).toEqual([422, true]);
    expect(await waitingJobs(server)).toEqual([]);
  });
});

describe('the sign-in page', () => {
  test.each([
    ['https://evil.example/b/board', '/admin'],
    ['//evil.example/b/board', '/admin'],
    ['/\\evil.example/b', '/admin'],
    ['/b/..//evil.example', '/admin'],
    ['/.//evil.example/b', '/admin'],
    ['/\t/evil.example', '/admin'],
    ['javascript:alert(1)//b/board', '/admin'],
    ['http://pages.invalid@evil.example/b', '/admin'],
    ['/b/../docs', '/admin'],
    ['/board', '/admin'],
    ['/sign-in?next=/admin', '/admin'],
    [`/b/${'x'.repeat(1000)}`, '/admin'],
    ['/b/a-board/ideas/7?cursor=x', '/b/a-board/ideas/7?cursor=x'],
    ['/operator/accounts', '/operator/accounts'],
    ['/admin/connect/abc', '/admin/connect/abc'],
  ])(
    'after a sign-in by password or link with %j as the requested target page, the browser goes to %j',
    async (next, expected) => {
      const person = await givePassword(server, world.ownerId);
      expect((await new Visitor(server).signIn(person.email, person.password, next)).location).toBe(expected);
      const token = await linkFor(email, next);
      expect((await follow(new Visitor(server), token)).location).toBe(expected);
    },
  );

  test('the server refuses a form that requests or uses a sign-in link if another website sends the form', async () => {
    const token = await linkFor();
    for (const [path, fields] of [
      ['/sign-in/mail-link', { email }],
      ['/sign-in/link', { token: token ?? '' }],
    ] as const) {
      for (const origin of ['https://evil.example', 'null']) {
        expect((await new Visitor(server).post(path, fields, { headers: { origin } })).status).toBe(403);
      }
    }
    expect((await follow(new Visitor(server), token)).status).toBe(303);
  });
});
