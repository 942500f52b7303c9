import { parse } from 'node-html-parser';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { givePassword, hiddenFields, signedIn, Visitor, withoutTokens } from '../admin/visitor.ts';
import { testClock } from '../helpers/clock.ts';
import { connect } from '../helpers/database.ts';
import {
  createAccount,
  createBoard,
  createMember,
  createTag,
  createWorld,
  insertIdea,
  issueToken,
  type World,
} from '../helpers/fixtures.ts';
import { expectInvariants } from '../helpers/invariants.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile, startServerForTest } from '../helpers/server.ts';

const start = new Date('2026-03-02T09:00:00Z');
const clock = testClock(start);
let world: World;
let memberId: number;
let member: Visitor;

const server = await startServerForFile({
  clock,
  environment: { RATE_LIMIT_SIGN_IN_IP: '1000000', RATE_LIMIT_IP: '1000000' },
});
beforeEach(async () => {
  clock.set(start);
  world = await createWorld(server);
  memberId = await createMember(server, world.accountId, 'member', 'Mona Member');
  member = await signedIn(server, memberId);
});

const boardPath = () => `/b/${world.boardSlug}`;
const ideaPath = (id: number) => `${boardPath()}/ideas/${id}`;
const put = (title: string, input = {}) => insertIdea(server, world, { title, ...input });
const setBoard = (assignments: string) => server.sql(`update boards set ${assignments} where id = $1`, [world.boardId]);
const votesOf = (ideaId: number) =>
  server.sql<{ value: number; user_id: number | null }>(
    'select v.value, w.user_id from votes v join voters w on w.id = v.voter_id where v.idea_id = $1 order by w.id',
    [ideaId],
  );
const problemIn = (html: string) => parse(html).querySelector('#problem')?.textContent.trim();
const noticeIn = (html: string) => parse(html).querySelector('.notice-success')?.textContent.trim();
const titlesIn = (html: string) =>
  parse(html)
    .querySelectorAll('.idea-card h3')
    .map(one => one.textContent);

/** Sends a form of an idea's page, together with the hidden fields of this page. */
const sendOn = (ideaId: number, form: string, fields: Record<string, string>, by = member) =>
  by.submit(ideaPath(ideaId), `${ideaPath(ideaId)}/${form}`, fields);
const vote = (ideaId: number, value: string, by = member) => sendOn(ideaId, 'vote', { value }, by);

async function submit(fields: Record<string, string>, by = member) {
  return by.submit(`${boardPath()}/new`, `${boardPath()}/new`, {
    title: 'Export as CSV',
    body: 'For reports.',
    ...fields,
  });
}

describe('who may open a board', () => {
  test('a member can open a private board of their account, and visitors and other users get the same 404 as for a missing board', async () => {
    const id = await put('A private idea');
    expect(titlesIn((await member.get(boardPath())).html)).toEqual(['A private idea']);
    expect((await member.get(ideaPath(id))).status).toBe(200);
    const stranger = await signedIn(
      server,
      await createMember(server, (await createAccount(server)).accountId, 'owner'),
    );
    for (const by of [new Visitor(server), stranger]) {
      for (const rest of ['', `/ideas/${id}`]) {
        const [private_, missing] = [await by.get(boardPath() + rest), await by.get(`/b/no-such-board${rest}`)];
        const expected = withoutTokens(missing.html.replace('no-such-board', world.boardSlug));
        expect([private_.status, withoutTokens(private_.html)]).toEqual([404, expected]);
      }
    }
    expect((await stranger.get(`${boardPath()}/new`)).status).toBe(404);
    for (const slug of [world.boardSlug, 'no-such-board']) {
      const { status, location } = await new Visitor(server).get(`/b/${slug}/new`);
      expect([status, location]).toEqual([303, `/sign-in?next=%2Fb%2F${slug}%2Fnew`]);
    }
  });

  test("a member who is removed from an account or blocked in it gets 404 for the account's private board", async () => {
    await server.sql('delete from memberships where user_id = $1', [memberId]);
    expect((await member.get(boardPath())).status).toBe(404);
    await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'member')`, [
      world.accountId,
      memberId,
    ]);
    expect((await member.get(boardPath())).status).toBe(200);
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, memberId]);
    expect((await member.get(boardPath())).status).toBe(404);
  });

  test('a public board of another account does not hide the private board with the same slug from its members', async () => {
    const id = await put('Ours');
    const other = await createWorld(server, { isPublic: true, slug: world.boardSlug, name: 'Another board' });
    await insertIdea(server, other, { title: 'Theirs' });
    expect(titlesIn((await member.get(boardPath())).html)).toEqual(['Ours']);
    expect((await member.get(ideaPath(id))).status).toBe(200);
    expect((await member.get(`${boardPath()}/new`)).status).toBe(200);
    expect(titlesIn((await new Visitor(server).get(boardPath())).html)).toEqual(['Theirs']);
    expect((await new Visitor(server).get(ideaPath(id))).status).toBe(404);
  });

  test('if a person can open several boards with the same slug, the query parameter `account` names the account in links and forms', async () => {
    const { accountId } = await createAccount(server);
    await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'member')`, [
      accountId,
      memberId,
    ]);
    const other = await createBoard(server, accountId, { slug: world.boardSlug, name: 'The other board' });
    const ideaId = await insertIdea(server, { ...world, accountId, boardId: other.id }, { title: 'Over there' });
    const [account] = await server.sql<{ slug: string }>('select slug from accounts where id = $1', [accountId]);
    const { html } = await member.get(`${boardPath()}?account=${account?.slug}`);
    expect(html).toContain('<h1><bdi>The other board</bdi></h1>');
    const links = parse(html)
      .querySelectorAll('main a')
      .map(link => link.getAttribute('href') ?? '');
    expect(links.filter(href => !href.includes(`account=${account?.slug}`))).toEqual([]);
    const path = `${ideaPath(ideaId)}`;
    expect((await member.get(path)).status).toBe(404);
    const sent = await member.submit(`${path}?account=${account?.slug}`, `${path}/vote?account=${account?.slug}`, {
      value: 'up',
    });
    expect(sent.location).toBe(`${path}?account=${account?.slug}&notice=voted`);
    expect(await votesOf(ideaId)).toEqual([{ value: 1, user_id: memberId }]);
  });

  test("shared caches may store a public board's pages for visitors without a session, but no cache may store a member's pages", async () => {
    await setBoard('is_public = true');
    const id = await put('The one');
    for (const path of [boardPath(), ideaPath(id)]) {
      const anonymous = await new Visitor(server).get(path);
      expect(anonymous.headers.get('cache-control')).toBe('public, max-age=0, s-maxage=15, must-revalidate');
      expect(anonymous.headers.get('vary')).toContain('Cookie');
      expect(anonymous.html).not.toContain('<form method="post"');
      const own = await member.get(path);
      expect([own.headers.get('cache-control'), own.headers.get('etag')]).toEqual(['no-store', null]);
      expect(own.html).toContain('Mona Member');
    }
  });

  test('if a visitor who is not signed in sends a form on a board, nothing changes, and the sign-in page leads back to the page of the idea or to the board', async () => {
    await setBoard('is_public = true');
    const id = await put('The one');
    const forms = ['vote', 'comments', 'follow', 'edit', 'comments/1/edit'].map(form => `/ideas/${id}/${form}`);
    for (const form of [...forms, '/ideas/x/comments', '/new']) {
      const sent = await new Visitor(server).post(boardPath() + form, {
        value: 'up',
        body: 'Hi',
        title: 'Hi',
        follow: 'yes',
      });
      expect(sent.status).toBe(303);
      const to = new URL(sent.location ?? '', server.baseUrl);
      expect([to.searchParams.get('next'), to.searchParams.get('notice')]).toEqual([
        forms.includes(form) ? ideaPath(id) : boardPath(),
        'expired',
      ]);
    }
    const asked = await new Visitor(server).get(`${boardPath()}/new`);
    expect(new URL(asked.location ?? '', server.baseUrl).searchParams.get('next')).toBe(`${boardPath()}/new`);
    expect(await votesOf(id)).toEqual([]);
    expect(await server.sql('select from ideas where board_id = $1', [world.boardId])).toHaveLength(1);
    const { email, password } = await givePassword(server, memberId);
    const back = await new Visitor(server).signIn(email, password, `${boardPath()}/new?title=x`);
    expect(back.location).toBe(`${boardPath()}/new?title=x`);
    for (const path of [ideaPath(id), ideaPath(999_999_999), '/b/no-such-board/ideas/7']) {
      const { location } = await new Visitor(server).post(`${path}/comments?account=one`, { body: 'Hi' });
      const next = new URL(location ?? '', server.baseUrl).searchParams.get('next');
      expect(next).toBe(`${path}?account=one`);
    }
  });

  test('a signed-in person who is not a member of an account can read ideas of its public board, but a vote gets 403', async () => {
    await setBoard('is_public = true');
    const id = await put('The one');
    const stranger = await signedIn(
      server,
      await createMember(server, (await createAccount(server)).accountId, 'owner'),
    );
    expect((await stranger.get(ideaPath(id))).html).not.toContain(`${ideaPath(id)}/vote`);
    const sent = await stranger.post(`${ideaPath(id)}/vote`, { value: 'up' });
    expect(sent.status).toBe(403);
    expect(sent.html).toContain('Only for members');
    expect(await votesOf(id)).toEqual([]);
  });

  test('a vote on a page of a board without the form_token of the session is refused and not stored', async () => {
    const id = await put('The one');
    const sent = await member.post(`${ideaPath(id)}/vote`, { value: 'up' });
    expect(sent.status).toBe(403);
    expect(await votesOf(id)).toEqual([]);
  });
});

test('pages of a board, notices, refused votes and missing pages are in German for a member whose browser prefers German', async () => {
  const german = { headers: { 'accept-language': 'de' } };
  const ideaId = await put('Export as CSV');
  const { html } = await member.get(`${boardPath()}?notice=awaits_approval`, german);
  const page = parse(html);
  expect(noticeIn(html)).toMatch(/^Ihre Idee wurde gesendet\./);
  expect(page.querySelector('.page-header .button')?.textContent).toBe('Idee einreichen');
  expect(page.querySelector('.vote-button')?.getAttribute('aria-label')).toBe('Stimmen für: Export as CSV');
  expect(page.querySelector('time')?.textContent).toMatch(/^\d+\. [A-Z][a-zä]+ \d{4}$/);

  const fields = hiddenFields(html, `${ideaPath(ideaId)}/vote`);
  await setBoard('is_frozen = true');
  const refused = await member.post(`${ideaPath(ideaId)}/vote`, { ...fields, value: 'up' }, german);
  expect([refused.status, problemIn(refused.html)]).toEqual([
    423,
    'Das Board ist eingefroren. Ein Inhaber oder Admin muss das Einfrieren zuerst aufheben.',
  ]);

  const missing = await member.get(ideaPath(999_999), german);
  expect([missing.status, parse(missing.html).querySelector('h1')?.textContent]).toEqual([404, 'Nicht gefunden']);
  expect(missing.html).toContain('Diese Seite gibt es auf diesem Board nicht.');
});

describe('votes', () => {
  test("a member's vote and the vote of a token that the member issued count as two votes", async () => {
    const id = await put('The one');
    const { token } = await issueToken(server, world, 'write', { issuerId: memberId });
    await request(server, `POST /api/v1/ideas/${id}/vote`, { token, json: { value: 'up' } });
    const sent = await vote(id, 'up');
    expect(sent.location).toBe(`${ideaPath(id)}?notice=voted`);
    expect(await votesOf(id)).toEqual([
      { value: 1, user_id: null },
      { value: 1, user_id: memberId },
    ]);
    const { body } = await request(server, `GET /api/v1/ideas/${id}`, { token });
    expect([body.up_count, body.my_vote]).toEqual([2, 'up']);
    await vote(id, 'down');
    expect((await request(server, `GET /api/v1/ideas/${id}`, { token })).body).toMatchObject({
      up_count: 1,
      down_count: 1,
    });
    await vote(id, 'none');
    expect((await request(server, `GET /api/v1/ideas/${id}`, { token })).body).toMatchObject({
      up_count: 1,
      down_count: 0,
    });
    await expectInvariants(server);
  });

  test("the button of a member's current vote is shown as pressed, and the button's value is none, so another press withdraws the vote", async () => {
    const id = await put('The one');
    const buttons = async () =>
      parse((await member.get(ideaPath(id))).html)
        .querySelectorAll('.vote-button')
        .map(button => [button.getAttribute('value'), button.getAttribute('aria-pressed')]);
    expect(await buttons()).toEqual([
      ['up', 'false'],
      ['down', 'false'],
    ]);
    await vote(id, 'up');
    expect(await buttons()).toEqual([
      ['none', 'true'],
      ['down', 'false'],
    ]);
    await vote(id, 'down');
    expect(await buttons()).toEqual([
      ['up', 'false'],
      ['none', 'true'],
    ]);
  });

  test('after a vote in a list of ideas, the browser returns to this list, and a forged return address does not lead to another website', async () => {
    const id = await put('The one');
    const list = `${boardPath()}?status=open&sort=top`;
    const sent = await member.submit(list, `${ideaPath(id)}/vote`, { value: 'up' });
    expect(sent.location).toBe(`${list}#idea-${id}`);
    for (const foreign of [
      '?//evil.example',
      '?status=open&next=https://evil.example',
      '//evil.example',
      'https://evil.example',
    ]) {
      const { location } = await vote(id, 'down').then(() => sendOn(id, 'vote', { value: 'up', list: foreign }));
      expect(location?.startsWith(boardPath())).toBe(true);
    }
  });

  test("if one person's first vote is sent ten times in parallel, one voter is created and one vote counts", async () => {
    const id = await put('The one');
    const { html } = await member.get(ideaPath(id));
    const form_token = parse(html).querySelector('[name=form_token]')?.getAttribute('value') ?? '';
    const sent = await Promise.all(
      Array.from({ length: 10 }, () => member.post(`${ideaPath(id)}/vote`, { form_token, value: 'up' })),
    );
    expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([303]));
    expect(await votesOf(id)).toEqual([{ value: 1, user_id: memberId }]);
    await expectInvariants(server);
  });

  test("if the board or the idea's status accepts no votes, a member's vote is not stored, and the page explains the reason", async () => {
    const id = await put('The one');
    const form_token =
      parse((await member.get(ideaPath(id))).html)
        .querySelector('[name=form_token]')
        ?.getAttribute('value') ?? '';
    const cases: [board: string, status: number, words: string][] = [
      ['is_frozen = true', 423, 'The board is frozen'],
      [`is_frozen = false, voting_open_at = '2026-04-01'`, 423, 'Voting has not begun'],
      [`voting_open_at = null, voting_close_at = '2026-02-01'`, 423, 'Voting has ended'],
    ];
    for (const [assignments, status, words] of cases) {
      await setBoard(assignments);
      const sent = await member.post(`${ideaPath(id)}/vote`, { form_token, value: 'up' });
      expect([sent.status, problemIn(sent.html)]).toEqual([status, expect.stringContaining(words)]);
    }
    await setBoard('voting_close_at = null');
    await server.sql('update statuses set allow_votes = false where board_id = $1', [world.boardId]);
    const closed = await member.post(`${ideaPath(id)}/vote`, { form_token, value: 'up' });
    expect([closed.status, problemIn(closed.html)]).toEqual([423, 'Ideas in this status accept no votes.']);
    expect((await member.post(`${ideaPath(id)}/vote`, { form_token, value: 'sideways' })).status).toBe(422);
    expect(await votesOf(id)).toEqual([]);
  });
});

describe('what a board does not accept now', () => {
  const closedOn = async (path: string, by = member, headers = {}) => {
    const page = parse((await by.get(path, { headers })).html);
    return {
      notices: page.querySelectorAll('p.notice').map(one => one.textContent.trim()),
      canSubmit: page.querySelector('.page-header .button') !== null,
      canVote: page.querySelector('.vote, a.score, #tally .button') !== null,
    };
  };

  test.each([
    ['is_frozen = true', 'This board is frozen: it takes no ideas, votes or comments for now.'],
    [
      `submissions_open_at = '2026-04-01', voting_open_at = '2026-04-02 10:00Z'`,
      'You can submit ideas from 1 Apr 2026, 00:00 UTC on. You can vote from 2 Apr 2026, 10:00 UTC on.',
    ],
    [
      `submissions_close_at = '2026-02-01', voting_close_at = '2026-03-02 09:00Z'`,
      'Submissions closed on 1 Feb 2026, 00:00 UTC. Voting closed on 2 Mar 2026, 09:00 UTC.',
    ],
  ])(
    'a board with the setting %s says in one notice what it does not accept, and shows members and visitors no buttons for it',
    async (assignments, notice) => {
      const id = await put('The one');
      await setBoard('is_public = true');
      expect(await closedOn(boardPath())).toEqual({ notices: [], canSubmit: true, canVote: true });
      expect(await closedOn(ideaPath(id), new Visitor(server))).toMatchObject({ notices: [], canVote: true });
      await setBoard(assignments);
      const [, ofVotes = notice] = /UTC(?: on)?\. (.+)/.exec(notice) ?? [];
      for (const by of [member, new Visitor(server)]) {
        expect(await closedOn(boardPath(), by)).toEqual({ notices: [notice], canSubmit: false, canVote: false });
        expect(await closedOn(ideaPath(id), by)).toMatchObject({ notices: [ofVotes], canVote: false });
      }
    },
  );

  test('while only votes are closed, a board still offers to submit ideas, and says in German when voting ended', async () => {
    await setBoard(`voting_close_at = '2026-02-01'`);
    expect(await closedOn(boardPath(), member, { 'accept-language': 'de' })).toEqual({
      notices: ['Die Abstimmung endete am 01.02.2026, 00:00 UTC.'],
      canSubmit: true,
      canVote: false,
    });
    clock.set(new Date('2026-01-31T23:59:59Z'));
    const early = await signedIn(server, memberId);
    expect((await closedOn(boardPath(), early)).notices).toEqual([]);
  });

  test('the page of an idea tells members and visitors if the status of the idea accepts no votes or comments, but says nothing about votes on a merged or pending idea', async () => {
    const ids = [await put('The one'), await put('Merged'), await put('Pending', { moderationState: 'pending' })];
    await setBoard('is_public = true');
    await server.sql('update ideas set merged_into_id = $1 where id = $2', [ids[0], ids[1]]);
    await server.sql('update statuses set allow_votes = false, allow_comments = false where board_id = $1', [
      world.boardId,
    ]);
    const owner = await signedIn(server, world.ownerId);
    for (const by of [member, owner, new Visitor(server)]) {
      expect((await closedOn(ideaPath(ids[0] ?? 0), by)).notices).toEqual([
        'Ideas in this status accept no votes.',
        'Ideas in this status accept no comments.',
      ]);
    }
    await setBoard(`voting_close_at = '2026-02-01'`);
    for (const id of ids.slice(1)) expect((await owner.get(ideaPath(id))).html).not.toMatch(/accept no votes|Voting/);
  });
});

describe('ideas', () => {
  test('an idea that a member submits appears on the board, the member follows the idea, and the server records an event', async () => {
    const sent = await submit({ body: 'Line one\nLine two' });
    const [idea] = await server.sql<{ id: number }>('select * from ideas where board_id = $1', [world.boardId]);
    expect(idea).toMatchObject({
      title: 'Export as CSV',
      body: 'Line one\nLine two',
      author_id: memberId,
      moderation_state: 'published',
    });
    expect(sent.location).toBe(`${ideaPath(idea?.id ?? 0)}?notice=submitted`);
    expect(noticeIn((await member.get(sent.location ?? '')).html)).toBe('Your idea is on the board.');
    expect(await server.sql('select user_id from followers where idea_id = $1', [idea?.id])).toEqual([
      { user_id: memberId },
    ]);
    expect(await server.sql('select type, actor_id from events where idea_id = $1', [idea?.id])).toEqual([
      { type: 'idea.created', actor_id: memberId },
    ]);
  });

  test("on a board with pre-moderation, a member's idea awaits approval, and a moderator's idea does not", async () => {
    await setBoard('pre_moderation = true');
    const sent = await submit({});
    expect(sent.location).toBe(`${boardPath()}?notice=awaits_approval`);
    const page = await member.get(sent.location ?? '');
    expect([titlesIn(page.html), noticeIn(page.html)]).toEqual([[], expect.stringContaining('publish or reject')]);
    const moderator = await signedIn(server, await createMember(server, world.accountId, 'moderator'));
    expect((await submit({ title: 'Another' }, moderator)).location).toMatch(/notice=submitted$/);
    expect(
      await server.sql('select moderation_state from ideas where board_id = $1 order by id', [world.boardId]),
    ).toEqual([{ moderation_state: 'pending' }, { moderation_state: 'published' }]);
  });

  test('when a member first submits a new idea, the page shows similar ideas, and a second submission with the same title creates the idea', async () => {
    const similar = await put('Export a board as a CSV file');
    await put('Dark mode');
    const shown = await submit({});
    expect([shown.status, titlesIn(shown.html)]).toEqual([200, ['Export a board as a CSV file']]);
    expect(await server.sql('select from ideas where board_id = $1', [world.boardId])).toHaveLength(2);
    const form = parse(shown.html);
    const value = (name: string) => form.querySelector(`[name=${name}]`)?.getAttribute('value') ?? '';
    expect(form.querySelector('textarea')?.textContent).toBe('For reports.');
    const fields = { form_token: value('form_token'), form_id: value('form_id'), seen_for: value('seen_for') };
    expect(form.querySelector(`form[action="${ideaPath(similar)}/vote"]`)).not.toBeNull();
    const changed = await member.post(`${boardPath()}/new`, { ...fields, title: 'CSV export of a board', body: 'x' });
    expect(changed.status).toBe(200);
    const sent = await member.post(`${boardPath()}/new`, { ...fields, title: value('title'), body: 'For reports.' });
    expect(sent.location).toMatch(/notice=submitted$/);
    const again = await member.post(`${boardPath()}/new`, { ...fields, title: value('title'), body: 'For reports.' });
    expect([again.status, problemIn(again.html)]).toEqual([409, expect.stringContaining('sent twice')]);
    expect(await server.sql('select from ideas where board_id = $1', [world.boardId])).toHaveLength(3);
  });

  test('the page for a new idea shows published ideas with titles similar to the title in the URL, except ideas in hidden statuses', async () => {
    await put('Dark theme for the calendar');
    const hidden = await put('Dark calendar of hidden things');
    await put('Dark calendar, pending', { moderationState: 'pending' });
    await put('A calendar only');
    await server.sql(
      `update ideas set status_id = (select id from statuses where board_id = $2 and key = 'archived') where id = $1`,
      [hidden, world.boardId],
    );
    await server.sql(`update statuses set is_hidden = true where board_id = $1 and key = 'archived'`, [world.boardId]);
    const find = async (title: string) =>
      titlesIn((await member.get(`${boardPath()}/new?${new URLSearchParams({ title })}`)).html);
    expect(await find('Calendar in dark colours')).toEqual(['Dark theme for the calendar', 'A calendar only']);
    expect((await find('calendár')).sort()).toEqual(['A calendar only', 'Dark theme for the calendar']);
    for (const nothing of ['', 'to', '!!!', "it's", '&|!():*', 'x'.repeat(3_000)])
      expect(await find(nothing)).toEqual([]);
  });

  test('if the search for similar ideas takes too long, the page for a new idea shows no similar ideas', async () => {
    await put('Dark theme for the calendar');
    const path = `${boardPath()}/new?title=Dark+calendar`;
    expect(titlesIn((await member.get(path)).html)).toHaveLength(1);
    const locking = await connect(server.url);
    onTestFinished(() => locking.end());
    // The table is locked, so the search waits until its time limit has passed.
    await locking.query('begin; lock table ideas in access exclusive mode');
    const slow = await member.get(path);
    expect([slow.status, titlesIn(slow.html)]).toEqual([200, []]);
    expect(parse(slow.html).querySelector('[name=title]')?.getAttribute('value')).toBe('Dark calendar');
  });

  test('an invalid idea on a page of a board is refused with an explanation, and the form keeps the entered values', async () => {
    for (const [fields, words] of [
      [{ title: '  ' }, 'Enter a title of 1 to 200 characters.'],
      [{ title: 'x'.repeat(201) }, 'Enter a title of 1 to 200 characters.'],
      [{ body: '' }, 'Describe the idea in 1 to 10,000 characters.'],
      [{ body: 'x'.repeat(10_001) }, 'Describe the idea in 1 to 10,000 characters.'],
    ] as const) {
      const sent = await submit({ ...fields });
      const form = parse(sent.html);
      expect([sent.status, problemIn(sent.html)]).toEqual([422, words]);
      const kept = { title: 'Export as CSV', body: 'For reports.', ...fields };
      expect(form.querySelector('[name=title]')?.getAttribute('value')).toBe(kept.title);
      expect(form.querySelector('textarea')?.textContent).toBe(kept.body);
    }
    expect(await server.sql('select from ideas where board_id = $1', [world.boardId])).toEqual([]);
  });

  test('outside the submission window or on a frozen board, the page for new ideas explains why there is no form, and new ideas are refused', async () => {
    const { html } = await member.get(`${boardPath()}/new`);
    const value = (name: string) => parse(html).querySelector(`[name=${name}]`)?.getAttribute('value') ?? '';
    const fields = { form_token: value('form_token'), form_id: value('form_id'), title: 'T', body: 'B' };
    for (const [assignments, notice, words] of [
      ['is_frozen = true', 'This board is frozen', 'The board is frozen'],
      [
        `is_frozen = false, submissions_open_at = '2026-04-01'`,
        'You can submit ideas from',
        'does not accept ideas yet',
      ],
      [`submissions_open_at = null, submissions_close_at = '2026-02-01'`, 'closed on', 'no longer accepts ideas'],
    ] as const) {
      await setBoard(assignments);
      const page = await member.get(`${boardPath()}/new`);
      expect(page.html).toContain(notice);
      expect(page.html).not.toContain('<textarea');
      const sent = await member.post(`${boardPath()}/new`, fields);
      expect([sent.status, problemIn(sent.html)]).toEqual([423, expect.stringContaining(words)]);
    }
    expect(await server.sql('select from ideas where board_id = $1', [world.boardId])).toEqual([]);
  });
});

describe('comments and following', () => {
  test("a member's comment appears on the page of the idea, and a second comment in a row is refused but stays in the form", async () => {
    const id = await put('The one');
    const path = `${ideaPath(id)}/comments`;
    const hidden = hiddenFields((await member.get(ideaPath(id))).html, path);
    const send = (body: string) => member.post(path, { ...hidden, body });
    const sent = await send(' Yes,\nplease. ');
    const [comment] = await server.sql<{ id: number }>('select * from comments where idea_id = $1', [id]);
    expect(comment).toMatchObject({ body: 'Yes,\nplease.', author_id: memberId });
    expect(sent.location).toBe(`${ideaPath(id)}?notice=commented&comment=${comment?.id}#comment-${comment?.id}`);
    expect((await member.get(ideaPath(id))).html).toContain('Yes,\nplease.');
    const again = await send('And soon');
    expect([again.status, problemIn(again.html)]).toEqual([422, expect.stringContaining('The last comment is yours')]);
    expect(parse(again.html).querySelector('textarea')?.textContent).toBe('And soon');
    for (const body of [' ', 'x'.repeat(501)]) {
      expect(problemIn((await send(body)).html)).toContain('at most 500 characters');
    }
    expect(await server.sql('select from comments where idea_id = $1', [id])).toHaveLength(1);
  });

  test('a member can follow and unfollow an idea on its page, and other members still see the button Follow', async () => {
    const id = await put('The one');
    const other = await signedIn(server, await createMember(server, world.accountId, 'member'));
    const buttons = async () => {
      const pages = await Promise.all([member, other].map(by => by.get(ideaPath(id))));
      return pages.map(({ html }) => parse(html).querySelector('button[name=follow]')?.textContent);
    };
    const followers = () => server.sql('select user_id from followers where idea_id = $1', [id]);
    expect((await sendOn(id, 'follow', { follow: 'yes' })).location).toBe(`${ideaPath(id)}?notice=followed`);
    expect(await followers()).toEqual([{ user_id: memberId }]);
    expect(await buttons()).toEqual(['Unfollow', 'Follow']);
    expect((await sendOn(id, 'follow', { follow: 'no' })).location).toBe(`${ideaPath(id)}?notice=unfollowed`);
    expect(await followers()).toEqual([]);
    expect(await buttons()).toEqual(['Follow', 'Follow']);
  });

  test('the page of an idea shows the pictures of its writers, and suggests only the other active members among them for mentions', async () => {
    const [active, blocked, former] = await Promise.all(
      ['Ada Active', 'Ben Blocked', 'Fay Former'].map(name => createMember(server, world.accountId, 'member', name)),
    );
    await createMember(server, world.accountId, 'member', 'Sam Silent');
    await server.sql(`update users set avatar_url = '/pictures/' || id || '.webp' where id = any($1)`, [
      [world.ownerId, active, former],
    ]);
    const id = await put('The one', { authorId: world.ownerId });
    for (const author of [active, blocked, former, memberId, active]) {
      await server.sql(`insert into comments (account_id, idea_id, author_id, body) values ($1, $2, $3, 'Yes')`, [
        world.accountId,
        id,
        author,
      ]);
    }
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, blocked]);
    await server.sql('delete from memberships where user_id = $1', [former]);
    const page = parse((await member.get(ideaPath(id))).html);
    const pictures = page.querySelectorAll('img.picture').map(one => one.getAttribute('src'));
    expect(pictures).toEqual([world.ownerId, active, former, active].map(user => `/pictures/${user}.webp`));
    const [owner] = await server.sql<{ name: string }>('select name from users where id = $1', [world.ownerId]);
    const suggested = page.querySelectorAll('#mentionable button').map(one => one.getAttribute('value'));
    expect(suggested).toEqual([owner?.name, 'Ada Active']);
  });

  test('a member cannot vote or comment on an idea if the path contains the slug of another board of the account', async () => {
    const other = await createBoard(server, world.accountId);
    const elsewhere = await insertIdea(server, { ...world, boardId: other.id }, { title: 'Elsewhere' });
    const id = await put('Here');
    const form_token =
      parse((await member.get(ideaPath(id))).html)
        .querySelector('[name=form_token]')
        ?.getAttribute('value') ?? '';
    for (const [form, fields] of [
      ['vote', { value: 'up' }],
      ['comments', { body: 'Hi' }],
    ] as const) {
      expect((await member.post(`${ideaPath(elsewhere)}/${form}`, { form_token, ...fields })).status).toBe(404);
    }
    expect(await votesOf(elsewhere)).toEqual([]);
    expect(await server.sql('select from comments where idea_id = $1', [elsewhere])).toEqual([]);
  });
});

describe('moderation on the board', () => {
  test("a moderator can set the status and add and remove a tag on the board's page of an idea, and returns to this page", async () => {
    const id = await put('The one');
    const tagId = await createTag(server, world.accountId, world.boardId, 'Design');
    const moderator = await signedIn(server, await createMember(server, world.accountId, 'moderator'));
    const send = (form: string, fields: Record<string, string>) =>
      moderator.submit(ideaPath(id), `/admin/ideas/${id}/${form}?on=${world.boardSlug}`, fields);
    expect((await send('status', { status: 'planned' })).location).toBe(`${ideaPath(id)}?notice=status_set`);
    expect((await send('tags', { tag_id: String(tagId) })).location).toBe(`${ideaPath(id)}?notice=tag_added`);
    const page = parse((await moderator.get(`${ideaPath(id)}?notice=tag_added`)).html);
    expect(page.querySelector('.notice-success')?.textContent).toContain('The tag is added.');
    expect(page.querySelector('.chip-planned')?.textContent).toContain('planned');
    expect((await send(`tags/${tagId}/remove`, {})).location).toBe(`${ideaPath(id)}?notice=tag_removed`);
    expect((await member.get(ideaPath(id))).html).not.toContain('/admin/ideas');
  });

  test("a moderator can search and preview a merge target on the board's page of an idea, and sees the target after the merge", async () => {
    const [source, target] = [await put('Night mode'), await put('Dark mode')];
    const moderator = await signedIn(server, await createMember(server, world.accountId, 'moderator'));
    const form = `/admin/ideas/${source}/merge?on=${world.boardSlug}`;
    expect((await moderator.get(ideaPath(source))).html).toContain(`href="${form}"`);
    const search = parse((await moderator.get(`${form}&q=dark`)).html);
    expect(search.querySelector(`main a[href="${ideaPath(source)}"]`)).not.toBeNull();
    const preview = search.querySelector('.idea-card a')?.getAttribute('href') ?? '';
    expect(preview).toBe(`/admin/ideas/${source}/merge?on=${world.boardSlug}&target=${target}`);
    const merged = await moderator.submit(preview, form);
    expect(merged.location).toBe(`${ideaPath(target)}?notice=merged`);
    expect(noticeIn((await moderator.get(merged.location ?? '')).html)).toBe('The ideas are merged.');
  });

  test("a moderator can approve or reject a pending idea on this idea's page, and other members get 404 for the page", async () => {
    const [approved, rejected] = [
      await put('Good', { moderationState: 'pending' }),
      await put('Bad', { moderationState: 'pending' }),
    ];
    const moderator = await signedIn(server, await createMember(server, world.accountId, 'moderator'));
    expect((await member.get(ideaPath(approved))).status).toBe(404);
    const on = `?on=${world.boardSlug}`;
    const sent = await moderator.submit(ideaPath(approved), `/admin/ideas/${approved}/approve${on}`);
    expect(sent.location).toBe(`${ideaPath(approved)}?notice=approved`);
    expect((await member.get(ideaPath(approved))).status).toBe(200);
    const form = `/admin/ideas/${rejected}/reject${on}`;
    expect((await moderator.get(ideaPath(rejected))).html).toContain(`href="${form}"`);
    const refused = await moderator.submit(form, form, { reason: 'Not our product' });
    expect(refused.location).toBe(`${boardPath()}?notice=rejected`);
    expect(noticeIn((await moderator.get(refused.location ?? '')).html)).toContain('The idea is rejected.');
  });
});

test('a member can send at most RATE_LIMIT_MEMBER votes and comments in an hour, and after that the page says when to try again', async () => {
  const limited = await startServerForTest({ on: server, clock, environment: { RATE_LIMIT_MEMBER: '2' } });
  const { email, password } = await givePassword(server, memberId);
  const visitor = new Visitor(limited);
  await visitor.signIn(email, password);
  const id = await put('The one');
  expect((await vote(id, 'up', visitor)).status).toBe(303);
  expect((await sendOn(id, 'comments', { body: 'Hi' }, visitor)).status).toBe(303);
  const third = await vote(id, 'down', visitor);
  expect([third.status, problemIn(third.html)]).toEqual([429, expect.stringContaining('Try again in 60 minutes')]);
  expect(third.headers.get('retry-after')).toBe('3600');
  expect(await votesOf(id)).toEqual([{ value: 1, user_id: memberId }]);
  clock.set(new Date(start.getTime() + 3_600_000));
  expect((await vote(id, 'down', visitor)).status).toBe(303);
});

test('a GET request to the path of a form on the page of an idea is redirected to this page', async () => {
  const id = await put('The one');
  for (const form of ['vote', 'comments', 'follow']) {
    const { status, location } = await member.get(`${ideaPath(id)}/${form}`);
    expect([form, status, location]).toEqual([form, 303, ideaPath(id)]);
  }
});

test('a comment or an official reply that is refused because the board was frozen meanwhile stays in its form', async () => {
  const id = await put('The one');
  const moderator = await signedIn(server, world.ownerId);
  await setBoard('is_frozen = true');
  const send = async (by: Visitor, path: string, fields: Record<string, string>) => {
    const { form_token = '' } = hiddenFields((await by.get(ideaPath(id))).html, '/admin/sign-out');
    const { status, html } = await by.post(path, { form_token, ...fields });
    expect([status, problemIn(html)]).toEqual([423, expect.stringContaining('The board is frozen')]);
    return html;
  };
  expect(await send(member, `${ideaPath(id)}/comments`, { body: 'In spring' })).toContain('>In spring</textarea>');
  const status = { status: 'planned', reply: 'In autumn' };
  expect(await send(moderator, `/admin/ideas/${id}/status`, status)).toContain('>In autumn</textarea>');
  expect(await server.sql('select from comments where idea_id = $1', [id])).toEqual([]);
});
