import { parse } from 'node-html-parser';
import { beforeEach, describe, expect, test } from 'vitest';
import { type Arguments, query } from '../../server/database/query.ts';
import { mailableNotifications } from '../../server/delivery/mail/mailable-notifications.ts';
import { commentOnIdea } from '../../server/domain/comments/comments.ts';
import { deleteIdea } from '../../server/domain/ideas/change-idea.ts';
import { followIdea } from '../../server/domain/notifications/followers.ts';
import { setIdeaStatus } from '../../server/domain/statuses/set-idea-status.ts';
import { readAudit } from '../helpers/audit.ts';
import { createMember, createUser, createWorld, insertIdea, type World } from '../helpers/fixtures.ts';
import { runJobs } from '../helpers/jobs.ts';
import { runAsUser } from '../helpers/run-as-user.ts';
import { startServerForFile, startServerForTest } from '../helpers/server.ts';
import { addWebhook, administer } from '../helpers/webhooks.ts';
import { givePassword, hiddenFields, type Person, signedIn, Visitor } from './visitor.ts';

const path = '/admin/profile/notifications';
const following = '/admin/profile/following';
const mailable = query('mailable_in_test', (db, $: Arguments<{ accountId: number }>) =>
  mailableNotifications(db, $.accountId),
);
let world: World;
let actorId: number;
let userId: number;
let person: Person;
let visitor: Visitor;

const server = await startServerForFile();
beforeEach(async () => {
  world = await createWorld(server, { name: 'Web app' });
  actorId = await createMember(server, world.accountId, 'moderator', 'Ada');
  userId = await createMember(server, world.accountId, 'member', 'Grace');
  person = await givePassword(server, userId);
  visitor = new Visitor(server);
  await visitor.signIn(person.email, person.password);
});

async function followed(title: string, by = userId, where = world): Promise<number> {
  const ideaId = await insertIdea(server, where, { title });
  await administer(server, admin => followIdea(admin, where.accountId, { ideaId, userId: by }));
  return ideaId;
}

/** Changes the status of an idea and comments on it. Both actions notify the idea's followers. */
async function tell(ideaId: number, comment = 'Soon.') {
  await runAsUser(server, world, actorId, op => setIdeaStatus(op, ideaId, 'planned'));
  await runAsUser(server, world, actorId, op => commentOnIdea(op, ideaId, comment));
  expect(await runJobs(server)).toEqual([]);
}

const sentencesIn = (html: string) =>
  [...html.matchAll(/<(?:p|button class="button-link")>(?:<a[^>]*>)?<bdi>([^<]+)/g)].map(([, text]) => text);

/** Marks all notifications of the user as read, and returns the links of the notifications on the page. */
async function readLinks(by = visitor) {
  await server.sql('update notifications set read_at = now() where user_id = $1', [userId]);
  return [...(await by.get(path)).html.matchAll(/<p><a href="([^"]+)"/g)].map(([, href = '']) => href);
}

const unread = async (id = userId) =>
  (
    await server.sql<{ id: number }>(
      'select id from notifications where user_id = $1 and read_at is null order by id',
      [id],
    )
  ).map(one => one.id);

/** Creates `count` notifications about the idea for the user. */
async function tellOften(ideaId: number, count: number) {
  await server.sql(
    `insert into notifications (account_id, user_id, event_id, kind)
    select $4, $1, record_event($4, 'idea.status_changed', $2, null, $5, null, jsonb_build_object('n', n), now()),
      'idea.status_changed'
    from generate_series(1, $3) n`,
    [userId, ideaId, count, world.accountId, actorId],
  );
  await server.sql('delete from graphile_worker._private_jobs');
}

describe('notifications', () => {
  test('the list of notifications begins with the newest, the page header counts the unread notifications, and a user can mark one or all as read', async () => {
    const ideaId = await followed('Dark mode');
    expect((await visitor.get(path)).html).toContain('You have no notifications yet');
    await tell(ideaId);
    const { html } = await visitor.get(path);
    expect(sentencesIn(html)).toEqual(['Ada commented on “Dark mode”:', 'Ada moved “Dark mode” to planned.']);
    expect(html).toContain('Soon.');
    expect(html).toContain('2 new<span');
    // Opening the page does not mark a notification as read.
    const [older = 0, newer = 0] = await unread();

    expect((await visitor.submit(path, `${path}/${older}/read`)).location).toBe(`${path}?notice=read`);
    expect(await unread()).toEqual([newer]);
    expect((await visitor.get('/admin')).html).toContain('1 new<span');
    // A notification that arrives after the page was opened must stay unread.
    const seen = hiddenFields((await visitor.get(path)).html, `${path}/read`);
    await tell(await followed('Offline mode'));
    expect((await visitor.post(`${path}/read`, seen)).location).toBe(`${path}?notice=all_read`);
    expect(await unread()).toHaveLength(2);
    await visitor.submit(path, `${path}/read`);
    expect(await unread()).toEqual([]);
    const after = (await visitor.get(path)).html;
    expect([after.includes('Mark'), after.includes(' new<span')]).toEqual([false, false]);
  });

  test('a reader whose browser prefers German sees their notifications in German', async () => {
    await tell(await followed('Dark mode'));
    const { html } = await visitor.get(path, { headers: { 'accept-language': 'de' } });
    expect(sentencesIn(html)).toEqual(['Ada hat „Dark mode“ kommentiert:', 'Ada hat „Dark mode“ auf planned gesetzt.']);
  });

  test('a user cannot mark the notifications of another user as read', async () => {
    const ideaId = await followed('Dark mode');
    await administer(server, admin => followIdea(admin, world.accountId, { ideaId, userId: world.ownerId }));
    await tell(ideaId);
    const of = await unread(world.ownerId);
    const fields = hiddenFields((await visitor.get(path)).html, `${path}/read`);
    for (const id of of) expect((await visitor.post(`${path}/${id}/read`, fields)).status).toBe(303);
    await visitor.post(`${path}/read`, { ...fields, up_to: '999999999' });
    expect(await unread(world.ownerId)).toEqual(of);
    for (const id of ['x', '0', '9'.repeat(20)]) {
      expect((await visitor.post(`${path}/${id}/read`, fields)).status).toBe(404);
    }
    for (const up_to of ['', 'x', '-1', '9'.repeat(20)]) {
      expect((await visitor.post(`${path}/read`, { ...fields, up_to })).status).toBe(303);
    }
  });

  test('each page of notifications begins after the last notification of the previous page, even if a new notification arrives meanwhile', async () => {
    const ideaId = await followed('Dark mode');
    await tellOften(ideaId, 60);
    const first = await visitor.get(path);
    expect(first.html.match(/<li class="card/g)).toHaveLength(25);
    expect(first.html).toContain('50+ new<span');
    expect(first.html.length).toBeLessThan(50_000);
    const ids = await unread();
    const next = `${path}?before=${ids.at(-25)}`;
    expect(first.html).toContain(`href="${next}"`);
    await tellOften(ideaId, 1);
    const second = await visitor.get(next);
    expect(second.html.match(/<li class="card/g)).toHaveLength(25);
    expect(second.html).toContain(`action="${path}/${ids.at(-26)}/read?before=${ids.at(-25)}"`);
    const last = await visitor.get(`${path}?before=${ids.at(9)}`);
    expect(last.html.match(/<li class="card/g)).toHaveLength(9);
    expect(last.html).not.toContain('Next page');
    const marked = await visitor.submit(next, `${path}/${ids.at(-26)}/read?before=${ids.at(-25)}`);
    expect(marked.location).toBe(`${path}?before=${ids.at(-25)}&notice=read`);
  });

  test('a notification has a link to its idea only if the user may read the linked page', async () => {
    const ideaId = await followed('Dark mode');
    await tell(ideaId);
    const [comment] = await server.sql<{ id: number }>('select id from comments where idea_id = $1', [ideaId]);
    const both = (idea: string) => [`${idea}?comment=${comment?.id}#comment-${comment?.id}`, idea];
    const own = `/b/${world.boardSlug}/ideas/${ideaId}`;
    expect(await readLinks()).toEqual(both(own));
    expect((await visitor.get(own)).status).toBe(200);
    await server.sql('delete from memberships where user_id = $1', [userId]);
    expect((await visitor.get(own)).status).toBe(404);
    expect(await readLinks()).toEqual([]);
    await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'member')`, [
      world.accountId,
      userId,
    ]);
    const elsewhere = await startServerForTest({
      on: server,
      environment: { IDEA_URL: 'https://feedback.example.com/{board}/{id}' },
    });
    const there = new Visitor(elsewhere);
    await there.signIn(person.email, person.password);
    expect(await readLinks(there)).toEqual(Array(2).fill(`https://feedback.example.com/${world.boardSlug}/${ideaId}`));
    await server.sql(`update memberships set role = 'moderator' where user_id = $1`, [userId]);
    expect(await readLinks()).toEqual(both(`/admin/ideas/${ideaId}`));
  });

  test('a user who opens an unread notification comes to the idea, and the notification is read, but opening a page in advance marks nothing as read', async () => {
    const ideaId = await followed('Dark mode');
    await tell(ideaId);
    const [older = 0, newer = 0] = await unread();
    server.auditLines.length = 0;
    const opened = await visitor.submit(path, `${path}/${older}/open`);
    expect([opened.status, opened.location]).toEqual([303, `/b/${world.boardSlug}/ideas/${ideaId}`]);
    expect((await visitor.get(opened.location ?? '')).html).toContain('<h1 dir="auto">Dark mode</h1>');
    expect(await unread()).toEqual([newer]);
    expect(readAudit(server.auditLines)).toMatchObject([{ event: 'notifications.read', user_id: userId, count: 1 }]);
    const { html } = await visitor.get(path);
    expect([html.match(/>New</g)?.length, html.includes(`<a href="${opened.location}">`)]).toEqual([1, true]);
    expect((await visitor.get(`${path}/${newer}/open`)).status).toBe(405);
    expect(await unread()).toEqual([newer]);
  });

  test('an unread notification opens an idea on the website in IDEA_URL through a page that forwards the browser', async () => {
    const ideaId = await followed('Dark mode');
    await tell(ideaId);
    const [id] = await unread();
    const elsewhere = await startServerForTest({
      on: server,
      environment: { IDEA_URL: 'https://feedback.example.com/{board}/{id}' },
    });
    const there = await signedIn(elsewhere, userId);
    const opened = await there.submit(path, `${path}/${id}/open`);
    const url = `https://feedback.example.com/${world.boardSlug}/${ideaId}`;
    expect([opened.status, opened.html.includes(`content="0; url=${url}"`)]).toEqual([200, true]);
    expect(opened.html).toContain(`href="${url}">Continue to <bdi>feedback.example.com</bdi></a>`);
    expect(await unread()).toHaveLength(1);
  });

  test('a user cannot open a notification of another user or of an account that the user has left, and a notification of a deleted idea only becomes read', async () => {
    const ideaId = await followed('Dark mode');
    await administer(server, admin => followIdea(admin, world.accountId, { ideaId, userId: world.ownerId }));
    await tell(ideaId);
    const [other] = await unread(world.ownerId);
    const [older, newer] = await unread();
    const fields = hiddenFields((await visitor.get(path)).html, '/admin/sign-out');
    const open = (id: number | string | undefined) => visitor.post(`${path}/${id}/open`, fields);
    for (const id of [other, 'x', '0', '9'.repeat(15)]) expect([id, (await open(id)).status]).toEqual([id, 404]);
    expect((await visitor.post(`${path}/${older}/open`, {})).status).toBe(403);
    expect(await unread(world.ownerId)).toContain(other);
    await server.sql(`update notifications set kind = 'idea.deleted' where id = $1`, [older]);
    expect((await open(older)).location).toBe(`${path}?notice=read`);
    expect(await unread()).toEqual([newer]);
    await server.sql('delete from memberships where user_id = $1', [userId]);
    expect((await open(newer)).status).toBe(404);
    expect(await unread()).toEqual([newer]);
  });

  test('the link of a notification about a comment or a mention opens the page of comments that has the comment, for members and moderators', async () => {
    const ideaId = await followed('Dark mode');
    await server.sql(
      `insert into comments (account_id, idea_id, author_id, body)
      select $1, $2, $3, 'Comment ' || n from generate_series(1, 45) n`,
      [world.accountId, ideaId, world.ownerId],
    );
    const { id: first } = await runAsUser(server, world, actorId, op => commentOnIdea(op, ideaId, 'Soon.'));
    const { id: second } = await runAsUser(server, world, world.ownerId, op =>
      commentOnIdea(op, ideaId, '@Grace, please test it.'),
    );
    await server.sql(
      `insert into comments (account_id, idea_id, author_id, body)
      select $1, $2, $3, 'Later ' || n from generate_series(1, 25) n`,
      [world.accountId, ideaId, actorId],
    );
    expect(await runJobs(server)).toEqual([]);
    const shownAt = async (link: string) => {
      const [page = '', fragment] = link.split('#');
      const comments = parse((await visitor.get(page)).html).querySelectorAll('.comments li');
      return [comments.length <= 20, comments.some(({ id }) => id === fragment)];
    };
    for (const role of ['member', 'moderator']) {
      await server.sql('update memberships set role = $2 where user_id = $1', [userId, role]);
      const [mention = '', comment = ''] = await readLinks();
      expect([mention, comment].map(one => one.split('#')[1])).toEqual([`comment-${second}`, `comment-${first}`]);
      for (const link of [mention, comment]) expect([link, await shownAt(link)]).toEqual([link, [true, true]]);
    }
  });

  test('after a user is removed from an account, blocked or demoted, the page, the counter and the mails show no notifications that the user may no longer read', async () => {
    const ideaId = await followed('Dark mode');
    await tell(ideaId);
    const { id } = await addWebhook(server, world, { url: 'https://hooks.example.com/a' });
    await server.sql(
      `insert into notifications (account_id, user_id, endpoint_id, event_id, kind)
      values ($1, $2, $3, null, 'webhook.disabled'),
        ($1, $2, null, record_event($1, 'idea.pending', $4, null, $5, null, '{}', now()), 'idea.pending')`,
      [world.accountId, userId, id, ideaId, actorId],
    );
    const shown = async () => {
      const page = parse((await visitor.get(path)).html);
      const mails = await server.database.query(mailable, { accountId: world.accountId });
      return {
        notifications: page.querySelectorAll('.card-list li').length,
        hasCounter: page.querySelector('a.chip-active') !== null,
        mails: mails.map(({ kind }) => kind).sort(),
      };
    };
    const setRole = (role: string) => server.sql('update memberships set role = $2 where user_id = $1', [userId, role]);
    await server.sql('update users set notification_email = email where id = $1', [userId]);
    const ofFollower = ['comment.created', 'idea.status_changed'];
    await setRole('admin');
    const all = [...ofFollower, 'idea.pending', 'webhook.disabled'].sort();
    expect(await shown()).toEqual({ notifications: 4, hasCounter: true, mails: all });
    await setRole('moderator');
    expect(await shown()).toMatchObject({ notifications: 3, mails: [...ofFollower, 'idea.pending'].sort() });
    await setRole('member');
    expect(await shown()).toMatchObject({ notifications: 2, mails: ofFollower });
    const elsewhere = await createWorld(server);
    await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'member')`, [
      elsewhere.accountId,
      userId,
    ]);
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, userId]);
    expect(await shown()).toEqual({ notifications: 0, hasCounter: false, mails: [] });
    await server.sql('delete from user_blocks where user_id = $1', [userId]);
    await server.sql('delete from memberships where user_id = $1 and account_id = $2', [userId, world.accountId]);
    expect(await shown()).toEqual({ notifications: 0, hasCounter: false, mails: [] });
  });

  test('a notification about a disabled webhook has a link to the webhooks', async () => {
    const { id } = await addWebhook(server, world, { url: 'https://hooks.example.com/a' });
    await server.sql(
      `insert into notifications (account_id, user_id, endpoint_id, kind) values ($1, $2, $3, 'webhook.disabled')`,
      [world.accountId, userId, id],
    );
    await server.sql(`update memberships set role = 'admin' where user_id = $1`, [userId]);
    expect((await visitor.get(path)).html).toContain('The webhook to https://hooks.example.com/a was disabled:');
    expect(await readLinks()).toEqual(['/admin/webhooks']);
  });
});

describe('followed ideas', () => {
  test('the list of followed ideas shows only the ideas that the user follows, and unfollowing an idea does not affect its other followers', async () => {
    const ideaId = await followed('Dark mode');
    await administer(server, admin => followIdea(admin, world.accountId, { ideaId, userId: world.ownerId }));
    const page = await visitor.get(following);
    expect(page.html).toMatch(/<h2><a href="\/b\/[\w-]+\/ideas\/\d+"><bdi>Dark mode<\/bdi><\/a><\/h2>/);
    expect(page.html).toContain('Web app');
    const answer = await visitor.submit(following, `${following}/${ideaId}/unfollow`);
    expect(answer.location).toBe(`${following}?notice=unfollowed`);
    expect((await visitor.get(following)).html).toContain('You follow no idea.');
    expect(await server.sql('select user_id from followers where idea_id = $1', [ideaId])).toEqual([
      { user_id: world.ownerId },
    ]);
    expect(
      (await visitor.post(`${following}/${ideaId}/unfollow`, hiddenFields(page.html, '/admin/sign-out'))).status,
    ).toBe(303);
  });

  test('each page of followed ideas begins after the last idea of the previous page, even if the user follows a new idea meanwhile', async () => {
    for (let n = 0; n < 27; n++) await followed(`Idea ${n}`);
    const first = await visitor.get(following);
    const titles = (html: string) => [...html.matchAll(/<h2><a [^>]*><bdi>([^<]+)/g)].map(([, title]) => title);
    expect(titles(first.html)).toEqual(Array.from({ length: 25 }, (_, n) => `Idea ${26 - n}`));
    const next = /rel="next" href="([^"]+before=\d+)"/.exec(first.html)?.[1] ?? '';
    await followed('Newer than all');
    const second = await visitor.get(next);
    expect(titles(second.html)).toEqual(['Idea 1', 'Idea 0']);
    expect(second.html).not.toContain('Next page');
  });

  test('the list of followed ideas omits a deleted idea, and its pages stay full', async () => {
    const ids: number[] = [];
    for (let n = 0; n < 28; n++) ids.push(await followed(`Idea ${n}`));
    await runAsUser(server, world, actorId, op => deleteIdea(op, ids[27] ?? 0));
    const { html } = await visitor.get(following);
    const titles = [...html.matchAll(/<h2><a [^>]*><bdi>([^<]+)/g)].map(([, title]) => title);
    expect(titles).toEqual(Array.from({ length: 25 }, (_, n) => `Idea ${26 - n}`));
    expect(html).not.toContain('(deleted)');
    expect(html).toContain(`before=${ids[2]}`);
    const kept = await server.sql('select from followers where user_id = $1', [userId]);
    expect(kept).toHaveLength(28);
  });

  test('the list of followed ideas omits ideas of an account if the user has left the account or is blocked in the account', async () => {
    const other = await createWorld(server);
    await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'moderator')`, [
      other.accountId,
      userId,
    ]);
    const [account] = await server.sql<{ slug: string }>('select slug from accounts where id = $1', [other.accountId]);
    const ideaId = await followed('Elsewhere', userId, other);
    const { html } = await visitor.get(following);
    expect(html).toContain(`href="/admin/ideas/${ideaId}?account=${account?.slug}"`);
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [other.accountId, userId]);
    expect((await visitor.get(following)).html).not.toContain('Elsewhere');
    await server.sql('delete from user_blocks where user_id = $1', [userId]);
    expect((await visitor.get(following)).html).toContain('Elsewhere');
    await server.sql('delete from memberships where account_id = $1 and user_id = $2', [other.accountId, userId]);
    expect((await visitor.get(following)).html).not.toContain('Elsewhere');
  });
});

test('the list of notifications shows a notification of an unknown kind that a newer version of the server created', async () => {
  await tell(await followed('Dark mode'));
  await server.sql(`update notifications set kind = 'idea.polished' where user_id = $1 and kind = 'comment.created'`, [
    userId,
  ]);
  const { status, html } = await visitor.get(path);
  expect([status, html.includes('Something happened to “Dark mode”.'), html.includes('moved “Dark mode”')]).toEqual([
    200,
    true,
    true,
  ]);
});

test('the lists of notifications and followed ideas escape HTML in every text of a user', async () => {
  const hostile = `"><img src=x onerror='alert(1)'>\u202e`;
  const ideaId = await followed(hostile);
  await server.sql('update users u set name = $2 where id = $1', [actorId, hostile]);
  await server.sql('update boards b set name = $2 where id = $1', [world.boardId, hostile]);
  await server.sql(`update statuses s set label = $2 where board_id = $1`, [world.boardId, hostile]);
  await tell(ideaId, hostile);
  // The lists show account names only to a user with two accounts.
  const other = await createWorld(server);
  await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'member')`, [
    other.accountId,
    userId,
  ]);
  await server.sql('update accounts a set name = $2 where id = any ($1)', [
    [world.accountId, other.accountId],
    hostile,
  ]);
  for (const [page, times] of [
    [path, 6],
    [following, 4],
  ] as const) {
    const { html } = await visitor.get(page);
    expect([html.includes('<img'), html.includes('\u202e')]).toEqual([false, false]);
    const shown = html.split('&quot;&gt;&lt;img src=x onerror=&#39;alert(1)&#39;&gt;').length - 1;
    expect([page, shown >= times]).toEqual([page, true]);
  }
});

test('an empty list of notifications and an empty list of followed ideas show a message', async () => {
  const nobody = await signedIn(server, await createUser(server));
  expect((await nobody.get(path)).html).toContain('You have no notifications yet');
  expect((await nobody.get(following)).html).toContain('You follow no idea.');
  expect((await nobody.get(`${path}?before=5`)).html).toContain('There are no older notifications');
});
