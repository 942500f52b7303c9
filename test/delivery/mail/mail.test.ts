import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { commentOnIdea } from '../../../server/domain/comments/comments.ts';
import { cancelAccountDeletion, scheduleAccountDeletion } from '../../../server/domain/erasure/request-deletion.ts';
import { createIdea } from '../../../server/domain/ideas/create-idea.ts';
import { mergeIdea } from '../../../server/domain/merging/merge-idea.ts';
import { approveIdea, rejectIdea } from '../../../server/domain/moderation/moderate-idea.ts';
import { followIdea, unfollowIdea } from '../../../server/domain/notifications/followers.ts';
import { setPassword } from '../../../server/domain/sign-in/set-password.ts';
import { setIdeaStatus } from '../../../server/domain/statuses/set-idea-status.ts';
import { addExpiryNotices } from '../../../server/domain/tokens/expiry-notices.ts';
import { rotateToken } from '../../../server/domain/tokens/rotate-token.ts';
import { disableEndpoint } from '../../../server/domain/webhooks/disable-endpoint.ts';
import { emailOf } from '../../admin/visitor.ts';
import { createMember, createWorld, insertIdea, issueToken, type World } from '../../helpers/fixtures.ts';
import { closeAfterAll } from '../../helpers/for-file.ts';
import { makeJobsDue, runJobs, waitingJobs } from '../../helpers/jobs.ts';
import { runAsUser } from '../../helpers/run-as-user.ts';
import { startServerForFile } from '../../helpers/server.ts';
import { startSmtpReceiver } from '../../helpers/smtp-receiver.ts';
import { addWebhook, administer } from '../../helpers/webhooks.ts';

let world: World;
let ideaId: number;

const smtp = closeAfterAll(await startSmtpReceiver());
const server = await startServerForFile({
  environment: {
    SMTP_URL: smtp.url,
    MAIL_FROM: 'Feedback <feedback@example.com>',
    BASE_URL: 'https://ideas.example.com',
    IDEA_URL: '{base_url}/boards/{board}/{id}?from=mail&x=1',
  },
});

beforeEach(async () => {
  world = await createWorld(server);
  ideaId = await insertIdea(server, world, { title: 'Dark mode' });
});

afterEach(async () => {
  smtp.received.length = 0;
  smtp.accept();
  await server.sql('delete from graphile_worker._private_jobs');
});

/** Creates a member of the account with the notification e-mail address <name>@example.com. */
async function createReader(name: string, role: 'member' | 'moderator' = 'member') {
  const userId = await createMember(server, world.accountId, role, name);
  await server.sql('update users set notification_email = $2 where id = $1', [userId, `${name}@example.com`]);
  return userId;
}

async function createFollower(name: string, id = ideaId) {
  const userId = await createReader(name);
  await administer(server, admin => followIdea(admin, world.accountId, { ideaId: id, userId }));
  return userId;
}

const setStatus = (status = 'planned') =>
  runAsUser(server, world, world.ownerId, op => setIdeaStatus(op, ideaId, status));
const recipients = () => smtp.received.map(({ to }) => to);
const unmailed = () =>
  server.sql<{ name: string }>(
    `select u.name from notifications n join users u on u.id = n.user_id
    where n.mailed_at is null and u.notification_email is not null and n.account_id = $1 order by u.id`,
    [world.accountId],
  );

describe('a notification mail', () => {
  test('a notification mail has a text and an HTML part, each with the event, the link to the idea and the reason for the mail', async () => {
    await createFollower('grace');
    await setStatus();
    expect(await runJobs(server)).toEqual([]);

    const [received] = smtp.received;
    expect(smtp.received).toHaveLength(1);
    expect([received?.to, received?.from]).toEqual(['grace@example.com', 'feedback@example.com']);
    const { mail } = received ?? {};
    expect(mail?.from).toEqual({ name: 'Feedback', address: 'feedback@example.com' });
    expect(mail?.subject).toBe('“Dark mode” is now planned');
    const url = `https://ideas.example.com/boards/${world.boardSlug}/${ideaId}?from=mail&x=1`;
    expect(mail?.text).toContain('The owner moved “Dark mode” to planned.');
    expect(mail?.text).toContain(url);
    expect(mail?.text).toContain('You get this because you follow the idea on the board A board.');
    expect(mail?.html).toContain('The owner moved “Dark mode” to planned.');
    expect(mail?.html).toContain(`href="${url.replace('&', '&amp;')}"`);
    expect(mail?.html).toContain('You get this because you follow the idea on the board A board.');
    expect(received?.raw).toMatch(/Content-Type: multipart\/alternative/i);
    expect(await unmailed()).toEqual([]);
  });

  test('a notification mail has the headers for one-click unsubscription, and both parts contain the unsubscribe link', async () => {
    await createFollower('grace');
    await setStatus();
    await runJobs(server);

    const { mail, raw } = smtp.received[0] ?? {};
    const header = (name: string) => mail?.headers.find(({ key }) => key === name)?.value;
    expect(header('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click');
    expect(header('auto-submitted')).toBe('auto-generated');
    const [, url = ''] =
      /^<(https:\/\/ideas\.example\.com\/unsubscribe\?token=\S+)>$/.exec(header('list-unsubscribe') ?? '') ?? [];
    expect(url).not.toBe('');
    expect(mail?.text).toContain(url);
    expect(mail?.html).toContain(`href="${url}"`);
    expect(raw).not.toMatch(/^Precedence: /im);
  });

  test('the mail about a new comment quotes the comment, and if the operator has set IDEA_URL, the link of the mail is this URL without the comment', async () => {
    await createFollower('grace');
    await runAsUser(server, world, world.ownerId, op => commentOnIdea(op, ideaId, 'We will do this\nsoon.'));
    await runJobs(server);

    const { mail } = smtp.received[0] ?? {};
    expect(mail?.subject).toBe('The owner commented on “Dark mode”');
    expect(mail?.text).toContain('> We will do this\n> soon.');
    expect(mail?.text).toContain(`/boards/${world.boardSlug}/${ideaId}?from=mail&x=1\n`);
  });

  test('the mail about a merge links to the idea that the other idea was merged into', async () => {
    const targetId = await insertIdea(server, world, { title: 'Themes' });
    await createFollower('grace');
    await runAsUser(server, world, world.ownerId, op => mergeIdea(op, ideaId, targetId));
    await runJobs(server);

    const { mail } = smtp.received[0] ?? {};
    expect(mail?.subject).toBe('“Dark mode” was merged into “Themes”');
    expect(mail?.text).toContain(`/boards/${world.boardSlug}/${targetId}?`);
  });

  test('moderators get a mail about a pending idea, and the author of the idea gets a mail about the approval or rejection', async () => {
    await server.sql('update boards set pre_moderation = true where id = $1', [world.boardId]);
    const author = await createReader('author');
    await createReader('moderator', 'moderator');
    const submit = () =>
      runAsUser(server, world, author, op => createIdea(op, { title: 'Export', body: 'As CSV.' }), false);
    const [good, bad] = [await submit(), await submit()];
    await administer(server, admin => approveIdea(admin, world.accountId, good.id));
    await administer(server, admin => rejectIdea(admin, world.accountId, bad.id, 'A duplicate.'));
    expect(await runJobs(server)).toEqual([]);

    const mails = smtp.received.map(({ to, mail }) => ({ to, subject: mail.subject, text: mail.text ?? '' }));
    expect(mails.map(({ to, subject }) => `${to}: ${subject}`).sort()).toEqual([
      'author@example.com: Your idea “Export” was not accepted',
      'author@example.com: Your idea “Export” was published',
      'moderator@example.com: “Export” awaits approval on A board',
      'moderator@example.com: “Export” awaits approval on A board',
    ]);
    const rejection = mails.find(({ subject }) => subject?.endsWith('not accepted'))?.text;
    expect(rejection).toContain('> A duplicate.');
    expect(rejection).not.toContain(`/${bad.id}?`);
    expect(mails.find(({ to }) => to.startsWith('moderator'))?.text).toContain('> As CSV.');
  });

  test('an owner with a notification e-mail address gets a mail when the server disables a webhook of the account', async () => {
    await createReader('moderator', 'moderator');
    await server.sql(`update users set notification_email = 'owner@example.com' where id = $1`, [world.ownerId]);
    const { id } = await addWebhook(server, world, { url: 'https://hooks.example.com/ideas' });
    const endpoint = { accountId: world.accountId, endpointId: id };
    await server.database.transaction(transaction => disableEndpoint(transaction, endpoint, 'It answered 410.'));
    expect(await runJobs(server)).toEqual([]);

    expect(recipients()).toEqual(['owner@example.com']);
    const { mail } = smtp.received[0] ?? {};
    expect(mail?.subject).toBe('A webhook to hooks.example.com was disabled');
    expect(mail?.text).toContain('https://hooks.example.com/ideas');
    expect(mail?.text).toContain('> It answered 410.');
  });
});

describe('texts of users in a mail', () => {
  test('texts of users cannot add headers or markup to a mail, and each line of these texts is marked as a quotation', async () => {
    const hostile = '<img src=x onerror=alert(1)>" onclick="x\u202e &amp; \'y\'';
    await server.sql('update ideas set title = $2 where id = $1', [
      ideaId,
      `a\r\nBcc: victim@example.com\r\n\r\n${hostile}`,
    ]);
    await server.sql('update users set name = $2 where id = $1', [world.ownerId, `Eve\r\nX-Evil: 1 ${hostile}`]);
    await createFollower('grace');
    await runAsUser(server, world, world.ownerId, op =>
      commentOnIdea(op, ideaId, `</blockquote><script>x</script>\n.\n${hostile}`),
    );
    await runJobs(server);

    expect(recipients()).toEqual(['grace@example.com']);
    const { mail } = smtp.received[0] ?? {};
    expect(mail?.headers.map(({ key }) => key)).not.toEqual(expect.arrayContaining(['bcc']));
    expect(mail?.headers.map(({ key }) => key)).not.toEqual(expect.arrayContaining(['x-evil']));
    expect(mail?.subject).toBe(
      `Eve X-Evil: 1 ${hostile.replace('\u202e', '').replace('  ', ' ')} commented on “a Bcc: victim@example.com <img src=x onerror=alert(1)>" onclick="x &amp; 'y'”`,
    );
    expect(mail?.html).not.toMatch(/<img|<script|<\/blockquote><|\u202e/);
    expect(mail?.html).toContain('&lt;img src=x onerror=alert(1)&gt;&quot; onclick=&quot;x');
    expect(mail?.html).toContain('&amp;amp; &#39;y&#39;');
    expect(mail?.text).not.toContain('\u202e');
    const quoted = mail?.text?.split('\n').filter(line => line.startsWith('>'));
    expect(quoted).toEqual([
      '> </blockquote><script>x</script>',
      '> .',
      `> ${hostile.replace('\u202e', '')}`.replace('  ', ' '),
    ]);
  });

  test('a URL in a comment becomes a link in the HTML part of a mail, and the link shows the host name that browsers use', async () => {
    await createFollower('grace');
    await runAsUser(server, world, world.ownerId, op =>
      commentOnIdea(op, ideaId, 'See (https://a.example/b)\n\nand https://bücher.example/.'),
    );
    await runJobs(server);
    const { mail } = smtp.received[0] ?? {};
    expect(mail?.text).toContain('> See (https://a.example/b)\n> \n> and https://bücher.example/.');
    expect(mail?.html).toContain(
      '>See (<a href="https://a.example/b" dir="ltr" rel="nofollow ugc noopener">https://a.example/b</a>)\n\nand <a ',
    );
    expect(mail?.html).toContain('>https://xn--bcher-kva.example/</a>.');
  });

  test('the subject of a mail shortens a long title between two characters, not in the middle of a character', async () => {
    await server.sql('update ideas set title = $2 where id = $1', [ideaId, '🦀'.repeat(200)]);
    await createFollower('grace');
    await setStatus();
    await runJobs(server);

    expect(smtp.received[0]?.mail.subject).toBe(`“${'🦀'.repeat(79)}…” is now planned`);
    expect(smtp.received[0]?.mail.text).toContain('🦀'.repeat(200));
  });
});

describe('a mail job', () => {
  test('only followers with a notification e-mail address get a mail about the new status of an idea', async () => {
    await createFollower('grace');
    const silent = await createFollower('silent');
    await server.sql('update users set notification_email = null where id = $1', [silent]);
    await setStatus();
    await runJobs(server);

    expect(recipients()).toEqual(['grace@example.com']);
  });

  test('a mail is not retried if its recipient meanwhile unfollowed the idea, was blocked, left the account or removed their notification e-mail address', async () => {
    const [unfollowed, blocked, left, silent] = [
      await createFollower('unfollowed'),
      await createFollower('blocked'),
      await createFollower('left'),
      await createFollower('silent'),
    ];
    await createFollower('grace');
    await setStatus();
    // The mail server refuses these mails with a temporary error, so the mails wait for a retry.
    for (const address of ['grace', 'unfollowed', 'blocked', 'left', 'silent'])
      smtp.refuse(`${address}@example.com`, 450);
    expect(await runJobs(server)).toHaveLength(1);
    expect(smtp.received).toEqual([]);
    await administer(server, admin => unfollowIdea(admin, { ideaId, userId: unfollowed }));
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, blocked]);
    await server.sql('delete from memberships where user_id = $1', [left]);
    await server.sql('update users set notification_email = null where id = $1', [silent]);

    smtp.accept();
    await makeJobsDue(server);
    expect(await runJobs(server)).toEqual([]);
    expect(recipients()).toEqual(['grace@example.com']);
  });

  test('a mail that the mail server rejects permanently is not retried, and the other mails of the batch are sent', async () => {
    for (const name of ['anna', 'refused', 'zoe']) await createFollower(name);
    smtp.refuse('refused@example.com', 550);
    await setStatus();
    expect(await runJobs(server)).toEqual([]);

    expect(recipients()).toEqual(['anna@example.com', 'zoe@example.com']);
    expect(await unmailed()).toEqual([{ name: 'refused' }]);
    expect(await waitingJobs(server)).toEqual([]);
    expect(server.logLines.join()).not.toContain('refused@example.com');
  });

  test('invalid notification e-mail addresses do not prevent the other mails of the batch', async () => {
    for (const address of ['a>,<b@example.com', '']) {
      const broken = await createFollower('broken');
      await server.sql('update users set notification_email = $2 where id = $1', [broken, address]);
    }
    await createFollower('grace');
    await setStatus();
    expect(await runJobs(server)).toEqual([]);

    expect(recipients()).toEqual(['grace@example.com']);
  });

  test('only the mails that the mail server rejected temporarily are retried', async () => {
    for (const name of ['anna', 'later', 'zoe']) await createFollower(name);
    smtp.refuse('later@example.com', 450);
    await setStatus();
    expect(await runJobs(server)).toMatchObject([{ task: 'mail_people' }]);
    expect(recipients()).toEqual(['anna@example.com', 'zoe@example.com']);
    const [job] = await waitingJobs(server);
    const rows = await server.sql<{ id: number }>(
      'select id from notifications where mailed_at is null and account_id = $1',
      [world.accountId],
    );
    expect(job?.payload).toEqual(rows.map(({ id }) => ({ account_id: world.accountId, id })));

    smtp.accept();
    await makeJobsDue(server);
    expect(await runJobs(server)).toEqual([]);
    expect(recipients()).toEqual(['anna@example.com', 'zoe@example.com', 'later@example.com']);
  });

  test('a mail job that has already sent its mails sends no mail when it runs again', async () => {
    await createFollower('anna');
    await createFollower('zoe');
    await setStatus();
    await runJobs(server);
    const ids = await server.sql<{ id: number }>('select id from notifications where account_id = $1', [
      world.accountId,
    ]);
    await server.sql(`select graphile_worker.add_job('mail_people', $1::json)`, [
      JSON.stringify(ids.map(({ id }) => ({ account_id: world.accountId, id }))),
    ]);
    await runJobs(server);

    expect(recipients()).toEqual(['anna@example.com', 'zoe@example.com']);
  });

  test('after a crash in the middle of a batch of mails, at most one mail is sent twice, with the same message id', async () => {
    for (const name of ['anna', 'max', 'zoe']) await createFollower(name);
    // Simulates a crash after the mail to Max is sent and before the server records that this mail is sent.
    await server.sql(`create function die() returns trigger language plpgsql as $$ begin
      if (select name from users where id = new.user_id) = 'max' then raise 'died'; end if; return new; end $$`);
    await server.sql(
      'create trigger die before update of mailed_at on notifications for each row execute function die()',
    );
    await setStatus();
    expect(await runJobs(server)).toMatchObject([{ task: 'mail_people' }]);
    expect(recipients()).toEqual(['anna@example.com', 'max@example.com']);

    await server.sql('drop function die cascade');
    await makeJobsDue(server);
    expect(await runJobs(server)).toEqual([]);
    expect(recipients()).toEqual(['anna@example.com', 'max@example.com', 'max@example.com', 'zoe@example.com']);
    const [first, second] = smtp.received.filter(({ to }) => to === 'max@example.com');
    expect(first?.mail.messageId).toMatch(/^<notification-\d+@ideas\.example\.com>$/);
    expect(second?.mail.messageId).toBe(first?.mail.messageId);
  });

  test('twenty mails of a batch need at most one new connection to the mail server', async () => {
    for (let n = 0; n < 20; n++) await createFollower(`reader${n}`);
    const before = smtp.connections;
    await setStatus();
    await runJobs(server);

    expect(smtp.received).toHaveLength(20);
    expect(smtp.connections - before).toBeLessThanOrEqual(1);
  });
});

describe('the notices before a token expires', () => {
  const dayMs = 86_400_000;
  /**
   * Issues a token, by default in the name of the owner, that expires in `days` days. No mail about its expiry is due
   * when the token is issued.
   */
  async function expiring(days: number, options: { issuerId?: number; name?: string } = {}) {
    const { id } = await issueToken(server, world, 'read', { name: 'Support <b>', issuerId: ownerId, ...options });
    await expireIn(id, days);
    return id;
  }
  const expireIn = (id: number, days: number) =>
    server.sql('update api_tokens set expires_at = $2 where id = $1', [id, new Date(Date.now() + days * dayMs)]);
  let ownerId: number;
  beforeEach(async () => {
    await server.sql(`update api_tokens set revoked_at = now() where revoked_at is null`);
    ownerId = await createMember(server, world.accountId, 'owner', 'Ada');
    await server.sql(`update users set notification_email = 'ada@example.com' where id = $1`, [ownerId]);
  });
  const announce = async () => {
    await addExpiryNotices(server.database);
    expect(await runJobs(server)).toEqual([]);
  };

  test("a token's issuer gets one mail 7 days and one mail 1 day before the token expires, even with several parallel workers", async () => {
    const id = await expiring(7.01);
    await announce();
    expect(recipients()).toEqual([]);
    await expireIn(id, 6.99);
    const announceAtOnce = async () => {
      await Promise.all(Array.from({ length: 4 }, () => addExpiryNotices(server.database)));
      await announce();
    };
    await announceAtOnce();
    expect(recipients()).toEqual(['ada@example.com']);
    await expireIn(id, 1.01);
    await announce();
    expect(smtp.received).toHaveLength(1);
    await expireIn(id, 0.99);
    await announceAtOnce();
    await announceAtOnce();
    expect(recipients()).toEqual(['ada@example.com', 'ada@example.com']);
  });

  test('the expiry notice of a token names the token and the expiry time, links to the page of the token, and has an unsubscribe link', async () => {
    const id = await expiring(3);
    await server.sql(
      `update api_tokens set expires_at = date_trunc('day', expires_at) + interval '20 hours 15 minutes' where id = $1`,
      [id],
    );
    await announce();
    const { mail, raw } = smtp.received[0] ?? {};
    expect(mail?.subject).toBe('The token “Support <b>” expires soon');
    for (const part of [mail?.text, mail?.html]) {
      expect(part).toContain('at 20:15 UTC');
      expect(part).toContain('Rotate the token');
      expect(part).toContain(`https://ideas.example.com/admin/tokens/${id}?account=`);
      expect(part).toContain('https://ideas.example.com/unsubscribe?token=');
    }
    expect(mail?.html).toContain('Support &lt;b&gt;');
    expect(raw).toContain('List-Unsubscribe-Post: List-Unsubscribe=One-Click');
  });

  test('no expiry notice is sent for revoked tokens, expired tokens, OAuth grants, or tokens whose issuer is blocked, demoted or without a mail address', async () => {
    const admin = await createMember(server, world.accountId, 'admin', 'Former');
    const blocked = await createMember(server, world.accountId, 'admin', 'Blocked');
    const silent = await createMember(server, world.accountId, 'admin', 'Silent');
    await server.sql(`update users set notification_email = name || '@example.com' where id = any ($1)`, [
      [admin, blocked],
    ]);
    const [revoked, oauth] = [await expiring(3), await expiring(3)];
    await server.sql(`update api_tokens set revoked_at = now() where id = $1`, [revoked]);
    await server.sql(`update api_tokens set kind = 'oauth' where id = $1`, [oauth]);
    await expiring(-0.01);
    for (const issuerId of [admin, blocked, silent]) await expiring(3, { issuerId });
    await server.sql(`update memberships set role = 'moderator' where user_id = $1`, [admin]);
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, blocked]);
    await announce();
    expect(recipients()).toEqual([]);
  });

  test('no queued expiry notice is mailed after its token is revoked or gets a later expiry, and a rotated token gets notices again', async () => {
    const [revoked, rotated] = [await expiring(3), await expiring(3)];
    await addExpiryNotices(server.database);
    await server.sql('update api_tokens set revoked_at = now() where id = $1', [revoked]);
    const later = new Date(Date.now() + 90 * dayMs);
    await administer(server, admin =>
      rotateToken(admin, world.accountId, rotated, { overlapHours: 1, expiresAt: later }),
    );
    expect(await runJobs(server)).toEqual([]);
    expect(recipients()).toEqual([]);
    await expireIn(rotated, 6);
    await announce();
    expect(recipients()).toEqual(['ada@example.com']);
  });

  test('for a token that was issued for three days, the server sends only the notice one day before the expiry', async () => {
    const expiresAt = new Date(Date.now() + 3 * dayMs);
    const { id } = await issueToken(server, world, 'read', { issuerId: ownerId, expiresAt });
    await announce();
    expect(recipients()).toEqual([]);
    await expireIn(id, 0.9);
    await announce();
    expect(recipients()).toEqual(['ada@example.com']);
  });
});

describe('mails about the security of an account', () => {
  test("only owners get a mail about an account's planned deletion, and nobody gets it if the deletion is cancelled before the mail is sent", async () => {
    const secondId = await createMember(server, world.accountId, 'owner');
    await createMember(server, world.accountId, 'admin');
    await server.sql(`update accounts set name = 'Acme <b>' where id = $1`, [world.accountId]);
    await administer(server, admin =>
      scheduleAccountDeletion({ ...admin, now: new Date('2026-11-20T20:15:00Z') }, world.accountId),
    );
    // A second request to delete the account does not change the date of the deletion, and sends no mail.
    await administer(server, admin => scheduleAccountDeletion(admin, world.accountId));
    expect(await runJobs(server)).toEqual([]);
    expect(recipients().sort()).toEqual([await emailOf(server, world.ownerId), await emailOf(server, secondId)].sort());
    const { mail, raw } = smtp.received[0] ?? {};
    expect(mail?.subject).toBe('Acme <b> is to be deleted from Idea-Board');
    const [account] = await server.sql<{ slug: string }>('select slug from accounts where id = $1', [world.accountId]);
    for (const part of [mail?.text, mail?.html]) {
      expect(part).toContain('20 December 2026 at 20:15 UTC');
      expect(part).toContain(`https://ideas.example.com/admin/account?account=${account?.slug}`);
    }
    expect(mail?.html).toContain('Acme &lt;b&gt;');
    expect(raw).not.toContain('List-Unsubscribe');

    smtp.received.length = 0;
    await administer(server, admin => cancelAccountDeletion(admin, world.accountId));
    await administer(server, admin => scheduleAccountDeletion(admin, world.accountId));
    await server.sql(`update memberships set role = 'admin' where user_id = $1`, [secondId]);
    expect(await runJobs(server)).toEqual([]);
    expect(recipients()).toEqual([await emailOf(server, world.ownerId)]);
    smtp.received.length = 0;
    await administer(server, admin => cancelAccountDeletion(admin, world.accountId));
    await administer(server, admin => scheduleAccountDeletion(admin, world.accountId));
    await administer(server, admin => cancelAccountDeletion(admin, world.accountId));
    expect(await runJobs(server)).toEqual([]);
    expect(recipients()).toEqual([]);
  });

  test('a user gets a mail to their sign-in e-mail address when their password changes, but not when they set their first password', async () => {
    const set = (credential: string) => administer(server, admin => setPassword(admin, world.ownerId, credential));
    await set('$argon2id$first');
    expect(await waitingJobs(server)).toEqual([]);
    await set('$argon2id$second');
    expect(await runJobs(server)).toEqual([]);
    expect(smtp.received).toMatchObject([
      {
        to: await emailOf(server, world.ownerId),
        mail: {
          subject: 'Your password for Idea-Board was changed',
          text: expect.stringContaining('https://ideas.example.com/admin/password-link'),
        },
      },
    ]);
  });
});
