import { beforeEach, describe, expect, test } from 'vitest';
import { readAudit } from '../helpers/audit.ts';
import { createBoard, createMember, createTag, createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { closeAfterAll } from '../helpers/for-file.ts';
import { runJobs } from '../helpers/jobs.ts';
import { startReceiver } from '../helpers/receiver.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { addWebhook, verify } from '../helpers/webhooks.ts';
import { hiddenFields, type Seen, signedIn, type Visitor } from './visitor.ts';

let webhook: { id: number; secret: string };

const receiver = closeAfterAll(await startReceiver());
const server = await startServerForFile({ environment: { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' } });
const world = await createWorld(server, { name: 'Web app', preModeration: true });
webhook = await addWebhook(server, world, { url: receiver.url });
const moderatorId = await createMember(server, world.accountId, 'moderator', 'Ada');
const ada = await signedIn(server, moderatorId);
const ben = await signedIn(server, await createMember(server, world.accountId, 'moderator', 'Ben'));
beforeEach(async () => {
  await runJobs(server);
  receiver.received.length = 0;
  server.auditLines.length = 0;
});

const idea = (title: string, input: Parameters<typeof insertIdea>[2] = {}) =>
  insertIdea(server, world, { title, ...input });
const pending = (title: string, input: Parameters<typeof insertIdea>[2] = {}) =>
  idea(title, { moderationState: 'pending', ...input });
const pathOf = (id: number, action = '') => `/admin/ideas/${id}${action}`;
const titlesIn = ({ html }: Seen) => [...html.matchAll(/<h[23]><a [^>]*><bdi>([^<]*)/g)].map(([, title]) => title);
const events = (ideaId: number) =>
  server.sql<{ type: string; actor_id: number }>(
    `select type, actor_id from events where idea_id = $1 and type <> 'idea.voted' order by occurred_at`,
    [ideaId],
  );
const audit = () => readAudit(server.auditLines).filter(({ event }) => !event.startsWith('sign_in'));
const byAda = () => ({ by: 'user', by_user_id: moderatorId, account_id: world.accountId });
const formToken = async (visitor: Visitor) =>
  /name="form_token" value="([^"]+)"/.exec((await visitor.get('/admin')).html)?.[1] ?? '';
/** Casts the votes of new voters. Each row has the votes of one voter, one for each idea. */
async function vote(ids: number[], ...rows: (1 | -1 | 0)[][]) {
  for (const row of rows) {
    const [voter] = await server.sql<{ id: number }>('insert into voters (account_id) values ($1) returning id', [
      world.accountId,
    ]);
    for (const [n, value] of row.entries()) {
      if (value === 0) continue;
      await server.sql('select cast_vote($1, $2, $3, $4, $5::smallint, now(), null, null)', [
        world.accountId,
        world.boardId,
        ids[n],
        voter?.id,
        value,
      ]);
    }
  }
}

describe('the queue', () => {
  test('the moderation queue lists the pending ideas of one board or of all boards, oldest first, on several pages', async () => {
    const own = await createWorld(server, { name: 'First', preModeration: true });
    const visitor = await signedIn(server, own.ownerId);
    expect((await visitor.get('/admin/queue')).html).toContain('Nothing awaits approval.');
    const second = await createBoard(server, own.accountId, { name: 'Second' });
    const add = (n: number, boardId: number) =>
      insertIdea(
        server,
        { ...own, boardId },
        {
          title: `Idea ${n}`,
          moderationState: 'pending',
          body: `Line one of ${n}.\n${'x'.repeat(9000)}`,
          createdAt: new Date(Date.UTC(2026, 0, 1, n)),
        },
      );
    for (let n = 12; n > 0; n--) await add(n, n % 2 ? own.boardId : second.id);
    const first = await visitor.get('/admin/queue');
    expect(titlesIn(first)).toEqual(Array.from({ length: 10 }, (_, n) => `Idea ${n + 1}`));
    expect(first.html).toContain('First (6)');
    expect(first.html).toContain('Line one of 1.\n');
    expect(first.html).toContain('1 Jan 2026, 01:00 UTC');
    expect(first.html.length).toBeLessThan(25_000);
    const [, next = ''] = /rel="next" href="([^"]+)"/.exec(first.html) ?? [];
    expect(titlesIn(await visitor.get(next))).toEqual(['Idea 11', 'Idea 12']);
    const filtered = await visitor.get(`/admin/queue?board=${second.slug}`);
    expect(titlesIn(filtered)).toEqual([2, 4, 6, 8, 10, 12].map(n => `Idea ${n}`));
    // After an approval, the moderator returns to the filtered queue from which the form came.
    const [, approve = ''] = /action="([^"]+\/approve[^"]*)"/.exec(filtered.html) ?? [];
    const answer = await visitor.submit(`/admin/queue?board=${second.slug}`, approve.replaceAll('&amp;', '&'));
    expect(answer.location).toBe(`/admin/queue?board=${second.slug}&notice=approved`);
    expect((await visitor.get(`/admin/queue?board=${world.boardSlug}`)).status).toBe(404);
    expect((await visitor.get('/admin/queue?cursor=nonsense')).status).toBe(400);
  });

  test("a moderator can approve a pending idea with one click, and the account's webhook then receives the event `idea.created`", async () => {
    const id = await pending('Dark mode');
    const path = pathOf(id, '/approve?from=queue');
    const answer = await ada.submit('/admin/queue', path);
    expect([answer.status, answer.location]).toEqual([303, '/admin/queue?notice=approved']);
    expect((await ada.get(answer.location ?? '')).html).toContain('The idea is published.');
    expect(await runJobs(server)).toEqual([]);
    const [received] = await receiver.waitForRequests(1);
    expect(received && verify(received, webhook.secret)).toMatchObject({
      type: 'idea.created',
      data: { idea: { id, title: 'Dark mode', moderation_state: 'published' }, actor: { name: 'Ada', token_id: null } },
    });
    expect(audit()).toMatchObject([{ event: 'idea.approved', idea_id: id, ...byAda() }]);
  });

  test('an idea that two moderators approve at the same time is published once', async () => {
    const id = await pending('At once');
    const tokens = [await formToken(ada), await formToken(ben)];
    const answers = await Promise.all(
      [ada, ben, ada, ben].map((one, n) => one.post(pathOf(id, '/approve'), { form_token: tokens[n % 2] ?? '' })),
    );
    expect(answers.map(({ location }) => location).sort()).toEqual([
      pathOf(id, '?notice=approved'),
      ...Array.from({ length: 3 }, () => pathOf(id, '?notice=approved_already')),
    ]);
    expect(await events(id)).toMatchObject([{ type: 'idea.created' }]);
    expect(audit()).toMatchObject([{ event: 'idea.approved', idea_id: id }]);
  });

  test('a moderator must give a reason to reject an idea, and the author is notified of the rejection', async () => {
    const authorId = await createMember(server, world.accountId, 'member');
    const id = await pending('Export to <b>Lotus</b>', { authorId });
    const path = pathOf(id, '/reject?from=queue');
    expect((await ada.get('/admin/queue')).html).toContain(`href="${path}"`);
    for (const [reason, why] of [
      [' ', 'must not be empty'],
      [`<${'x'.repeat(500)}`, 'at most 500 characters'],
      ['a\0b', 'cannot be stored'],
    ] as const) {
      const refused = await ada.submit(path, path, { reason });
      expect([refused.status, refused.html.includes(why)]).toEqual([422, true]);
      if (reason.startsWith('<')) expect(refused.html).toContain(`>&lt;${'x'.repeat(500)}</textarea>`);
    }
    expect(await events(id)).toEqual([]);
    const answer = await ada.submit(path, path, { reason: 'We have <this>.' });
    expect(answer.location).toBe('/admin/queue?notice=rejected');
    expect(await events(id)).toEqual([{ type: 'idea.rejected', actor_id: moderatorId }]);
    expect(audit()).toMatchObject([{ event: 'idea.rejected', idea_id: id, ...byAda() }]);
    await runJobs(server);
    expect(await server.sql('select kind from notifications where user_id = $1', [authorId])).toEqual([
      { kind: 'idea.rejected' },
    ]);
    const page = await ada.get(pathOf(id));
    expect(page.html).toContain('We have &lt;this&gt;.');
    // A rejected idea cannot be approved, rejected or changed.
    expect((await ada.get(path)).status).toBe(409);
    const token = await formToken(ben);
    expect((await ben.post(pathOf(id, '/approve'), { form_token: token })).status).toBe(409);
    expect((await ben.post(pathOf(id, '/status'), { form_token: token, status: 'done' })).status).toBe(404);
    const again = await ben.post(path, { form_token: token, reason: 'Another.' });
    expect(again.location).toBe('/admin/queue?notice=rejected_already');
  });

  test('a moderator sees all rejected ideas with their reasons, newest rejection first, and a person with the role member gets 403', async () => {
    const own = await createWorld(server);
    const there = await signedIn(server, await createMember(server, own.accountId, 'moderator'));
    expect((await there.get('/admin/queue')).html).toContain('href="/admin/queue/rejected"');
    expect((await there.get('/admin/queue/rejected')).html).toContain('No idea was rejected.');
    // Inserts rejected ideas. Several of the ideas were rejected at the same time. The list must sort these ideas by
    // id.
    await server.sql(
      `insert into ideas (account_id, board_id, author_id, status_id, title, body, moderation_state, rejection_reason, updated_at)
      select $1, $2, $3, (select id from statuses where board_id = $2 order by position limit 1), 'Idea ' || n || ' <b>', 'B',
        'rejected', 'We have <' || n || '>', timestamptz '2026-03-01' + (n / 4) * interval '1 second'
      from generate_series(1, 30) n`,
      [own.accountId, own.boardId, own.ownerId],
    );
    const titlesIn = (html: string) =>
      [...html.matchAll(/<bdi>Idea (\d+) &lt;b&gt;<\/bdi>/g)].map(([, n]) => Number(n));
    const first = await there.get('/admin/queue/rejected');
    const next = /rel="next" href="([^"]+)"/.exec(first.html)?.[1] ?? '';
    const rest = await there.get(next);
    expect([...titlesIn(first.html), ...titlesIn(rest.html)]).toEqual(Array.from({ length: 30 }, (_, n) => 30 - n));
    expect(titlesIn(rest.html)).toHaveLength(5);
    expect(first.html).toContain('We have &lt;30&gt;');
    expect([rest.html.includes('First page'), rest.html.includes('rel="next"')]).toEqual([true, false]);
    expect(titlesIn((await ada.get('/admin/queue/rejected')).html)).toEqual([]);
    const member = await signedIn(server, await createMember(server, own.accountId, 'member'));
    expect((await member.get('/admin/queue/rejected')).status).toBe(403);
    expect((await there.get('/admin/queue/rejected?cursor=WyJuZXdlc3QiLDEsMV0')).status).toBe(400);
  });

  test('the moderation queue and the error message for an idea that is already approved are in German for a browser that prefers German', async () => {
    const german = { headers: { 'accept-language': 'de' } };
    const id = await pending('Dark <b>mode</b>');
    expect((await ada.get('/admin/queue', german)).html).toContain(
      'Freigeben<span class="visually-hidden">: <bdi>Dark &lt;b&gt;mode&lt;/b&gt;</bdi></span>',
    );
    await ada.submit('/admin/queue', `${pathOf(id, '/approve')}?from=queue`);
    const late = await ada.get(pathOf(id, '/reject'), german);
    expect([late.status, late.html.includes('Jemand hat sie freigegeben oder abgelehnt.')]).toEqual([409, true]);
  });
});

describe('the ideas of a board', () => {
  test('an owner can find ideas by title, status and number, and sees ideas in a hidden status only after filtering by that status', async () => {
    const own = await createWorld(server, {
      name: 'Main',
      statuses: [
        { key: 'open', category: 'inbox', label: 'Open' },
        { key: 'spam', category: 'archived', label: 'Spam', isHidden: true },
      ],
    });
    const visitor = await signedIn(server, own.ownerId);
    const add = (title: string, status = 'open', n = 0) =>
      insertIdea(server, own, { title, status, createdAt: new Date(Date.UTC(2026, 0, 1, n)) });
    const dark = await add('Dark mode for all', 'open', 100);
    await add('Buy watches', 'spam');
    await add('The dark side', 'open', 99);
    for (let n = 0; n < 20; n++) await add(`More ${n}`, 'open', n);
    const found = async (query: string) => titlesIn(await visitor.get(`/admin/ideas?${query}`));
    const first = await visitor.get('/admin/ideas');
    expect(titlesIn(first)).toHaveLength(20);
    expect(titlesIn(first).slice(0, 3)).toEqual(['Dark mode for all', 'The dark side', 'More 19']);
    expect(first.html).toContain('Spam (hidden)');
    const [, next = ''] = /rel="next" href="([^"]+)"/.exec(first.html) ?? [];
    expect(titlesIn(await visitor.get(next.replaceAll('&amp;', '&')))).toEqual(['More 1', 'More 0']);
    expect(await found('q=DARK+mo')).toEqual(['Dark mode for all']);
    expect(await found('q=dark&sort=top')).toEqual(['The dark side', 'Dark mode for all']);
    expect(await found('status_key=spam')).toEqual(['Buy watches']);
    expect((await found('status_key=gone')).slice(0, 1)).toEqual(['Dark mode for all']);
    expect((await visitor.get(`/admin/ideas?q=%23${dark}`)).location).toBe(pathOf(dark));
    const tagId = await createTag(server, own.accountId, own.boardId, 'Colors');
    await server.sql('insert into idea_tags (account_id, idea_id, tag_id) values ($1, $2, $3)', [
      own.accountId,
      dark,
      tagId,
    ]);
    const tagged = await visitor.get('/admin/ideas?q=dark');
    const tagPath = /href="([^"]*tag=Colors[^"]*)"/.exec(tagged.html)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const ofTag = await visitor.get(tagPath);
    expect(titlesIn(ofTag)).toEqual(['Dark mode for all']);
    expect(ofTag.html).toContain('Only ideas with the tag');
    expect(await found('q=dark&tag=gone')).toEqual(['Dark mode for all', 'The dark side']);
    const other = await createBoard(server, own.accountId, { name: 'Other' });
    const there = await visitor.get(`/admin/ideas?board=${other.slug}&status_key=spam&tag=Colors`);
    expect([there.status, there.html.includes('There are no ideas here yet.')]).toEqual([200, true]);
    expect((await visitor.get(`/admin/ideas?board=${world.boardSlug}`)).status).toBe(404);
    expect((await visitor.get('/admin/ideas?q=a%00')).status).toBe(400);
  });
});

describe('an idea', () => {
  test('when a moderator changes the status or tags of an idea, the audit entries name the moderator', async () => {
    const id = await idea('Faster sync');
    const tagId = await createTag(server, world.accountId, world.boardId, 'Speed');
    const page = pathOf(id);
    const send = (action: string, fields = {}) => ada.submit(page, pathOf(id, action), fields);
    const again = { form_token: await formToken(ada) };
    expect((await send('/status', { status: 'planned' })).location).toBe(`${page}?notice=status_set`);
    expect((await send('/status', { status: 'planned' })).status).toBe(303);
    expect((await send('/tags', { tag_id: String(tagId) })).location).toBe(`${page}?notice=tag_added`);
    expect((await ada.post(`${page}/tags`, { ...again, tag_id: String(tagId) })).status).toBe(303);
    const shown = await ada.get(page);
    expect(shown.html).toContain('<option value="planned" selected>');
    expect((await send(`/tags/${tagId}/remove`)).location).toBe(`${page}?notice=tag_removed`);
    expect((await ada.post(`${page}/tags/${tagId}/remove`, again)).status).toBe(303);
    const happened = (await events(id)).map(({ type, actor_id }) => `${type} by ${actor_id === moderatorId}`);
    expect(happened.sort()).toEqual(['idea.status_changed by true', 'idea.tagged by true', 'idea.tagged by true']);
    const told = { idea_id: id, ...byAda() };
    expect(audit()).toMatchObject([
      { event: 'idea.status_changed', from: 'open', to: 'planned', ...told },
      { event: 'idea.tag_added', tag_id: tagId, ...told },
      { event: 'idea.tag_removed', tag_id: tagId, ...told },
    ]);
    // Changes of ideas with an API token are not in the audit log.
    const { token } = await issueToken(server, world, 'moderate');
    await request(server, `POST /api/v1/ideas/${id}/status`, { token, json: { status: 'done' } });
    expect(audit()).toHaveLength(3);

    const refusals = [
      ['/status', { status: 'gone' }, 422, 'no longer has this status'],
      ['/status', { status: 'a\0b' }, 422, 'no longer has this status'],
      ['/tags', { tag_id: '999999999' }, 422, 'no longer has this tag'],
      ['/tags', { tag_id: '' }, 422, 'no longer has this tag'],
    ] as const;
    for (const [action, fields, status, why] of refusals) {
      const refused = await ada.post(pathOf(id, action), { ...again, ...fields });
      expect([refused.status, refused.html.includes(why)]).toEqual([status, true]);
    }
    expect(await events(id)).toHaveLength(4);
  });

  test('the page of an idea with 10 tags has no form for another tag, and an eleventh tag is refused with an explanation', async () => {
    const own = await createWorld(server);
    const visitor = await signedIn(server, own.ownerId);
    const id = await insertIdea(server, own);
    const tagIds: number[] = [];
    for (let n = 0; n < 11; n++) tagIds.push(await createTag(server, own.accountId, own.boardId, `Tag ${n}`));
    const page = pathOf(id);
    const add = (tagId: number | undefined) => visitor.submit(page, pathOf(id, '/tags'), { tag_id: String(tagId) });
    for (const tagId of tagIds.slice(0, 9)) expect((await add(tagId)).status).toBe(303);
    const opened = await visitor.get(page);
    const fields = hiddenFields(opened.html, pathOf(id, '/tags'));
    expect(opened.html).not.toContain('at most 10 tags');
    expect((await add(tagIds[9])).status).toBe(303);
    const full = await visitor.get(page);
    expect(full.html).toContain('An idea can have at most 10 tags. Remove a tag before you add another.');
    expect(full.html).not.toContain('Add the tag');
    // A second moderator opened the form for adding a tag before the idea had 10 tags. The server must still refuse an
    // eleventh tag.
    const refused = await visitor.post(pathOf(id, '/tags'), { ...fields, tag_id: String(tagIds[10]) });
    expect(refused.status).toBe(422);
    expect(refused.html).toContain('An idea can have at most 10 tags. Remove a tag before you add another');
    expect(await server.sql('select from idea_tags where idea_id = $1', [id])).toHaveLength(10);
  });

  test('the admin page of an idea on a frozen board has no status form, and the server refuses to change the idea and explains why', async () => {
    const { id: boardId } = await createBoard(server, world.accountId);
    const on = { ...world, boardId };
    const [id, target, waiting] = [
      await insertIdea(server, on),
      await insertIdea(server, on),
      await insertIdea(server, on, { moderationState: 'pending' }),
    ];
    await server.sql('update boards b set is_frozen = true where id = $1', [boardId]);
    const form_token = await formToken(ada);
    const page = await ada.get(pathOf(id));
    expect([page.html.includes('The board is frozen'), page.html.includes('name="status"')]).toEqual([true, false]);
    for (const [path, fields] of [
      [pathOf(id, '/status'), { status: 'done' }],
      [pathOf(id, '/merge'), { target_id: String(target) }],
      [pathOf(id, '/unmerge'), {}],
    ] as const) {
      const refused = await ada.post(path, { form_token, ...fields });
      expect([path, refused.status, refused.html.includes('must unfreeze it first')]).toEqual([path, 423, true]);
    }
    expect((await ada.get('/admin/queue')).html).not.toContain(pathOf(waiting, '/approve'));
    expect((await ada.post(pathOf(waiting, '/approve'), { form_token })).status).toBe(409);
    expect(audit()).toEqual([]);
  });

  test('the moderation pages show the URLs in ideas, comments and rejected ideas as links', async () => {
    const link = (url: string) => `<a href="${url}" dir="ltr" rel="nofollow ugc noopener">${url}</a>`;
    const body = 'See https://a.example/b.';
    const [shown, waiting, refused] = [
      await idea('Shown', { body }),
      await pending('Waiting', { body }),
      await idea('Refused', { body, moderationState: 'rejected' }),
    ];
    await server.sql('insert into comments (account_id, idea_id, author_id, body) values ($1, $2, $3, $4)', [
      world.accountId,
      shown,
      world.ownerId,
      'Or https://a.example/c',
    ]);
    for (const path of [pathOf(shown), pathOf(waiting, '/reject'), pathOf(refused)]) {
      expect([path, (await ada.get(path)).html]).toEqual([
        path,
        expect.stringContaining(`See ${link('https://a.example/b')}.`),
      ]);
    }
    expect((await ada.get(pathOf(shown))).html).toContain(`Or ${link('https://a.example/c')}`);
  });

  test('the admin page of an idea lets a moderator follow and unfollow the idea, and shows the comments on several pages', async () => {
    const id = await idea('Followed');
    const path = pathOf(id, '/follow');
    await server.sql(
      `insert into comments (account_id, idea_id, author_id, body)
      select $1, $2, $3, 'Comment ' || n from generate_series(1, 21) n`,
      [world.accountId, id, world.ownerId],
    );
    const following = () => server.sql('select user_id from followers where idea_id = $1', [id]);
    expect((await ada.submit(pathOf(id), path)).location).toBe(pathOf(id, '?notice=followed'));
    expect(await following()).toEqual([{ user_id: moderatorId }]);
    const page = await ada.get(pathOf(id));
    expect(hiddenFields(page.html, path)).toMatchObject({ follow: 'no' });
    expect([page.html.includes('Comment 20<'), page.html.includes('Comment 21<')]).toEqual([true, false]);
    const [, next = ''] = /rel="next" href="([^"#]+)#comments"/.exec(page.html) ?? [];
    expect((await ada.get(next)).html).toContain('Comment 21<');
    expect((await ada.submit(pathOf(id), path)).location).toBe(pathOf(id, '?notice=unfollowed'));
    expect(await following()).toEqual([]);
  });
});

describe('similar ideas', () => {
  const similarIn = ({ html }: Seen) =>
    titlesIn({ html: /aria-labelledby="similar".*?<\/section>/s.exec(html)?.[0] ?? '' } as Seen);

  test('the page of a pending idea shows published ideas that may ask for the same, and the page of a published idea does not', async () => {
    const known = await idea('Export invoices as PDF files');
    await pending('Export invoices as PDF files');
    const id = await pending('Export all invoices as PDF files');
    const page = await ada.get(pathOf(id));
    expect(similarIn(page)).toEqual(['Export invoices as PDF files']);
    expect(page.html).toContain(`<a href="${pathOf(known)}"><bdi>Export invoices`);
    expect(similarIn(await ada.get(pathOf(known)))).toEqual([]);
  });

  test('before a search, the page that chooses the target of a merge shows similar ideas first, and each idea only once', async () => {
    const own = await createWorld(server);
    const owner = await signedIn(server, own.ownerId);
    const add = (title: string) => insertIdea(server, own, { title });
    await add('A calendar');
    const target = await add('Send reminders by text message');
    const source = await add('Send reminders as a text message');
    const path = pathOf(source, '/merge');
    const page = await owner.get(path);
    expect(similarIn(page)).toEqual(['Send reminders by text message']);
    expect(page.html).toContain(`href="${path}?target=${target}"`);
    expect(titlesIn(page)).toEqual(['Send reminders by text message', 'A calendar']);
    const search = await owner.get(`${path}?q=reminders`);
    expect(similarIn(search)).toEqual([]);
    expect(titlesIn(search)).toEqual(['Send reminders by text message']);
  });
});

describe('merging ideas', () => {
  const tallyIn = (html: string) =>
    [...html.matchAll(/<td class="number">(-?\d+)/g)].map(([, number]) => Number(number));

  test('a moderator can search for a target idea, preview the vote counts after a merge, confirm the merge and undo it', async () => {
    const [source, target, earlier] = [
      await idea('Night theme'),
      await idea('Night colors'),
      await idea('Black theme'),
    ];
    await vote([source, target, earlier], [1, 0, 0], [1, -1, 0], [0, 1, 1], [-1, 0, 0], [0, 0, 1]);
    const search = await ada.get(pathOf(source, '/merge?q=night'));
    expect(titlesIn(search)).toEqual(['Night colors']);
    const path = pathOf(source, '/merge');
    expect(search.html).toContain(`href="${path}?target=${target}"`);
    expect((await ada.get(`${path}?q=%23${target}`)).location).toBe(`${path}?target=${target}`);

    await ada.submit(`${pathOf(earlier, '/merge')}?target=${source}`, pathOf(earlier, '/merge'));
    server.auditLines.length = 0;
    // The upvotes, downvotes and score of the source, of the target, and of the target after the merge.
    const tallies = [4, 1, 3, 1, 1, 0, 3, 2, 1];
    const preview = await ada.get(`${path}?target=${target}`);
    expect(tallyIn(preview.html)).toEqual(tallies);
    expect(preview.html).toContain('2 people voted on both');
    const answer = await ada.submit(`${path}?target=${target}`, path);
    expect(answer.location).toBe(pathOf(target, '?notice=merged'));
    const page = await ada.get(pathOf(target));
    expect(page.html).toContain('<strong>Score 1</strong> <span class="muted">3 for, 2 against');
    expect(page.html).toContain('<bdi>Night theme</bdi></a> <span class="small muted">score 3,');
    expect((await ada.get(pathOf(source))).html).toContain('This idea is merged into');

    const undo = pathOf(source, `/unmerge?from=${target}`);
    expect(page.html).toContain(`href="${undo}"`);
    expect((await ada.submit(undo, undo)).location).toBe(pathOf(target, '?notice=unmerged'));
    expect((await ada.get(undo)).status).toBe(409);
    expect(tallyIn((await ada.get(`${path}?target=${target}`)).html)).toEqual(tallies);
    expect(await events(source)).toEqual([
      { type: 'idea.merged', actor_id: moderatorId },
      { type: 'idea.unmerged', actor_id: moderatorId },
    ]);
    expect(audit()).toMatchObject([
      { event: 'idea.merged', idea_id: source, target_id: target, ...byAda() },
      { event: 'idea.unmerged', idea_id: source, target_id: target, ...byAda() },
    ]);
  });

  test('several identical concurrent merges take effect once, and one of two concurrent merges in opposite directions is refused with an explanation', async () => {
    const [source, target] = [await idea('Once'), await idea('Into')];
    const [one, other] = [await idea('This'), await idea('That')];
    const tokens = new Map([
      [ada, await formToken(ada)],
      [ben, await formToken(ben)],
    ]);
    const merge = (visitor: Visitor, from: number, to: number) =>
      visitor.post(pathOf(from, '/merge'), { form_token: tokens.get(visitor) ?? '', target_id: String(to) });
    const same = await Promise.all([ada, ben, ada].map(visitor => merge(visitor, source, target)));
    expect(same.map(({ location }) => location)).toEqual(
      Array.from({ length: 3 }, () => pathOf(target, '?notice=merged')),
    );
    expect(await events(source)).toMatchObject([{ type: 'idea.merged' }]);
    const crossed = await Promise.all([merge(ada, one, other), merge(ben, other, one)]);
    expect(crossed.map(({ status }) => status).sort()).toEqual([303, 422]);
    expect(crossed.find(({ status }) => status === 422)?.html).toContain('is already merged into another idea');
    expect([...(await events(one)), ...(await events(other))]).toMatchObject([{ type: 'idea.merged' }]);
    expect(audit().map(({ event }) => event)).toEqual(['idea.merged', 'idea.merged']);
  });

  test('an invalid merge target is refused with an explanation, both in the preview and when the moderator confirms the merge', async () => {
    const [id, waiting] = [await idea('One'), await pending('Waiting')];
    const elsewhere = await insertIdea(server, await createWorld(server));
    const form_token = await formToken(ada);
    for (const [target, status, why] of [
      [id, 422, 'into itself'],
      [waiting, 422, 'awaits approval'],
      [elsewhere, 404, 'no such idea'],
      ['', 422, 'Choose the idea'],
    ] as const) {
      const answers = [await ada.post(pathOf(id, '/merge'), { form_token, target_id: String(target) })];
      if (target) answers.push(await ada.get(pathOf(id, `/merge?target=${target}`)));
      for (const { status: given, html } of answers) expect([given, html.includes(why)]).toEqual([status, true]);
    }
    expect(audit()).toEqual([]);
  });
});
