import { parse } from 'node-html-parser';
import { beforeEach, describe, expect, test } from 'vitest';
import { requirePlaceholder } from '../../server/domain/erasure/placeholder.ts';
import { linkToIdeas } from '../../server/domain/ideas/present-idea.ts';
import { mergeIdea } from '../../server/domain/merging/merge-idea.ts';
import { iconPath, stylesheetPath } from '../../server/pages/shell/assets.ts';
import { givePassword, hiddenFields, signedIn, Visitor } from '../admin/visitor.ts';
import {
  type BoardInput,
  createBoard,
  createMember,
  createTag,
  createUser,
  createWorld,
  insertIdea,
  issueToken,
  type World,
} from '../helpers/fixtures.ts';
import { rawRequest } from '../helpers/raw-request.ts';
import { request } from '../helpers/request.ts';
import { runAsUser } from '../helpers/run-as-user.ts';
import { startServerForFile } from '../helpers/server.ts';
import { snapshot } from '../helpers/snapshot.ts';

let world: World;

const statuses: BoardInput['statuses'] = [
  { key: 'new', category: 'inbox', label: 'New' },
  { key: 'research', category: 'planned', label: 'Research' },
  { key: 'planned', category: 'planned', label: 'Planned' },
  { key: 'done', category: 'completed', label: 'Shipped' },
  { key: 'spam', category: 'archived', label: 'Spam hold', isHidden: true },
];

const server = await startServerForFile({ environment: { BASE_URL: 'https://ideas.example.com' } });
beforeEach(async () => {
  world = await createWorld(server, { isPublic: true, name: 'Web app', description: 'What next?', statuses });
});

const boardPath = () => `/b/${world.boardSlug}`;
const ideaPath = (id: number) => `${boardPath()}/ideas/${id}`;
const get = (path: string, headers = {}) => request(server, `GET ${path}`, { headers });
const put = (title: string, status = 'new', input = {}) => insertIdea(server, world, { title, status, ...input });

const unescapeHtml = (text: string) => text.replaceAll('&#39;', "'").replaceAll('&quot;', '"').replaceAll('&amp;', '&');

/** Returns the titles of the listed ideas, in the order in which the page shows the ideas. */
function titlesIn(html: string): string[] {
  return [...html.matchAll(/<h3><a href="[^"]*"><bdi>([^<]*)<\/bdi>/g)].map(([, title = '']) => unescapeHtml(title));
}

/** Returns the href of the link with this text. */
function linkIn(html: string, words: string): string | undefined {
  const href = new RegExp(`<a [^>]*href="([^"]*)"[^>]*>(?:<bdi>)?${words}<`).exec(html)?.[1];
  return href && unescapeHtml(href);
}

const comment = (ideaId: number, body: string) =>
  server.sql('insert into comments (account_id, idea_id, author_id, body) values ($1, $2, $3, $4)', [
    world.accountId,
    ideaId,
    world.ownerId,
    body,
  ]);

describe('the board', () => {
  test('a public board shows its name, its description and links to its ideas, newest idea first', async () => {
    await put('The older', 'new', { createdAt: new Date('2026-01-01') });
    const id = await put('The newer');
    const { status, text } = await get(boardPath());
    expect(status).toBe(200);
    expect(text).toContain('<h1><bdi>Web app</bdi></h1>');
    expect(text).toContain('What next?');
    expect(titlesIn(text)).toEqual(['The newer', 'The older']);
    expect(linkIn(text, 'The newer')).toBe(ideaPath(id));
    expect(text).toContain(`<link rel="canonical" href="https://ideas.example.com${boardPath()}">`);
  });

  test('a public board can sort its ideas by score, with the highest score first', async () => {
    const liked = await put('Liked', 'new', { createdAt: new Date('2026-01-01') });
    await put('Not yet');
    await server.sql('update ideas set up_count = 3 where id = $1', [liked]);
    const { text } = await get(`${boardPath()}?sort=top`);
    expect(titlesIn(text)).toEqual(['Liked', 'Not yet']);
  });

  test('a public board shows the tags of each idea in the order of the API, in a list and in a search', async () => {
    const names = ['zebra', 'Apple', 'mango'];
    const tagIds: number[] = [];
    for (const name of names) tagIds.push(await createTag(server, world.accountId, world.boardId, name));
    const ideas = [await put('Fruit'), await put('Fruit without tags')];
    await server.sql(
      'insert into idea_tags (account_id, idea_id, tag_id) select $1, $2, tag from unnest($3::bigint[]) as tag',
      [world.accountId, ideas[0], tagIds],
    );
    const { token } = await issueToken(server, world, 'read');
    const { body } = await request(server, 'GET /api/v1/ideas', { token });
    const expected = body.data.map(({ tags }: { tags: { name: string }[] }) => tags.map(({ name }) => name));
    expect(expected).toEqual([[], ['Apple', 'mango', 'zebra']]);
    for (const query of ['', '?sort=comments', '?q=fruit']) {
      const cards = parse((await get(boardPath() + query)).text).querySelectorAll('.idea-card');
      const shown = cards.map(card => card.querySelectorAll('.chip-outline').map(tag => tag.textContent));
      expect([query, shown]).toEqual([query, expected]);
    }
  });

  test('a public board can filter its ideas by a status or a category', async () => {
    for (const key of ['new', 'research', 'planned', 'done']) await put(`In ${key}`, key);
    const page = await get(`${boardPath()}?status_key=research`);
    expect(titlesIn(page.text)).toEqual(['In research']);
    expect(page.text).toContain('aria-current="true"><bdi>Research</bdi>');
    const planned = await get(`${boardPath()}?status=planned`);
    expect(titlesIn(planned.text).sort()).toEqual(['In planned', 'In research']);
    expect(page.text).toContain('<meta name="robots" content="noindex">');
  });

  test('the search on a public board keeps the chosen status filter and sort order', async () => {
    await put('Export as CSV');
    await put('Façade export', 'done');
    await put('Import');
    expect(titlesIn((await get(`${boardPath()}?q=exp`)).text)).toEqual(['Façade export', 'Export as CSV']);
    expect(titlesIn((await get(`${boardPath()}?q=facade+exp`)).text)).toEqual(['Façade export']);
    const { text } = await get(`${boardPath()}?q=exp&status_key=done&sort=top`);
    expect(titlesIn(text)).toEqual(['Façade export']);
    expect(text).toContain('<input type="hidden" name="status_key" value="done">');
    expect(text).toContain('<input type="hidden" name="sort" value="top">');
    expect(linkIn(text, 'New')).toBe(`${boardPath()}?q=exp&status_key=new&sort=top`);
    expect(linkIn(text, 'Newest')).toBe(`${boardPath()}?q=exp&status_key=done`);
  });

  test("the page links of a public board's list lead through all pages and back to the first page", async () => {
    for (let n = 1; n <= 45; n++) await put(`Export ${n}`);
    for (const start of [
      boardPath(),
      `${boardPath()}?sort=top`,
      `${boardPath()}?q=export`,
      `${boardPath()}?status_key=new`,
    ]) {
      const found: string[] = [];
      let path: string | undefined = start;
      let pages = 0;
      while (path !== undefined) {
        const { text } = await get(path);
        found.push(...titlesIn(text));
        expect(linkIn(text, 'Back to the first page')).toBe(pages === 0 ? undefined : start);
        path = linkIn(text, 'More ideas');
        pages++;
      }
      expect([pages, found.length, new Set(found).size]).toEqual([3, 45, 45]);
    }
  });

  test('a browser transfers less than 30 kB for a page of a public board with its style sheet and its icon', async () => {
    for (let n = 1; n <= 21; n++) {
      await put(`${'A long title '.repeat(15)}${n}`, 'new', { body: 'A long text, as people write them. '.repeat(50) });
    }
    let bytes = 0;
    for (const path of [boardPath(), stylesheetPath, iconPath]) {
      const { headers } = await get(path, { 'accept-encoding': 'gzip, deflate, br' });
      bytes += Number(headers.get('content-length'));
    }
    expect(bytes).toBeGreaterThan(1000);
    expect(bytes).toBeLessThan(30_000);
  });

  test('a public board shows a message if the list is empty, a search finds nothing or the board is frozen', async () => {
    expect((await get(boardPath())).text).toContain('There are no ideas here yet.');
    expect((await get(`${boardPath()}?q=nothing`)).text).toContain('No ideas match.');
    await server.sql('update boards set is_frozen = true where id = $1', [world.boardId]);
    expect((await get(boardPath())).text).toContain('This board is frozen');
  });

  test('a public board ignores empty and unknown query parameters', async () => {
    await put('The one');
    const { status, text } = await get(`${boardPath()}?q=&status_key=&sort=&utm_source=mail&fbclid=1&fbclid=2`);
    expect([status, titlesIn(text)]).toEqual([200, ['The one']]);
  });

  test.each([
    'sort=worst',
    'status=new',
    'status=hidden',
    `q=${'x'.repeat(101)}`,
    'q=a&q=b',
    'q=%00',
    'cursor=x',
    'cursor=WyJ0b3AiLDEsMV0',
    `cursor=${'A'.repeat(600)}`,
    'sort=top&sort=newest',
  ])('a public board shows an error page for the invalid query %s', async query => {
    const { status, text } = await get(`${boardPath()}?${query}`);
    expect(status).toBe(400);
    expect(linkIn(text, 'Start again')).toBe(boardPath());
  });

  test('a public board answers 404 to a filter by an unknown status', async () => {
    expect((await get(`${boardPath()}?status_key=none`)).status).toBe(404);
  });
});

describe('an idea', () => {
  test("the public page of an idea shows the idea's status, tags, vote counts, author, text and comments", async () => {
    const id = await put('Dark mode', 'done', { body: 'For late evenings.\n\nAnd early mornings.' });
    const tagId = await createTag(server, world.accountId, world.boardId, 'Design');
    await server.sql('insert into idea_tags (idea_id, tag_id, account_id) values ($1, $2, $3)', [
      id,
      tagId,
      world.accountId,
    ]);
    await server.sql('update ideas set up_count = 5, down_count = 2, comment_count = 2 where id = $1', [id]);
    await comment(id, 'Yes,\nplease.');
    await comment(id, 'Me too.');

    const { status, text } = await get(ideaPath(id));
    expect(status).toBe(200);
    for (const part of [
      '<h1 dir="auto">Dark mode</h1>',
      '<bdi>Shipped</bdi>',
      '<bdi>Design</bdi>',
      '<span class="score-number">3</span>',
      '5 for, 2 against',
      '<bdi>The owner</bdi>',
      'dir="auto">For late evenings.\n\nAnd early mornings.</p>',
      'Comments (2)',
      `<link rel="canonical" href="https://ideas.example.com${ideaPath(id)}">`,
    ]) {
      expect(text).toContain(part);
    }
    expect(text.indexOf('Yes,\nplease.')).toBeGreaterThan(0);
    expect(text.indexOf('Yes,\nplease.')).toBeLessThan(text.indexOf('Me too.'));
    expect(linkIn(text, 'All ideas of ')).toBe(boardPath());
  });

  test('the public pages show URLs in descriptions, ideas and comments as links, but URLs in the list of ideas as plain text', async () => {
    await server.sql(`update boards set description = 'Read https://a.example/d.' where id = $1`, [world.boardId]);
    const id = await put('Linked', 'new', { body: 'See https://a.example/b.\nThanks' });
    await comment(id, 'Or (https://a.example/c)');
    const link = (url: string) => `<a href="${url}" dir="ltr" rel="nofollow ugc noopener">${url}</a>`;
    const { text } = await get(ideaPath(id));
    expect(text).toContain(`>See ${link('https://a.example/b')}.\nThanks</p>`);
    expect(text).toContain(`>Or (${link('https://a.example/c')})</p>`);
    const board = await get(boardPath());
    expect(board.text).toContain(`>Read ${link('https://a.example/d')}.</p>`);
    expect(board.text).not.toContain(link('https://a.example/b'));
  });

  test('the public page of an idea shows its comments oldest first, on several pages', async () => {
    const id = await put('Discussed');
    for (let n = 1; n <= 25; n++) await comment(id, `Comment ${n}.`);
    const first = await get(ideaPath(id));
    const next = linkIn(first.text, 'More comments') ?? '';
    const second = await get(next.replace(/#.*/, ''));
    const numbersIn = (html: string) => [...html.matchAll(/Comment (\d+)\./g)].map(([, n]) => Number(n));
    expect([...numbersIn(first.text), ...numbersIn(second.text)]).toEqual(Array.from({ length: 25 }, (_, n) => n + 1));
    expect(linkIn(second.text, 'Back to the first comments')).toBe(ideaPath(id));
    expect((await get(`${ideaPath(id)}?cursor=x`)).status).toBe(400);
  });

  test('an idea shows its newest official reply on each page of its comments, wherever the reply is among the comments', async () => {
    const replyOn = async (path: string) => {
      const section = parse((await get(path)).text).querySelector('[aria-labelledby="official-reply"] .prose');
      return section?.textContent;
    };
    const reply = (ideaId: number, body: string) =>
      server.sql(
        'insert into comments (account_id, idea_id, author_id, body, is_official) values ($1, $2, $3, $4, true)',
        [world.accountId, ideaId, world.ownerId, body],
      );
    const short = await put('Short');
    await reply(short, 'First reply');
    await reply(short, 'Second reply');
    await comment(short, 'Thanks.');
    expect(await replyOn(ideaPath(short))).toBe('Second reply');

    const long = await put('Long');
    await reply(long, 'First reply');
    for (let n = 1; n <= 22; n++) await comment(long, `Comment ${n}.`);
    const next = (linkIn((await get(ideaPath(long))).text, 'More comments') ?? '').replace(/#.*/, '');
    expect(await replyOn(ideaPath(long))).toBe('First reply');
    expect(await replyOn(next)).toBe('First reply');
    await reply(long, 'Second reply');
    expect(await replyOn(ideaPath(long))).toBe('Second reply');
    expect(await replyOn(next)).toBe('Second reply');
  });

  test('linkToIdeas(), which makes the links in mails and chat messages, returns the URL of the public page of an idea', async () => {
    const id = await put('Told of');
    const link = new URL(linkToIdeas(server.config, world.boardSlug)(id));
    expect(link.origin).toBe('https://ideas.example.com');
    expect((await get(link.pathname)).text).toContain('<h1 dir="auto">Told of</h1>');
  });

  test("a public board does not list a merged idea, and the merged idea's page links to the target of the merge", async () => {
    const source = await put('Night mode');
    const target = await put('Dark mode');
    await runAsUser(server, world, world.ownerId, op => mergeIdea(op, source, target));
    expect(titlesIn((await get(boardPath())).text)).toEqual(['Dark mode']);
    const { text } = await get(ideaPath(source));
    expect(text).toContain('This idea was merged into');
    expect(linkIn(text, 'Dark mode')).toBe(ideaPath(target));

    await server.sql(
      `update ideas set status_id = (select id from statuses where board_id = $1 and key = 'spam') where id = $2`,
      [world.boardId, target],
    );
    const alone = await get(ideaPath(source));
    expect(alone.text).toContain('This idea was merged into another idea.');
    expect(alone.text).not.toContain('Dark mode');
  });
});

describe('voting without a session', () => {
  /** Returns the links to the sign-in page in the main part of a page, with the texts that screen readers read. */
  async function signInLinksOn(path: string) {
    const links = parse((await get(path)).text).querySelectorAll('main a[href^="/sign-in"]');
    return links.map(link => [
      link.textContent.replaceAll(/\s+/g, ' ').trim(),
      (link.getAttribute('href') ?? '').replaceAll('&amp;', '&'),
    ]);
  }
  const signInTo = (next: string) => `/sign-in?${new URLSearchParams({ next, notice: 'vote' })}`;

  test('a visitor can sign in at the score of each idea in a list and on the page of an idea, and comes back to the same page, where the member can vote', async () => {
    const memberId = await createMember(server, world.accountId, 'member');
    const person = await givePassword(server, memberId);
    const id = await put('Dark mode');
    await put('Import', 'planned');
    const list = `${boardPath()}?q=dark&sort=top`;
    expect(await signInLinksOn(list)).toEqual([['0 score Sign in to vote for: Dark mode', signInTo(list)]]);
    expect(await signInLinksOn(ideaPath(id))).toEqual([['Sign in to vote', signInTo(ideaPath(id))]]);
    for (const path of [list, ideaPath(id)]) {
      const visitor = new Visitor(server);
      const [[, href = ''] = []] = await signInLinksOn(path);
      const { html } = await visitor.get(href);
      expect(html).toContain('Sign in to vote. You then come back to the page.');
      const { next = '' } = hiddenFields(html, '/sign-in');
      const { location } = await visitor.signIn(person.email, person.password, next);
      expect(location).toBe(path);
      await visitor.submit(path, `${ideaPath(id)}/vote`, { value: 'up' });
    }
    expect(await server.sql('select value from votes where idea_id = $1', [id])).toEqual([{ value: 1 }]);
  });

  test('a visitor sees no offer to sign in to vote for an idea that accepts no votes, and on a frozen board', async () => {
    await server.sql(`update statuses set allow_votes = false where board_id = $1 and key = 'done'`, [world.boardId]);
    const ids = [await put('Shipped', 'done'), await put('Source'), await put('Target')];
    await runAsUser(server, world, world.ownerId, op => mergeIdea(op, ids[1] ?? 0, ids[2] ?? 0));
    const counts = async () =>
      Promise.all([boardPath(), ...ids.map(ideaPath)].map(async path => (await signInLinksOn(path)).length));
    expect(await counts()).toEqual([1, 0, 0, 1]);
    await server.sql('update boards set is_frozen = true where id = $1', [world.boardId]);
    expect(await counts()).toEqual([0, 0, 0, 0]);
  });

  test('a signed-in person who is not a member sees no offer to sign in to vote', async () => {
    const id = await put('Dark mode');
    const stranger = await signedIn(server, await createUser(server));
    for (const path of [boardPath(), ideaPath(id)]) expect((await stranger.get(path)).html).not.toContain('/sign-in');
  });
});

describe('private data', () => {
  test('a public board does not list pending ideas, rejected ideas and ideas with a hidden status, and these ideas have no public page', async () => {
    const hidden = [
      await put('A pending secret', 'new', { moderationState: 'pending' }),
      await put('A rejected secret', 'new', { moderationState: 'rejected' }),
      await put('A spam secret', 'spam'),
    ];
    const missing = await get(ideaPath(999_999_999));
    for (const id of hidden) {
      const answer = await get(ideaPath(id));
      expect([answer.status, answer.text]).toEqual([404, missing.text]);
    }
    for (const query of [
      '',
      '?sort=top',
      '?q=secret',
      '?status=archived',
      '?status=open',
      '?status_key=new',
      '?moderation_state=pending',
    ]) {
      const { status, text } = await get(boardPath() + query);
      expect([query, status, titlesIn(text), text.includes('Spam hold')]).toEqual([query, 200, [], false]);
    }
    const asked = await get(`${boardPath()}?status_key=spam`);
    expect([asked.status, asked.text]).toEqual([404, (await get(`${boardPath()}?status_key=none`)).text]);
  });

  /**
   * Returns the parts of a response that a visitor can see. Leaves out the parts that differ between any two responses.
   */
  async function seenAt(path: string) {
    const { status, text, headers } = await get(path);
    const { date, 'x-request-id': id, ...same } = Object.fromEntries(headers);
    // The sign-in link contains the requested path, because it leads back to this path.
    const shown = text.replaceAll(encodeURIComponent(path.split('?', 1)[0] ?? ''), '(path)');
    return JSON.stringify({ status, shown, same: { ...same, 'content-length': undefined } });
  }

  test('requests for a private board or its ideas get the same response as requests for a missing board', async () => {
    const other = await createBoard(server, world.accountId);
    const id = await insertIdea(server, { ...world, boardId: other.id });
    const paths = [
      '/b/none',
      `/b/${other.slug}`,
      `/b/${other.slug}?sort=worst`,
      `/b/${other.slug}/ideas/${id}`,
      `/b/${other.slug}/ideas/x`,
      `/b/${other.slug}/roadmap`,
      `/b/${other.slug}/feed.atom`,
      '/b/none/ideas/1',
      '/b/none/of/these',
    ];
    const seen = await Promise.all(paths.map(seenAt));
    expect(new Set(seen).size).toBe(1);
    expect(JSON.parse(seen[0] ?? '')).toMatchObject({ status: 404 });
    expect(linkIn((await get(`/b/${other.slug}`)).text, 'Sign in')).toBe(
      `/sign-in?${new URLSearchParams({ next: `/b/${other.slug}` })}`,
    );
  });

  test('on a public board, an idea of another board gets the same response as a missing idea: a 404 page linking to the public board', async () => {
    const other = await createBoard(server, world.accountId);
    const id = await insertIdea(server, { ...world, boardId: other.id });
    const paths = [ideaPath(id), ideaPath(999_999_999), `${boardPath()}/ideas/x`, `${boardPath()}?status_key=none`];
    const seen = await Promise.all(paths.map(seenAt));
    expect(new Set(seen).size).toBe(1);
    const { status, text } = await get(ideaPath(id));
    expect([status, linkIn(text, 'All ideas of the board')]).toEqual([404, boardPath()]);
    expect(text).toContain('The idea may be deleted, hidden or not yet approved');
  });

  test.each(['x', '-1', '1.5', '01x', '9'.repeat(30), '%27', ''])(
    'the public page of an idea with the invalid id %s gets 404',
    async id => {
      expect((await get(`${boardPath()}/ideas/${id}`)).status).toBe(404);
    },
  );

  test('the public pages show no e-mail addresses, and opening a public page changes no data', async () => {
    const id = await put('The one');
    await server.sql(
      `update users set email = 'ada@example.com', notification_email = 'ada@example.org' where id = $1`,
      [world.ownerId],
    );
    const before = await snapshot(server);
    const texts = [(await get(boardPath())).text, (await get(ideaPath(id))).text].join('');
    expect(texts).not.toMatch(/ada@|account-/);
    expect(await snapshot(server)).toEqual(before);
  });

  test('a change of the setting is_public takes effect at the next request for a page of the board', async () => {
    const setPublic = (value: boolean) =>
      server.sql('update boards set is_public = $1 where id = $2', [value, world.boardId]);
    await setPublic(false);
    expect((await get(boardPath())).status).toBe(404);
    await setPublic(true);
    expect((await get(boardPath())).status).toBe(200);
  });
});

describe('caches', () => {
  test('shared caches may store a public page for 15 seconds, browsers must revalidate it each time, and an unchanged page gets 304', async () => {
    const id = await put('The one');
    for (const path of [boardPath(), ideaPath(id), `${boardPath()}?sort=top`]) {
      const first = await get(path);
      expect(first.headers.get('cache-control')).toBe('public, max-age=0, s-maxage=15, must-revalidate');
      const etag = first.headers.get('etag') ?? '';
      expect(etag).toMatch(/^W\/"[\w-]+"$/);
      const again = await get(path, { 'if-none-match': etag });
      expect([again.status, again.text, again.headers.get('etag')]).toEqual([304, '', etag]);
      const head = await rawRequest(server, 'HEAD', path, { headers: { 'if-none-match': etag } });
      expect(head.status).toBe(304);
    }
    const { headers } = await get(boardPath());
    await server.sql('update ideas set up_count = 1 where id = $1', [id]);
    const changed = await get(boardPath(), { 'if-none-match': headers.get('etag') ?? '' });
    expect(changed.status).toBe(200);
  });

  test("an unknown cookie or token does not change a public page, and the page's Vary header names Cookie, Accept-Language and Accept-Encoding", async () => {
    await put('The one');
    const { text, headers } = await get(boardPath());
    const other = await get(boardPath(), { cookie: 'session=1', authorization: 'Bearer x' });
    expect([other.text, other.headers.get('etag')]).toEqual([text, headers.get('etag')]);
    expect(other.headers.get('vary')).toBe('Cookie, Accept-Language, Accept-Encoding');
  });

  test('a public page is in German for a browser that prefers German to English, and otherwise in English', async () => {
    for (const [accepted, language, skip] of [
      ['de-AT, en;q=0.5', 'de', 'Zum Inhalt springen'],
      ['fr, en;q=0.2, de;q=0.1', 'en', 'Skip to the content'],
      ['fr', 'en', 'Skip to the content'],
      ['*;q=x,,;', 'en', 'Skip to the content'],
    ] as const) {
      const { text, headers } = await get(boardPath(), { 'accept-language': accepted });
      expect([accepted, headers.get('content-language')]).toEqual([accepted, language]);
      expect(text).toContain(`<html lang="${language}">`);
      expect(text).toContain(skip);
    }
  });

  test("the author of an erased user's idea has a name in the language of the page", async () => {
    const { id: authorId } = await requirePlaceholder(server.database, new Date());
    const id = await put('The one', 'new', { authorId });
    for (const [language, name] of [
      ['en', 'by Deleted user'],
      ['de', 'von (gelöscht)'],
    ] as const) {
      const { text } = await get(ideaPath(id), { 'accept-language': language });
      expect(parse(text).querySelector('main')?.textContent).toContain(name);
    }
  });

  test('the server compresses public pages and the feed with gzip, and the style sheet with Brotli or gzip, if the client accepts the encoding', async () => {
    const id = await put('The one');
    for (const path of [boardPath(), ideaPath(id), `${boardPath()}/feed.atom`, stylesheetPath]) {
      const isStatic = path === stylesheetPath;
      const plain = await rawRequest(server, 'GET', path);
      const vary = isStatic ? 'Accept-Encoding' : 'Cookie, Accept-Language, Accept-Encoding';
      expect([path, plain.headers.get('content-encoding'), plain.headers.get('vary')]).toEqual([path, null, vary]);
      for (const [accepted, encoding] of [
        ['gzip', 'gzip'],
        ['gzip, deflate, br, zstd', isStatic ? 'br' : 'gzip'],
        ['br', isStatic ? 'br' : null],
        ['gzip;q=0', null],
      ] as const) {
        const headers = { 'accept-encoding': accepted };
        const packed = await get(path, headers);
        expect([path, packed.headers.get('content-encoding'), packed.text]).toEqual([path, encoding, plain.text]);
        const isSmaller = Number(packed.headers.get('content-length')) < Buffer.byteLength(plain.text);
        expect([path, accepted, isSmaller]).toEqual([path, accepted, encoding !== null]);
        const etag = plain.headers.get('etag');
        expect(packed.headers.get('etag')).toBe(etag);
        if (etag === null) continue;
        const again = await rawRequest(server, 'GET', path, { headers: { ...headers, 'if-none-match': etag } });
        expect([again.status, again.headers.get('vary'), again.headers.get('content-encoding')]).toEqual([
          304,
          'Cookie, Accept-Language, Accept-Encoding',
          null,
        ]);
      }
    }
  });

  test("the server compresses a signed-in user's page if the client accepts the encoding, but never compresses the response to a form", async () => {
    const ada = await signedIn(server, world.ownerId);
    for (const path of ['/admin', '/admin/profile', '/b/none', boardPath()]) {
      for (const [accepted, encoding] of [
        ['br, gzip', 'gzip'],
        ['gzip', 'gzip'],
        ['identity', null],
      ] as const) {
        const { headers, html } = await ada.get(path, { headers: { 'accept-encoding': accepted } });
        expect([path, headers.get('cache-control'), headers.get('content-encoding')]).toEqual([
          path,
          'no-store',
          encoding,
        ]);
        expect(html).toMatch(/name="form_token".*<\/html>\s*$/s);
        const isSmaller = Number(headers.get('content-length')) < Buffer.byteLength(html);
        expect([path, accepted, isSmaller]).toEqual([path, accepted, encoding !== null]);
      }
    }
    const refused = await ada.post('/admin/tokens', {}, { headers: { 'accept-encoding': 'br, gzip' } });
    expect([refused.status, refused.headers.get('content-encoding')]).toEqual([403, null]);
  });

  test('a HEAD request for a public page gets the headers of the page without the body', async () => {
    const id = await put('The one');
    for (const path of [boardPath(), ideaPath(id)]) {
      const headers = { 'accept-encoding': 'gzip' };
      const page = await get(path, headers);
      const head = await rawRequest(server, 'HEAD', path, { headers });
      expect([head.status, head.text]).toEqual([200, '']);
      for (const name of ['content-type', 'content-encoding', 'content-length', 'etag', 'cache-control', 'vary']) {
        expect([name, head.headers.get(name)]).toEqual([name, page.headers.get(name)]);
      }
    }
  });
});
