import { beforeEach, describe, expect, test } from 'vitest';
import type { Role } from '../../server/entities/membership.ts';
import { readAudit } from '../helpers/audit.ts';
import {
  createMember,
  createTag,
  createUser,
  createWorld,
  insertIdea,
  issueToken,
  type World,
} from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { snapshot } from '../helpers/snapshot.ts';
import { type Seen, signedIn, type Visitor } from './visitor.ts';

const server = await startServerForFile();
const world = await createWorld(server, { name: 'Web app', preModeration: true });
const moderatorId = await createMember(server, world.accountId, 'moderator', 'Ada');
const ada = await signedIn(server, moderatorId);
beforeEach(() => {
  server.auditLines.length = 0;
});

const audit = () => readAudit(server.auditLines).filter(({ event }) => !event.startsWith('sign_in'));
const formToken = async (visitor: Visitor) =>
  /name="form_token" value="([^"]+)"/.exec((await visitor.get('/admin')).html)?.[1] ?? '';

describe('a block', () => {
  test("a moderator can block and unblock the author of a pending idea, and the author's API tokens cannot write during the block", async () => {
    const authorId = await createMember(server, world.accountId, 'member', 'Mallory');
    const { token } = await issueToken(server, world, 'write', { issuerId: authorId });
    await insertIdea(server, world, { title: 'Buy watches', moderationState: 'pending', authorId });
    const write = () => request(server, 'POST /api/v1/ideas', { token, json: { title: 'More', body: 'watches' } });
    const path = `/admin/blocks/${authorId}?from=queue`;
    expect((await ada.get('/admin/queue')).html).toContain(`href="${path}"`);
    const long = await ada.submit(path, path, { reason: 'x'.repeat(501) });
    expect([long.status, long.html.includes('at most 500 characters')]).toEqual([422, true]);
    const answer = await ada.submit(path, path, { reason: 'Spam <again>' });
    expect(answer.location).toBe('/admin/queue?notice=blocked');
    expect((await write()).key).toBe('user_blocked');
    const list = await ada.get('/admin/blocks');
    expect([list.html.includes('<bdi>Mallory</bdi>'), list.html.includes('Spam &lt;again&gt;')]).toEqual([true, true]);
    const end = `/admin/blocks/${authorId}/end`;
    expect((await ada.submit('/admin/blocks', end)).location).toBe('/admin/blocks?notice=unblocked');
    expect((await write()).status).toBe(201);
    expect(audit().filter(({ event }) => event.startsWith('user.'))).toMatchObject([
      { event: 'user.blocked', user_id: authorId, by: 'user', by_user_id: moderatorId },
      { event: 'user.unblocked', user_id: authorId, by: 'user', by_user_id: moderatorId },
    ]);
  });

  test("a moderator cannot block themselves, a person with a higher role or a person who has no relation to the moderator's account", async () => {
    const form_token = await formToken(ada);
    const strangers = [await createUser(server), (await createWorld(server)).ownerId, 999_999_999];
    for (const [userId, status] of [
      [world.ownerId, 403],
      [await createMember(server, world.accountId, 'admin'), 403],
      [moderatorId, 403],
      ...strangers.map(id => [id, 404] as const),
    ] as const) {
      const path = `/admin/blocks/${userId}`;
      const answers = [
        await ada.get(path),
        await ada.post(path, { form_token }),
        await ada.post(`${path}/end`, { form_token }),
      ];
      expect([userId, ...answers.map(answer => answer.status)]).toEqual([userId, status, status, status]);
    }
    expect(audit()).toEqual([]);
  });

  test('a moderator who is blocked cannot open the moderation pages from their next request on', async () => {
    const userId = await createMember(server, world.accountId, 'moderator', 'Eve');
    const eve = await signedIn(server, userId);
    expect((await eve.get('/admin/queue')).status).toBe(200);
    const path = `/admin/blocks/${userId}`;
    await ada.submit(path, path, { reason: '' });
    expect((await eve.get('/admin/queue')).location).toMatch(/^\/sign-in/);
  });

  test('the list of blocked people has several pages, and the newest block comes first', async () => {
    const own = await createWorld(server);
    const visitor = await signedIn(server, own.ownerId);
    await server.sql(
      `with made as (insert into users (email, name) select 'b' || n || '@bots.example', 'Bot ' || n
        from generate_series(1, 27) n returning id, name)
      insert into user_blocks (account_id, user_id, created_at)
      select $1::bigint, id, timestamptz '2026-01-01 00:00Z' + (substring(name from '\\d+') || ' hours')::interval from made`,
      [own.accountId],
    );
    const names = ({ html }: Seen) => [...html.matchAll(/<h2><bdi>([^<]+)/g)].map(([, name]) => name);
    const first = await visitor.get('/admin/blocks');
    expect([names(first).length, names(first)[0]]).toEqual([25, 'Bot 27']);
    const [, next = ''] = /rel="next" href="([^"]+)"/.exec(first.html) ?? [];
    expect(names(await visitor.get(next))).toEqual(['Bot 2', 'Bot 1']);
  });
});

/** Returns the paths of all moderation pages and forms of one account. */
async function routesOf({ accountId, boardId, boardSlug, ...rest }: World) {
  const on = { accountId, boardId, boardSlug, ...rest };
  const id = await insertIdea(server, on);
  const waiting = await insertIdea(server, on, { moderationState: 'pending' });
  const rejected = await insertIdea(server, on, { moderationState: 'rejected' });
  const tagId = await createTag(server, accountId, boardId);
  const authorId = await createMember(server, accountId, 'member');
  const idea = `/admin/ideas/${id}`;
  return {
    pages: [
      '/admin/queue',
      `/admin/queue?board=${boardSlug}`,
      '/admin/queue/rejected',
      '/admin/ideas',
      `/admin/ideas?board=${boardSlug}`,
      idea,
      `/admin/ideas/${waiting}`,
      `/admin/ideas/${rejected}`,
      `/admin/ideas/${waiting}/reject`,
      `${idea}/merge`,
      `${idea}/merge?target=${waiting}`,
      `${idea}/unmerge`,
      `${idea}/votes`,
      '/admin/blocks',
      `/admin/blocks/${authorId}`,
    ],
    forms: [
      [`/admin/ideas/${waiting}/approve`, {}],
      [`/admin/ideas/${waiting}/reject`, { reason: 'No.' }],
      [`${idea}/status`, { status: 'done' }],
      [`${idea}/tags`, { tag_id: String(tagId) }],
      [`${idea}/tags/${tagId}/remove`, {}],
      [`${idea}/follow`, { follow: 'yes' }],
      [`${idea}/merge`, { target_id: String(id) }],
      [`${idea}/unmerge`, {}],
      [`/admin/blocks/${authorId}`, { reason: 'Spam' }],
      [`/admin/blocks/${authorId}/end`, {}],
    ] as [string, Record<string, string>][],
  };
}

describe('the pages of moderation', () => {
  test('neither a person with the role member nor a visitor can open the moderation pages or send their forms', async () => {
    const { pages, forms } = await routesOf(world);
    const member = await signedIn(server, await createMember(server, world.accountId, 'member'));
    const home = await member.get('/admin');
    expect(home.html).not.toMatch(/\/admin\/(queue|ideas|blocks)/);
    const form_token = await formToken(member);
    server.auditLines.length = 0;
    const before = await snapshot(server);
    for (const path of pages) {
      const answer = await member.get(path);
      expect([path, answer.status, answer.html.includes('is member')]).toEqual([path, 403, true]);
    }
    for (const [path, fields] of forms) {
      expect([path, (await member.post(path, { form_token, ...fields })).status]).toEqual([path, 403]);
    }
    member.cookies.clear();
    for (const path of pages) expect((await member.get(path)).location).toMatch(/^\/sign-in\?next=/);
    for (const [path, fields] of forms) {
      expect((await member.post(path, fields)).location).toMatch(/^\/sign-in/);
    }
    expect(await snapshot(server)).toEqual(before);
    expect(audit()).toEqual([]);
  });

  test.each(['admin', 'owner'] as Role[])(
    'a person with the role %s can open the moderation queue, the list of ideas and the list of blocked people',
    async role => {
      const visitor = await signedIn(server, await createMember(server, world.accountId, role));
      for (const path of ['/admin/queue', '/admin/ideas', '/admin/blocks']) {
        expect([path, (await visitor.get(path)).status]).toEqual([path, 200]);
      }
      expect((await visitor.get('/admin')).html).toContain('href="/admin/queue"');
    },
  );

  test('the moderation pages neither show nor change ideas of another account', async () => {
    const { pages, forms } = await routesOf(await createWorld(server, { preModeration: true }));
    const form_token = await formToken(ada);
    const before = await snapshot(server);
    for (const path of pages.filter(one => /\d|board=/.test(one))) {
      expect([path, (await ada.get(path)).status]).toEqual([path, 404]);
    }
    for (const [path, fields] of forms) {
      expect([path, (await ada.post(path, { form_token, ...fields })).status]).toEqual([path, 404]);
    }
    expect(await snapshot(server)).toEqual(before);
    expect(audit()).toEqual([]);
  });

  test('if a user has several accounts, every link and form on the moderation pages stays in the chosen account', async () => {
    const other = await createWorld(server, { preModeration: true });
    const userId = await createMember(server, world.accountId, 'moderator');
    await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'moderator')`, [
      other.accountId,
      userId,
    ]);
    const [{ slug } = { slug: '' }] = await server.sql<{ slug: string }>('select slug from accounts where id = $1', [
      other.accountId,
    ]);
    const visitor = await signedIn(server, userId);
    const id = await insertIdea(server, other, { title: 'There', moderationState: 'pending' });
    const inAccount = `account=${slug}`;
    const approve = `/admin/ideas/${id}/approve?${inAccount}&from=queue`;
    const answer = await visitor.submit(`/admin/queue?${inAccount}`, approve);
    expect(answer.location).toBe(`/admin/queue?${inAccount}&notice=approved`);
    // Every link and form must contain the account, including the search forms.
    for (const path of ['/admin/ideas', `/admin/ideas/${id}`, `/admin/ideas/${id}/merge`, '/admin/blocks']) {
      const { html, status } = await visitor.get(`${path}?${inAccount}`);
      expect([path, status]).toEqual([path, 200]);
      const paths = [...html.matchAll(/(?:href|action)="(\/admin\/[^"]*)"/g)].map(([, one = '']) => one);
      const searches = paths.filter(one => html.includes(`<form class="search" method="get" action="${one}">`));
      expect(html.split(`name="account" value="${slug}"`)).toHaveLength(searches.length + 1);
      const leaving = paths.filter(one => !one.includes(inAccount) && one !== '/admin/sign-out');
      expect(leaving).toEqual(searches);
    }
  });

  test("the moderation pages escape HTML in every text of a user, and no such text changes the page's text direction", async () => {
    const hostile = `"><img src=x onerror='alert(1)'>\u202e`;
    const own = await createWorld(server, { name: hostile, preModeration: true });
    const visitor = await signedIn(server, own.ownerId);
    const authorId = await createMember(server, own.accountId, 'member', hostile);
    const input = { title: hostile, body: hostile, authorId };
    const [id, target, merged, waiting, rejected] = [
      await insertIdea(server, own, input),
      await insertIdea(server, own, input),
      await insertIdea(server, own, input),
      await insertIdea(server, own, { ...input, moderationState: 'pending' }),
      await insertIdea(server, own, { ...input, moderationState: 'rejected' }),
    ];
    const tagId = await createTag(server, own.accountId, own.boardId, '<img src=x>\u202e');
    await createTag(server, own.accountId, own.boardId, '<img src=y>\u202e');
    await server.sql('update accounts a set name = $2 where id = $1', [own.accountId, hostile]);
    await server.sql('update ideas i set rejection_reason = $2 where id = $1', [rejected, hostile]);
    await server.sql(`update statuses s set label = $2 where board_id = $1`, [own.boardId, hostile]);
    await server.sql('insert into idea_tags (idea_id, tag_id, account_id) values ($1, $2, $3)', [
      id,
      tagId,
      own.accountId,
    ]);
    await server.sql('insert into comments (account_id, idea_id, author_id, body) values ($1, $2, $3, $4)', [
      own.accountId,
      id,
      authorId,
      hostile,
    ]);
    const mergePath = `/admin/ideas/${merged}/merge`;
    await visitor.submit(`${mergePath}?target=${id}`, mergePath);
    const blockPath = `/admin/blocks/${authorId}`;
    expect((await visitor.get(blockPath)).html).not.toContain('<img');
    await visitor.submit(blockPath, blockPath, { reason: hostile });
    const paths = [
      '/admin',
      '/admin/queue',
      '/admin/ideas',
      `/admin/ideas?q=${encodeURIComponent(`img ${hostile}`)}`,
      ...[id, merged, waiting, rejected].map(one => `/admin/ideas/${one}`),
      `/admin/ideas/${waiting}/reject`,
      `/admin/ideas/${id}/merge?q=img`,
      `/admin/ideas/${id}/merge?target=${target}`,
      `/admin/ideas/${merged}/unmerge`,
      '/admin/blocks',
      blockPath,
    ];
    for (const path of paths) {
      const { html, status } = await visitor.get(path);
      expect([path, status, /<img|onerror='/.test(html)]).toEqual([path, 200, false]);
      expect([path, html.includes('&lt;img')]).toEqual([path, true]);
      // Paragraphs and input fields may contain a character that reverses the text direction, because their elements
      // isolate the direction.
      const outside = html.replaceAll(
        /<(p|textarea) [^>]*(?:dir="auto"|name="reason")[^>]*>[^<]*|<input id="q"[^>]*>/g,
        '',
      );
      expect([path, outside.includes('\u202e')]).toEqual([path, false]);
    }
  });
});
