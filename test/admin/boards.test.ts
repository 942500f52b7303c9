import { parse } from 'node-html-parser';
import { beforeEach, describe, expect, test } from 'vitest';
import { listBoardOverviews } from '../../server/domain/boards/list-boards.ts';
import { operatorIn } from '../helpers/administration.ts';
import { readAudit } from '../helpers/audit.ts';
import { testClock } from '../helpers/clock.ts';
import {
  createBoard,
  createMember,
  createTag,
  createWorld,
  insertIdea,
  issueToken,
  type World,
} from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { signedIn, type Visitor } from './visitor.ts';

const clock = testClock();
let world: World;
let visitor: Visitor;
let path: string;
let settingsPath: string;

const server = await startServerForFile({ clock });
beforeEach(async () => {
  world = await createWorld(server);
  visitor = await signedIn(server, world.ownerId);
  path = `/admin/boards/${world.boardSlug}`;
  settingsPath = `${path}/settings`;
  server.auditLines.length = 0;
});

const unique = () => `board-${Math.random().toString(36).slice(2)}`;
const formTokenIn = (html: string) => /name="form_token" value="([^"]+)"/.exec(html)?.[1] ?? '';
const save = (fields: Record<string, string>) => {
  clock.advance(1);
  return visitor.submit(settingsPath, settingsPath, { name: 'A board', slug: world.boardSlug, ...fields });
};
const stored = async () =>
  (
    await server.sql('select slug, name, description, is_frozen, pre_moderation, is_public from boards where id = $1', [
      world.boardId,
    ])
  )[0];

describe('a new board', () => {
  test('a new board has the default statuses and appears in the list of boards', async () => {
    const slug = unique();
    const answer = await visitor.submit('/admin/boards/new', '/admin/boards/new', {
      name: ' Mobile app ',
      slug,
      description: 'What next?\r\nTell us.',
      is_public: 'yes',
    });
    expect([answer.status, answer.location]).toEqual([303, `/admin/boards/${slug}/settings?notice=created`]);
    expect((await visitor.get(answer.location ?? '')).html).toContain('with six default statuses');
    expect(
      await server.sql(
        `select b.name, b.description, b.pre_moderation, b.is_public,
          (select count(*)::int from statuses s where s.board_id = b.id) as statuses
        from boards b where b.account_id = $1 and b.slug = $2`,
        [world.accountId, slug],
      ),
    ).toEqual([
      { name: 'Mobile app', description: 'What next?\nTell us.', pre_moderation: false, is_public: true, statuses: 6 },
    ]);
    const { html } = await visitor.get('/admin/boards');
    for (const link of [`/admin/queue?board=${slug}`, `/admin/ideas?board=${slug}`, `/b/${slug}`]) {
      expect(html).toContain(`href="${link}"`);
    }
    expect((await request(server, `GET /b/${slug}`)).status).toBe(200);
    expect(readAudit(server.auditLines)).toMatchObject([
      { event: 'board.created', by: 'user', by_user_id: world.ownerId, account_id: world.accountId },
    ]);
  });

  test.each([
    ['a taken slug', 409, () => ({ slug: world.boardSlug }), 'Another board of the account has the slug'],
    ['an invalid slug', 422, () => ({ slug: 'Web App' }), 'must be 1 to 63 lower-case letters'],
    ['no name', 422, () => ({ name: ' ' }), 'The name must not be empty'],
    ['a text that is too long', 422, () => ({ description: 'x'.repeat(5001) }), 'at most 5000 characters'],
  ])('a board with %s is refused, and the form still shows the entered values', async (_what, status, given, why) => {
    const fields = { name: 'My "board"', slug: unique(), description: 'What next?', pre_moderation: 'yes', ...given() };
    const answer = await visitor.submit('/admin/boards/new', '/admin/boards/new', fields);
    expect([answer.status, answer.html.includes(why)]).toEqual([status, true]);
    expect(answer.html).toContain('name="pre_moderation" value="yes" checked');
    expect(answer.html).toContain(`value="${fields.slug}"`);
    expect(await server.sql('select id from boards where account_id = $1', [world.accountId])).toHaveLength(1);
    expect(server.auditLines).toEqual([]);
  });

  test('a board may have the slug "new", although the page that creates boards is at /admin/boards/new', async () => {
    await visitor.submit('/admin/boards/new', '/admin/boards/new', { name: 'Newest', slug: 'new' });
    expect((await visitor.get('/admin/boards/new')).html).toContain('New board</h1>');
    const { html } = await visitor.get('/admin/boards/new/settings');
    expect(html).toContain('value="Newest"');
  });
});

describe('the settings of a board', () => {
  test('after an owner changes the settings and the slug of a board, the browser is redirected to the settings page under the new slug', async () => {
    const { token } = await issueToken(server, world, 'read');
    const slug = unique();
    const answer = await save({ name: 'Renamed', slug, description: 'New', pre_moderation: 'yes', is_public: 'yes' });
    expect([answer.status, answer.location]).toEqual([303, `/admin/boards/${slug}/settings?notice=saved`]);
    expect(await stored()).toEqual({
      slug,
      name: 'Renamed',
      description: 'New',
      is_frozen: false,
      pre_moderation: true,
      is_public: true,
    });
    expect((await visitor.get(path)).status).toBe(404);
    expect((await visitor.get(`/admin/boards/${slug}`)).html).toContain('value="Renamed"');
    const { body } = await request(server, `GET /api/v1/board?board=${slug}`, { token });
    expect(body.board).toMatchObject({ slug, name: 'Renamed', pre_moderation: true });
    expect(readAudit(server.auditLines)).toMatchObject([
      { event: 'board.updated', by: 'user', changed: ['name', 'slug', 'description', 'pre_moderation', 'is_public'] },
    ]);
  });

  test("an owner can choose the language of a board's ideas on the settings page, and an unknown language is refused", async () => {
    const language = async () =>
      (await server.sql('select language from boards where id = $1', [world.boardId]))[0]?.language;
    expect((await save({ language: 'german' })).status).toBe(303);
    expect(await language()).toBe('german');
    expect((await visitor.get(settingsPath)).html).toMatch(/<option value="german" selected>/);
    expect((await save({ language: 'klingon' })).status).toBe(422);
    expect(await language()).toBe('german');
  });

  test('a board keeps its settings if the new name is empty or the new slug is taken, and the form still shows the entered name', async () => {
    const other = await createWorld(server, { isPublic: true });
    const before = await stored();
    const answer = await save({ name: 'Mine', slug: other.boardSlug, is_public: 'yes' });
    expect([answer.status, answer.html.includes('Another public board has the slug')]).toEqual([409, true]);
    expect(answer.html).toContain('value="Mine"');
    expect(answer.html).not.toContain('not saved yet');
    expect((await save({ name: '' })).status).toBe(422);
    expect(await stored()).toEqual(before);
    expect(server.auditLines).toEqual([]);
  });

  test('new settings are not saved if the board was changed after the form was opened, and the settings page shows that change', async () => {
    const fields = { form_token: '', seen_at: '', name: 'Mine', slug: world.boardSlug, description: 'Same' };
    const opened = await visitor.get(settingsPath);
    fields.form_token = formTokenIn(opened.html);
    fields.seen_at = /name="seen_at" value="([^"]+)"/.exec(opened.html)?.[1] ?? '';
    await save({ name: 'Theirs', description: 'Same', pre_moderation: 'yes' });
    const answer = await visitor.post(settingsPath, fields);
    expect([answer.status, answer.html.includes('was changed since the page was opened')]).toEqual([409, true]);
    expect(answer.html).toContain('value="Mine"');
    const meanwhile = /<dl class="facts">[\s\S]*?<\/dl>/.exec(answer.html)?.[0] ?? '';
    expect(meanwhile).toContain('<bdi>Theirs</bdi>');
    expect(meanwhile).toContain('<bdi>yes</bdi>');
    expect(meanwhile).not.toContain('Description');
    expect(await stored()).toMatchObject({ name: 'Theirs', pre_moderation: true });

    fields.seen_at = /name="seen_at" value="([^"]+)"/.exec(answer.html)?.[1] ?? '';
    clock.advance(1);
    const [one, another] = await Promise.all([
      visitor.post(settingsPath, fields),
      visitor.post(settingsPath, { ...fields, name: 'Also mine' }),
    ]);
    expect([one.status, another.status].sort()).toEqual([303, 409]);
    expect(await stored()).toMatchObject({ name: one.status === 303 ? 'Mine' : 'Also mine', pre_moderation: false });
  });

  test('after an owner confirms the freeze of a board, the API refuses new ideas until the board is unfrozen', async () => {
    const { token } = await issueToken(server, world, 'moderate');
    const submit = () => request(server, 'POST /api/v1/ideas', { token, json: { title: 'An idea', body: 'Of what.' } });
    expect((await visitor.get(settingsPath)).html).toContain(`href="${path}/freeze"`);
    expect((await visitor.get(`${path}/freeze`)).html).toContain('Freeze <bdi>A board</bdi>?');
    expect((await submit()).status).toBe(201);
    const frozen = await visitor.submit(`${path}/freeze`, `${path}/freeze`);
    expect(frozen.location).toBe(`${settingsPath}?notice=frozen`);
    expect((await submit()).key).toBe('board_frozen');
    expect((await visitor.get(frozen.location ?? '')).html).toContain(`href="${path}/unfreeze"`);
    await visitor.submit(`${path}/unfreeze`, `${path}/unfreeze`);
    expect((await submit()).status).toBe(201);
    const events = readAudit(server.auditLines).filter(({ by }) => by === 'user');
    expect(events.map(({ event }) => event)).toEqual(['board.frozen', 'board.unfrozen']);
  });
});

test('before a freeze and on the page of deadlines, an owner reads in words what people can no longer do, without status codes', async () => {
  const pages = {
    freeze: 'vote or comment on a frozen board',
    unfreeze: 'vote and comment again',
    deadlines: 'vote outside this window',
  };
  for (const [page, words] of Object.entries(pages)) {
    const text = parse((await visitor.get(`${path}/${page}`)).html).querySelector('main')?.textContent ?? '';
    expect([page, text.includes(words), text.includes('423')]).toEqual([page, true, false]);
  }
});

describe('the list of boards', () => {
  test('the list of boards shows 25 boards on a page, each with its number of pending ideas and its state, such as frozen or closed', async () => {
    await insertIdea(server, world, { moderationState: 'pending' });
    await server.sql(
      `update boards set is_frozen = true, submissions_close_at = now() - interval '1 day',
        voting_open_at = now() + interval '1 day' where id = $1`,
      [world.boardId],
    );
    const first = await visitor.get('/admin/boards');
    for (const text of [
      '1 idea awaits approval',
      'Frozen',
      'Submissions closed',
      'Voting not open yet',
      'For members',
    ]) {
      expect(first.html).toContain(text);
    }
    await server.sql(
      `insert into boards (account_id, slug, name) select $1, 'z' || n, repeat('W', 100) from generate_series(1, 25) n`,
      [world.accountId],
    );
    const full = await visitor.get('/admin/boards');
    expect(full.html.match(/<li class="card/g)).toHaveLength(25);
    expect(full.html.length).toBeLessThan(35_000);
    expect(full.html).toContain('href="/admin/boards?page=2"');
    const last = await visitor.get('/admin/boards?page=2');
    expect(last.html.match(/<li class="card/g)).toHaveLength(1);
    expect(last.html).toContain('href="/admin/boards"');
  });

  test('if a board has more than 1,000 pending ideas, the list of boards and the home page show only "more than 1,000 ideas"', async () => {
    await server.sql(
      `insert into ideas (account_id, board_id, author_id, status_id, title, body, moderation_state)
      select s.account_id, s.board_id, $2, s.id, 'An idea', 'Of what', 'pending'
      from statuses s, generate_series(1, 600) where s.board_id = $1 and s.key in ('open', 'planned')`,
      [world.boardId, world.ownerId],
    );
    const [overview] = await server.database.transaction(transaction =>
      listBoardOverviews(operatorIn(transaction, clock.now()), world.accountId, { limit: 1 }),
    );
    expect(overview?.pending_count).toBe(1001);
    for (const page of ['/admin/boards', '/admin']) {
      expect((await visitor.get(page)).html).toContain('more than 1,000 ideas');
    }
  });
});

describe('the pages of boards', () => {
  const pages = ['', '/new', '/:board', '/:board/settings', '/:board/deadlines', '/:board/freeze', '/:board/unfreeze'];
  const registry = ['/:board/statuses', '/:board/statuses/open', '/:board/statuses/open/remove', '/:board/tags'];
  const onlyGiven = ['/:board/tags/:tag', '/:board/tags/:tag/remove'];
  const all = [...pages, ...registry, ...onlyGiven];
  const sent = [...all.filter(page => page !== '' && page !== '/:board'), '/:board/statuses/open/move'];
  const pathOf = (page: string, { boardSlug }: World, tagId: number) =>
    `/admin/boards${page.replace(':board', boardSlug).replace(':tag', String(tagId))}`;

  test.each(['moderator', 'member'] as const)(
    'a person with the role %s cannot open the admin pages of boards or send the forms on these pages',
    async role => {
      const tagId = await createTag(server, world.accountId, world.boardId);
      const other = await signedIn(server, await createMember(server, world.accountId, role));
      const form_token = formTokenIn((await other.get('/admin')).html);
      for (const page of all) expect([page, (await other.get(pathOf(page, world, tagId))).status]).toEqual([page, 403]);
      for (const page of sent) {
        const answer = await other.post(pathOf(page, world, tagId), { form_token, name: 'Mine', slug: 'mine' });
        expect([page, answer.status]).toEqual([page, 403]);
      }
      expect(server.auditLines.filter(line => line.includes('"by":"user"'))).toEqual([]);
    },
  );

  test("requests for the admin pages of an unknown board or of another account's board get 404", async () => {
    const other = await createWorld(server);
    const tagId = await createTag(server, other.accountId, other.boardId);
    const ownTagId = await createTag(server, world.accountId, world.boardId);
    const form_token = formTokenIn((await visitor.get('/admin')).html);
    const fields = {
      form_token,
      name: 'Mine',
      slug: 'mine',
      label: 'A',
      key: 'a',
      category: 'planned',
      color: '#000000',
      zone: 'UTC',
    };
    const isOfBoard = (page: string) => page.includes(':board');
    for (const page of all.filter(isOfBoard)) {
      expect([page, (await visitor.get(pathOf(page, other, tagId))).status]).toEqual([page, 404]);
    }
    for (const page of sent.filter(isOfBoard)) {
      expect([page, (await visitor.post(pathOf(page, other, ownTagId), fields)).status]).toEqual([page, 404]);
    }
    const ghosts = [
      'No%00thing',
      'nothing',
      `${world.boardSlug}/statuses/no%00thing`,
      `${world.boardSlug}/tags/${tagId}`,
    ];
    for (const page of ghosts) expect([page, (await visitor.get(`/admin/boards/${page}`)).status]).toEqual([page, 404]);
    for (const page of ['/:board/tags/:tag', '/:board/tags/:tag/remove']) {
      expect([page, (await visitor.post(pathOf(page, world, tagId), fields)).status]).toEqual([page, 404]);
    }
    expect(await server.sql('select name from tags where id = $1 and name like $2', [tagId, 'tag %'])).toHaveLength(1);
    expect(await server.sql('select slug from boards where account_id = $1', [other.accountId])).toEqual([
      { slug: other.boardSlug },
    ]);
  });

  test('the admin pages of boards escape HTML in names and labels, and remove characters that change the text direction from all text outside form fields', async () => {
    const hostile = `"><img src=x onerror='alert(1)'>\u202e`;
    const tagId = await createTag(server, world.accountId, world.boardId, hostile);
    await insertIdea(server, world, { moderationState: 'pending' });
    await server.sql('update boards set name = $2, description = $2, is_public = true where id = $1', [
      world.boardId,
      hostile,
    ]);
    await server.sql('update statuses set label = $2 where board_id = $1', [world.boardId, hostile]);
    await server.sql('update accounts set name = $2 where id = $1', [world.accountId, hostile]);
    for (const page of [...all.map(one => pathOf(one, world, tagId)), '/admin']) {
      const { html, status } = await visitor.get(page);
      // The hostile text is stored in names and descriptions. A page may contain it unchanged only in form fields.
      const outside = html.replace(/ value="[^"]*"/g, '').replace(/<textarea[\s\S]*?<\/textarea>/g, '');
      expect([page, status, html.includes('<img'), outside.includes('\u202e')]).toEqual([
        page,
        page.endsWith('/open/remove') ? 409 : 200,
        false,
        false,
      ]);
    }
  });

  test("if a user has several accounts, every link on a board's settings page contains the slug of the account in the page's URL", async () => {
    const other = await createWorld(server);
    await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'admin')`, [
      other.accountId,
      world.ownerId,
    ]);
    const [{ slug } = { slug: '' }] = await server.sql<{ slug: string }>('select slug from accounts where id = $1', [
      other.accountId,
    ]);
    const page = `/admin/boards/${other.boardSlug}/settings?account=${slug}`;
    const answer = await visitor.submit(page, page, { name: 'There', slug: other.boardSlug });
    expect(answer.location).toBe(`/admin/boards/${other.boardSlug}/settings?account=${slug}&notice=saved`);
    const { html } = await visitor.get(page);
    const links = [...html.matchAll(/href="(\/admin[^"]*)"/g)].map(([, href]) => href);
    expect(links.filter(href => !href?.includes(`account=${slug}`))).toEqual([]);
  });
});

test('the questions, notices and error messages on the pages of a board are in German for a browser that prefers German', async () => {
  const german = { headers: { 'accept-language': 'de' } };
  const question = await visitor.get(`${path}/freeze`, german);
  expect(question.html).toContain('<h1><bdi>A board</bdi> einfrieren?</h1>');
  const form_token = formTokenIn(question.html);
  const answer = await visitor.post(`${path}/freeze`, { form_token }, german);
  expect((await visitor.get(answer.location ?? '', german)).html).toContain('Das Board ist eingefroren.');
  const refused = await visitor.post(`${path}/statuses`, { form_token, label: 'Later', key: 'later' }, german);
  expect(refused.status).toBe(422);
  expect(refused.html).toContain('Wählen Sie eine Kategorie.');
});

describe('the home page', () => {
  test("for an owner, the admin home page shows the boards, pending ideas, failing and disabled webhooks, disabled chat channels, and the account's scheduled deletion", async () => {
    await insertIdea(server, world, { moderationState: 'pending' });
    const { id, slug } = await createBoard(server, world.accountId, { name: 'Quiet', isFrozen: true });
    await server.sql(
      `insert into webhook_endpoints (account_id, url, secret, failing_since, disabled_at, disabled_reason) values
        ($1, 'https://a.example', '', now(), null, null), ($1, 'https://b.example', '', now(), now(), 'failing'),
        ($1, 'https://c.example', '', null, now(), 'gone'), ($1, 'https://d.example', '', null, null, null)`,
      [world.accountId],
    );
    await server.sql(
      `insert into chat_channels (account_id, board_id, kind, url, disabled_at, disabled_reason)
      values ($1, $2, 'slack', '', now(), 'gone')`,
      [world.accountId, id],
    );
    await server.sql(`update accounts set deletion_scheduled_at = '2026-03-01T12:00:00Z' where id = $1`, [
      world.accountId,
    ]);
    const { html } = await visitor.get('/admin');
    for (const text of [
      '1 webhook fails',
      '2 webhooks are disabled',
      '1 chat channel is disabled',
      '31 Mar 2026, 12:00 UTC',
      'Keep the account',
      `href="/admin/queue?board=${world.boardSlug}"`,
      `href="/admin/boards/${slug}/settings"`,
      'frozen',
    ])
      expect(html).toContain(text);
    const admin = await signedIn(server, await createMember(server, world.accountId, 'admin'));
    expect((await admin.get('/admin')).html).toContain('An owner can keep the account');
  });

  test('the admin home page shows the pending ideas to a moderator, and only the public boards to a person with the role member', async () => {
    await insertIdea(server, world, { moderationState: 'pending' });
    const { slug } = await createBoard(server, world.accountId, { name: 'Open to all', isPublic: true });
    const moderator = await signedIn(server, await createMember(server, world.accountId, 'moderator'));
    const moderated = (await moderator.get('/admin')).html;
    expect(moderated).toContain(`href="/admin/queue?board=${world.boardSlug}"`);
    expect(moderated).toContain('1 idea<');
    const member = await signedIn(server, await createMember(server, world.accountId, 'member'));
    const seen = (await member.get('/admin')).html;
    expect(seen).toContain(`href="/b/${slug}"`);
    for (const html of [moderated, seen]) {
      expect(html).toContain('href="/admin/profile"');
      expect(html).not.toContain('/admin/boards');
    }
    expect(seen).not.toContain('/admin/queue');
    expect(seen).not.toContain(world.boardSlug);
  });
});
