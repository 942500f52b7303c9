import { beforeEach, describe, expect, test } from 'vitest';
import { createPasswordLink } from '../../server/domain/sign-in/password-links.ts';
import { setPassword } from '../../server/domain/sign-in/set-password.ts';
import { type AddressField, buildAddressTokens } from '../../server/domain/users/change-address.ts';
import { operatorIn } from '../helpers/administration.ts';
import { readAudit } from '../helpers/audit.ts';
import { testClock } from '../helpers/clock.ts';
import { createUser, createWorld, type World } from '../helpers/fixtures.ts';
import { closeAfterAll } from '../helpers/for-file.ts';
import { runJobs, waitingJobs } from '../helpers/jobs.ts';
import { startServerForFile, startServerForTest, testAppKey } from '../helpers/server.ts';
import { startSmtpReceiver } from '../helpers/smtp-receiver.ts';
import { givePassword, hiddenFields, type Person, Visitor } from './visitor.ts';

const start = '2026-03-02T09:00:00Z';
const clock = testClock(start);
/** A user who is not a member of any account. The profile pages work without a membership. */
let userId: number;
let person: Person;
let visitor: Visitor;

const mail = closeAfterAll(await startSmtpReceiver());
const server = await startServerForFile({
  clock,
  environment: {
    SMTP_URL: mail.url,
    BASE_URL: 'http://ideas.example.com',
    RATE_LIMIT_SIGN_IN_ACCOUNT: '3',
    RATE_LIMIT_SIGN_IN_IP: '10000',
  },
});
beforeEach(async () => {
  clock.set(start);
  userId = await createUser(server, 'Grace');
  person = await givePassword(server, userId);
  visitor = await signIn();
  mail.received.length = 0;
  server.auditLines.length = 0;
});

async function signIn(password = person.password, email = person.email): Promise<Visitor> {
  const one = new Visitor(server);
  expect((await one.signIn(email, password)).status).toBe(303);
  return one;
}

async function user() {
  const [row] = await server.sql<{
    name: string;
    email: string;
    notification_email: string | null;
    deletion_requested_at: string | null;
  }>('select name, email, notification_email, deletion_requested_at from users where id = $1', [userId]);
  return row;
}

const profile = '/admin/profile';
const send = (action: string, fields: Record<string, string>) => visitor.submit(profile, action, fields);
const askForEmail = (email: string, current_password = person.password) =>
  send(`${profile}/email`, { email, current_password });
const askForMail = (notification_email: string) => send(`${profile}/notification-email`, { notification_email });
const told = (event: string) => readAudit(server.auditLines).filter(line => line.event === event);

/** Sends the waiting mails, and returns the path of the link in the last mail to this address. */
async function linkTo(address: string): Promise<string> {
  expect(await runJobs(server)).toEqual([]);
  const text = mail.received.findLast(({ to }) => to === address)?.mail.text ?? '';
  return /http:\/\/ideas\.example\.com(\/admin\/profile\/confirm\?token=\S+)/.exec(text)?.[1] ?? '';
}

const confirm = (path: string, by = visitor) => by.submit(path, `${profile}/confirm`);

test('a user can change their name, and the profile pages escape HTML in the name', async () => {
  const hostile = `"><img src=x onerror='alert(1)'>\u202e`;
  const answer = await send(profile, { name: ` ${hostile}` });
  expect(answer.location).toBe('/admin/profile?notice=saved');
  expect((await user())?.name).toBe(hostile);
  for (const path of ['?notice=saved', '/delete', '/notifications', '/following']) {
    const { html, status } = await visitor.get(profile + path);
    expect([status, html.includes('<img'), html.replace(/value="[^"]*"/g, '').includes('\u202e')]).toEqual([
      200,
      false,
      false,
    ]);
    expect(html).toContain('&quot;&gt;&lt;img src=x onerror=&#39;alert(1)&#39;&gt;');
  }
  const refused = await send(profile, { name: 'x'.repeat(101) });
  expect([refused.status, refused.html.includes('at most 100')]).toEqual([422, true]);
  expect(refused.html).toContain(`value="${'x'.repeat(101)}"`);
  expect(readAudit(server.auditLines)).toMatchObject([
    { event: 'user.updated', by: 'user', by_user_id: userId, user_id: userId, changed: ['name'] },
  ]);
});

describe('how often a person gets mail', () => {
  const choose = (mail_frequency: string) => send(`${profile}/mail-frequency`, { mail_frequency });
  const stored = () => server.sql('select mail_frequency from users where id = $1', [userId]);
  const chosenIn = ({ html }: { html: string }) => /<option value="(\w+)" selected>[^<]*summary/.exec(html)?.[1];

  test('a person with an address for notifications chooses a summary in the profile, and the audit log records the change', async () => {
    expect((await visitor.get(profile)).html).not.toContain('mail-frequency');
    await server.sql('update users set notification_email = email where id = $1', [userId]);
    server.auditLines.length = 0;
    expect((await choose('weekly')).location).toBe(`${profile}?notice=saved`);
    expect([await stored(), chosenIn(await visitor.get(profile))]).toEqual([[{ mail_frequency: 'weekly' }], 'weekly']);
    expect(readAudit(server.auditLines)).toMatchObject([
      { event: 'user.updated', by_user_id: userId, user_id: userId, changed: ['mail_frequency'] },
    ]);
  });

  test('a person cannot choose an unknown frequency of mails, and the old choice stays', async () => {
    await server.sql(`update users set notification_email = email, mail_frequency = 'daily' where id = $1`, [userId]);
    const refused = await choose('hourly');
    expect([refused.status, refused.html.includes('Choose how often you get mail.')]).toEqual([422, true]);
    expect(await stored()).toEqual([{ mail_frequency: 'daily' }]);
  });
});

describe('the language of the pages', () => {
  const choose = (language: string) => send(`${profile}/language`, { language });
  const stored = async () =>
    (await server.sql<{ language: string | null }>('select language from users where id = $1', [userId]))[0]?.language;
  const shown = async (acceptLanguage: string) => {
    const { html } = await visitor.get(profile, { headers: { 'accept-language': acceptLanguage } });
    return /<html lang="(\w+)">/.exec(html)?.[1];
  };

  test('pages are in the language that the user chose in the profile, even if the browser prefers another language', async () => {
    expect([await shown('fr, de-CH;q=0.9, en;q=0.8'), await shown('fr'), await shown('*')]).toEqual(['de', 'en', 'en']);
    expect((await choose('de')).location).toBe(`${profile}?notice=saved`);
    expect([await stored(), await shown('en')]).toEqual(['de', 'de']);
    const { html } = await visitor.get(profile);
    expect(html).toContain('<option value="de" selected>Deutsch</option>');
    expect(html).toContain('<h2>Sprache</h2>');

    await choose('');
    expect([await stored(), await shown('en'), await shown('de')]).toEqual([null, 'en', 'de']);
    const changed = { event: 'user.updated', by_user_id: userId, user_id: userId, changed: ['language'] };
    expect(readAudit(server.auditLines)).toMatchObject([changed, changed]);
  });

  test('the error message for a refused profile form is in the language that the user chose', async () => {
    await choose('de');
    const refused = await send(profile, { name: 'x'.repeat(101) });
    expect(refused.html).toContain('Der Name darf höchstens 100 Zeichen haben, hat aber 101');
  });

  test('a user cannot choose a profile language that the server does not have', async () => {
    const refused = await choose('fr');
    expect([refused.status, refused.html.includes('Choose a language from the list')]).toEqual([422, true]);
    expect([await stored(), readAudit(server.auditLines)]).toEqual([null, []]);
  });
});

describe('a new sign-in address', () => {
  test('a new sign-in e-mail address takes effect when the user confirms it, and the old and the new address get a mail', async () => {
    const { token: linkForPassword } = await server.database.transaction(transaction =>
      createPasswordLink(operatorIn(transaction, clock.now()), userId),
    );
    const address = `new-${userId}@example.org`;
    expect((await askForEmail(` ${address} `)).location).toBe('/admin/profile?notice=email_asked');
    const path = await linkTo(address);
    expect(mail.received.map(({ to, mail: { subject } }) => [to, subject])).toEqual([
      [address, 'Confirm your address for Idea-Board'],
      [person.email, 'A new address for Idea-Board was requested'],
    ]);
    // Mail filters follow links, so opening the page must change nothing.
    for (let looks = 0; looks < 2; looks++) expect((await visitor.get(path)).html).toContain(address);
    expect((await user())?.email).toBe(person.email);

    expect((await confirm(path)).location).toBe('/admin/profile?notice=email_changed');
    expect((await visitor.get('/admin/profile?notice=email_changed')).html).toContain(address);
    await signIn(person.password, address.toUpperCase());
    expect((await new Visitor(server).signIn(person.email, person.password)).status).toBe(422);
    // A password link that was mailed to the old address no longer works.
    expect((await visitor.get(`/admin/password?token=${linkForPassword}`)).status).toBe(404);
    expect((await visitor.get(path)).status).toBe(404);
    expect(told('user.address_requested')).toMatchObject([{ by_user_id: userId, user_id: userId, field: 'email' }]);
    expect(told('user.updated')).toMatchObject([{ by_user_id: userId, user_id: userId, changed: ['email'] }]);
    const token = new URL(path, server.baseUrl).searchParams.get('token') ?? '';
    expect(server.logLines.join('') + server.auditLines.join('')).not.toContain(token.slice(-43));
  });

  test('a change of the sign-in e-mail address needs the current password and a valid new address', async () => {
    const wrong = await askForEmail('new@example.org', 'a wrong password');
    expect([wrong.status, wrong.html.includes('The current password is wrong')]).toEqual([422, true]);
    expect(wrong.html).toContain('value="new@example.org"');
    const none = await askForEmail('no address');
    expect([none.status, none.html.includes('is not an e-mail address')]).toEqual([422, true]);
    // A request with the user's current address changes nothing. Right passwords do not count as wrong attempts.
    for (let asked = 0; asked < 4; asked++) {
      expect((await askForEmail(person.email)).location).toBe('/admin/profile?notice=saved');
    }
    expect(await waitingJobs(server)).toEqual([]);
    expect(told('password.refused')).toMatchObject([{ user_id: userId }]);
  });

  test('only the signed-in user who requested a new e-mail address can confirm it', async () => {
    await askForEmail(`other-${userId}@example.org`);
    const path = await linkTo(`other-${userId}@example.org`);
    const stranger = new Visitor(server);
    expect((await stranger.get(path)).location).toBe(`/sign-in?next=${encodeURIComponent(path)}`);
    const another = await givePassword(server, await createUser(server));
    expect((await stranger.signIn(another.email, another.password, path)).location).toBe(path);
    expect((await stranger.get(path)).html).toContain('This link does not work');
    const token = new URL(path, server.baseUrl).searchParams.get('token') ?? '';
    const fields = hiddenFields((await stranger.get(profile)).html, profile);
    expect((await stranger.post(`${profile}/confirm`, { ...fields, token })).status).toBe(404);
    expect((await user())?.email).toBe(person.email);
  });

  test('a new e-mail address cannot be confirmed if another user has taken that address', async () => {
    const address = `taken-${userId}@example.org`;
    await askForEmail(address);
    const path = await linkTo(address);
    await server.sql(`insert into users (email, name) values ($1, 'Faster')`, [address.toUpperCase()]);
    const answer = await confirm(path);
    expect([answer.status, answer.html.includes('Another user has the address')]).toEqual([409, true]);
    expect((await user())?.email).toBe(person.email);
  });

  test('the link that confirms an e-mail address expires after a day, and is invalid if the password has changed since the request for the link', async () => {
    const address = `late-${userId}@example.org`;
    await askForEmail(address);
    const path = await linkTo(address);
    clock.advance(24 * 3_600_000 - 1);
    visitor = await signIn();
    expect((await visitor.get(path)).status).toBe(200);
    clock.advance(1);
    expect((await visitor.get(path)).status).toBe(404);
    await askForEmail(address);
    // Changes the password after the user has asked for a new address, and before the mail is sent.
    const waiting = await linkTo(address);
    await askForEmail(address);
    mail.received.length = 0;
    const { hash } = server.dependencies.passwords;
    const credential = await hash('another few words');
    await server.database.transaction(transaction =>
      setPassword(operatorIn(transaction, clock.now()), userId, credential),
    );
    expect(await runJobs(server)).toEqual([]);
    expect(mail.received.map(({ to, mail: { subject } }) => [to, subject])).toEqual([
      [person.email, 'A new address for Idea-Board was requested'],
      [person.email, 'Your password for Idea-Board was changed'],
    ]);
    visitor = await signIn('another few words');
    expect((await visitor.get(waiting)).status).toBe(404);
  });

  test('if four concurrent requests confirm one e-mail address, exactly one succeeds', async () => {
    const address = `once-${userId}@example.org`;
    await askForEmail(address);
    const path = await linkTo(address);
    const fields = hiddenFields((await visitor.get(path)).html, `${profile}/confirm`);
    const answers = await Promise.all(Array.from({ length: 4 }, () => visitor.post(`${profile}/confirm`, fields)));
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 404, 404, 404]);
    expect(told('user.updated')).toHaveLength(1);
  });
});

describe('an address for notifications', () => {
  test('after a user confirms a separate e-mail address for notifications, the server stores it until the user removes it', async () => {
    const address = `mail-${userId}@example.org`;
    expect((await askForMail(address)).location).toBe('/admin/profile?notice=mail_asked');
    expect((await user())?.notification_email).toBeNull();
    const path = await linkTo(address);
    expect(mail.received).toHaveLength(1);
    expect((await confirm(path)).location).toBe('/admin/profile?notice=mail_changed');
    expect(await user()).toMatchObject({ notification_email: address, email: person.email });
    // If the user enters the address that is already confirmed, the server sends no mail.
    expect((await askForMail(address)).location).toBe('/admin/profile?notice=saved');
    expect(await waitingJobs(server)).toEqual([]);
    expect((await askForMail(' ')).location).toBe('/admin/profile?notice=mail_ended');
    expect((await user())?.notification_email).toBeNull();
    expect(told('user.updated').map(({ changed }) => changed)).toEqual([
      ['notification_email'],
      ['notification_email'],
    ]);
  });

  test('a user can request one new e-mail address for notifications and for signing in, and confirm the two requests separately', async () => {
    const address = `both-${userId}@example.org`;
    await askForMail(address);
    const first = await linkTo(address);
    await askForEmail(address);
    const second = await linkTo(address);
    expect((await confirm(second)).status).toBe(303);
    expect((await confirm(first)).status).toBe(303);
    expect(await user()).toMatchObject({ notification_email: address, email: address });
  });

  test('if a user requests seven different notification addresses in a row, the last two requests get 429, and only five mails are sent', async () => {
    const statuses = [];
    for (let n = 0; n < 7; n++) statuses.push((await askForMail(`victim${n}-${userId}@example.org`)).status);
    expect(statuses).toEqual([303, 303, 303, 303, 303, 429, 429]);
    await runJobs(server);
    expect(mail.received).toHaveLength(5);
  });
});

test('the confirmation page of an e-mail address answers 404 if the token in the link is forged or altered', async () => {
  const tokens = buildAddressTokens(testAppKey);
  const ours = { userId, field: 'email' as AddressField, address: 'mallory@example.org', basis: 'x'.repeat(22) };
  const end = new Date(clock.now().getTime() + 1000);
  const signed = tokens.make(ours, end);
  expect(tokens.read(signed, clock.now())).toEqual(ours);
  expect(tokens.read(signed, end)).toBeUndefined();
  const forged = [
    '',
    signed,
    `${signed}A`,
    signed.replace('email.', 'notification_email.'),
    signed.replace(/\.bW/, '.bX'),
    signed.replace(/\d{10}/, '9999999999'),
    buildAddressTokens(Buffer.alloc(32, 9)).make(ours, end),
  ];
  for (const token of forged) {
    if (token !== signed) expect([token, tokens.read(token, clock.now())]).toEqual([token, undefined]);
    expect((await visitor.get(`${profile}/confirm?token=${token}`)).status).toBe(404);
  }
});

test('on a server that cannot send mail, a user cannot request a new e-mail address but can remove their address for notifications', async () => {
  const silent = await startServerForTest({ on: server, clock });
  await server.sql(`update users set notification_email = 'old@example.org' where id = $1`, [userId]);
  const there = new Visitor(silent);
  await there.signIn(person.email, person.password);
  const { html } = await there.get(profile);
  expect(html).toContain('This server sends no mail');
  expect(html).not.toContain('type="email"');
  const fields = hiddenFields(html, profile);
  const asked = await there.post(`${profile}/email`, {
    ...fields,
    email: 'new@example.org',
    current_password: person.password,
  });
  expect([asked.status, await waitingJobs(server)]).toEqual([409, []]);
  expect((await there.submit(profile, `${profile}/notification-email`)).location).toContain('mail_ended');
  expect((await user())?.notification_email).toBeNull();
});

describe('a new password', () => {
  const change = (fields: Record<string, string>, by = visitor) =>
    by.submit(profile, `${profile}/password`, {
      current_password: person.password,
      password: 'a few words for it',
      password_again: 'a few words for it',
      ...fields,
    });

  test("a password change on the profile ends the user's other sessions and renews the current one", async () => {
    const other = await signIn();
    const copy = new Visitor(server);
    for (const [name, value] of visitor.cookies) copy.cookies.set(name, value);
    const answer = await change({});
    expect(answer.location).toBe('/admin/profile?notice=password_changed');
    expect((await visitor.get(profile)).status).toBe(200);
    for (const one of [other, copy]) expect((await one.get(profile)).status).toBe(303);
    await signIn('a few words for it');
    expect((await new Visitor(server).signIn(person.email, person.password)).status).toBe(422);
    expect(told('password.set')).toMatchObject([{ by: 'user', by_user_id: userId, user_id: userId, sessions: 2 }]);
    expect(server.logLines.join('') + server.auditLines.join('')).not.toContain('a few words for it');
  });

  test.each([
    ['a wrong current password', { current_password: 'a wrong password' }, 'The current password is wrong'],
    ['two different passwords', { password_again: 'other words for it' }, 'differ'],
    ['a short password', { password: 'short', password_again: 'short' }, 'at least 12'],
  ])('a password change on the profile with %s is refused', async (_what, given, why) => {
    const answer = await change(given);
    expect([answer.status, answer.html.includes(why)]).toEqual([422, true]);
    await signIn();
  });

  test('if two concurrent requests change a password, exactly one succeeds', async () => {
    const other = await signIn();
    const chosen = ['the words of the first', 'the words of the second'];
    const path = `${profile}/password`;
    // Both browsers open the page before one of them changes the password.
    const forms = [
      hiddenFields((await visitor.get(profile)).html, path),
      hiddenFields((await other.get(profile)).html, path),
    ];
    const answers = await Promise.all(
      [visitor, other].map((by, n) => {
        const password = chosen[n] ?? '';
        const fields = { current_password: person.password, password, password_again: password };
        return by.post(path, { ...forms[n], ...fields });
      }),
    );
    const winner = answers.findIndex(({ location }) => location === '/admin/profile?notice=password_changed');
    // The server refuses the losing request, or the winning request has already signed out the browser of the losing
    // request.
    expect(answers[1 - winner]?.location).not.toBe('/admin/profile?notice=password_changed');
    await signIn(chosen[winner]);
    expect(told('password.set')).toHaveLength(1);
  });

  test('a wrong current password on the profile page counts against the rate limit of sign-ins', async () => {
    for (let tries = 0; tries < 3; tries++) {
      expect((await change({ current_password: 'a wrong password' })).status).toBe(422);
    }
    const bounded = await change({});
    expect([bounded.status, bounded.headers.get('retry-after')]).toEqual([429, '900']);
    expect((await visitor.signIn(person.email, person.password)).status).toBe(429);
    expect((await askForEmail('new@example.org')).status).toBe(429);
  });
});

describe('the deletion of a user', () => {
  let world: World;
  const ask = (current_password = person.password) =>
    visitor.submit(`${profile}/delete`, `${profile}/delete`, { current_password });

  test('a user who asks to be deleted must enter their password, sees the reason that prevents the deletion, and can cancel the request', async () => {
    world = await createWorld(server);
    await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'owner')`, [
      world.accountId,
      userId,
    ]);
    await server.sql(`update accounts set slug = 'acme' where id = $1`, [world.accountId]);
    const question = await visitor.get(`${profile}/delete`);
    expect(question.html).toContain('You are owner of acme');
    expect(question.html).toContain('4 Mar 2026, 09:00 UTC');
    expect((await ask('a wrong password')).status).toBe(422);
    expect((await user())?.deletion_requested_at).toBeNull();

    expect((await ask()).location).toBe('/admin/profile');
    clock.advance(3_600_000);
    expect((await visitor.get(`${profile}/delete`)).location).toBe('/admin/profile');
    const { html } = await visitor.get(profile);
    expect(html).toContain('4 Mar 2026, 09:00 UTC');
    expect(html).toContain('while you are owner of acme');
    expect(html).not.toContain('Request your deletion');
    expect((await visitor.submit(profile, '/admin/cancel-deletion')).location).toBe('/admin?notice=kept');
    expect((await user())?.deletion_requested_at).toBeNull();
    expect((await visitor.get(profile)).html).toContain('Request your deletion');
    expect(readAudit(server.auditLines).map(({ event, by_user_id }) => [event, by_user_id])).toEqual([
      ['password.refused', undefined],
      ['user.deletion_requested', userId],
      ['user.deletion_cancelled', userId],
    ]);
  });
});

test('a user who is blocked in one of their two accounts can still open their own profile', async () => {
  const [blocked, open] = [await createWorld(server), await createWorld(server)];
  for (const { accountId } of [blocked, open]) {
    await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'member')`, [
      accountId,
      userId,
    ]);
  }
  await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [blocked.accountId, userId]);
  const [{ slug } = { slug: '' }] = await server.sql<{ slug: string }>('select slug from accounts where id = $1', [
    blocked.accountId,
  ]);
  expect((await visitor.get(`/admin?account=${slug}`)).status).toBe(404);
  for (const path of ['', '/delete', '/notifications', '/following']) {
    expect((await visitor.get(`${profile}${path}?account=${slug}`)).status).toBe(200);
  }
  expect((await visitor.submit(`${profile}?account=${slug}`, profile, { name: 'Grace H.' })).status).toBe(303);
});

test('every form of the profile needs a session and a form_token', async () => {
  const paths = [
    '',
    '/email',
    '/notification-email',
    '/mail-frequency',
    '/password',
    '/confirm',
    '/delete',
    '/notifications/read',
    '/notifications/1/read',
    '/following/1/unfollow',
  ];
  for (const path of paths) {
    expect([path, (await visitor.post(profile + path, {})).status]).toEqual([path, 403]);
    const { location } = await new Visitor(server).post(profile + path, {});
    const next = ['', '/confirm', '/delete'].includes(path) ? profile + path : '/admin';
    expect([path, location]).toEqual([path, `/sign-in?next=${encodeURIComponent(next)}&notice=expired`]);
  }
  for (const path of ['', '/confirm', '/delete', '/notifications', '/following']) {
    const { location } = await new Visitor(server).get(profile + path);
    expect(location).toBe(`/sign-in?next=${encodeURIComponent(profile + path)}`);
  }
});
