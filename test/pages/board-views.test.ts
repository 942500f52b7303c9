import { ParseOption, XmlDocument } from 'libxml2-wasm';
import { parse } from 'node-html-parser';
import { beforeEach, describe, expect, test } from 'vitest';
import { ideaSorts } from '../../contract/idea.ts';
import { listRoadmap } from '../../server/domain/ideas/list-roadmap.ts';
import { mergeIdea } from '../../server/domain/merging/merge-idea.ts';
import { type BoardInput, createTag, createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { runAsUser } from '../helpers/run-as-user.ts';
import { startServerForFile } from '../helpers/server.ts';
import { logStatements } from '../helpers/statement-log.ts';

let world: World;

const statuses: BoardInput['statuses'] = [
  { key: 'new', category: 'inbox', label: 'New' },
  { key: 'shipped', category: 'completed', label: 'Shipped' },
  { key: 'research', category: 'planned', label: 'Research' },
  { key: 'building', category: 'active', label: 'Building' },
  { key: 'secret', category: 'planned', label: 'Secret plans', isHidden: true },
  { key: 'never', category: 'declined', label: 'Never' },
];

const server = await startServerForFile({ environment: { BASE_URL: 'https://ideas.example.com' } });
beforeEach(async () => {
  world = await createWorld(server, { isPublic: true, name: 'Web app', description: 'What next?', statuses });
});

const boardPath = () => `/b/${world.boardSlug}`;
const get = (path: string, headers = {}) => request(server, `GET ${path}`, { headers });
const put = (title: string, status = 'new', input = {}) => insertIdea(server, world, { title, status, ...input });

const titlesIn = (html: string) =>
  parse(html)
    .querySelectorAll('h3')
    .map(({ textContent }) => textContent.trim());
const hrefOf = (html: string, words: string) =>
  parse(html)
    .querySelectorAll('a')
    .find(({ textContent }) => textContent.trim() === words)
    ?.getAttribute('href');

async function tagIdeas(name: string, ideaIds: number[]) {
  const tagId = await createTag(server, world.accountId, world.boardId, name);
  await server.sql('insert into idea_tags (idea_id, tag_id, account_id) select unnest($1::bigint[]), $2, $3', [
    ideaIds,
    tagId,
    world.accountId,
  ]);
  return tagId;
}

test.each(ideaSorts)(
  'the page of a board with the sort order %s lists the ideas in the same order as the API',
  async sort => {
    const { token } = await issueToken(server, world, 'read');
    const ids = [await put('First'), await put('Second'), await put('Third')];
    await server.sql('update ideas set up_count = 9, updated_at = now() where id = $1', [ids[1]]);
    await server.sql('update ideas set comment_count = 1, up_count = 1 where id = $1', [ids[0]]);
    const { body } = await request(server, `GET /api/v1/ideas?sort=${sort}`, { token });
    const titles = body.data.map(({ title }: { title: string }) => title);
    const { text } = await get(boardPath());
    const label = {
      newest: 'Newest',
      top: 'Top',
      updated: 'Last changed',
      comments: 'Most discussed',
      trending: 'Trending',
    };
    const page = await get(hrefOf(text, label[sort]) ?? '');
    expect([titles.length, titlesIn(page.text)]).toEqual([3, titles]);
    expect(
      parse(page.text)
        .querySelectorAll('[aria-current=true]')
        .map(one => one.textContent),
    ).toContain(label[sort]);
  },
);

describe('the list of ideas with a tag', () => {
  test("a public board can be filtered by a tag's name or id, and each tag on its pages links to the filtered list", async () => {
    const id = await put('Dark mode');
    await put('Other');
    const tagId = await tagIdeas('User interface', [id]);
    const href = hrefOf((await get(boardPath())).text, 'User interface');
    expect(href).toBe(`${boardPath()}?tag=User+interface`);
    expect(hrefOf((await get(`${boardPath()}/ideas/${id}`)).text, 'User interface')).toBe(href);
    for (const tag of ['User+interface', 'user+INTERFACE', tagId]) {
      expect(titlesIn((await get(`${boardPath()}?tag=${tag}`)).text)).toEqual(['Dark mode']);
    }
  });

  test('a tag filter on a public board has the color of the tag, works with a status filter, a sort order and a search, and stays in page links', async () => {
    const ids = [await put('Export CSV'), await put('Export PDF', 'shipped'), await put('Import', 'shipped')];
    await put('Export without a tag', 'shipped');
    await tagIdeas('Files', ids);
    await server.sql('update ideas set up_count = 3 where id = $1', [ids[1]]);
    const list = async (query: string) => titlesIn((await get(`${boardPath()}?tag=files${query}`)).text);
    expect(await list('&status_key=shipped')).toEqual(['Import', 'Export PDF']);
    expect(await list('&sort=top&q=exp')).toEqual(['Export PDF', 'Export CSV']);
    const { text } = await get(`${boardPath()}?tag=files&q=exp`);
    expect(hrefOf(text, 'Shipped')).toBe(`${boardPath()}?q=exp&status_key=shipped&tag=Files`);
    expect(hrefOf(text, 'Show all tags')).toBe(`${boardPath()}?q=exp`);
    expect(text).toContain('<input type="hidden" name="tag" value="Files">');
    const colors = [...text.matchAll(/<circle [^>]*fill="([^"]+)"/g)].map(([, color]) => color);
    expect(new Set(colors)).toEqual(new Set(['#0f766e']));
    expect(text).toContain('<meta name="robots" content="noindex">');
  });

  test('if a board is filtered by a common or rare tag, its pages contain each matching idea once, in the chosen sort order', async () => {
    await server.sql(
      `insert into ideas (account_id, board_id, author_id, status_id, title, body, moderation_state, created_at, up_count)
      select $1, $2, $3, (array(select id from statuses where board_id = $2 order by id))[case when n > 900 and n % 10 = 0 then 2 else 1 end],
        'Idea ' || n, 'Text', 'published', now() - n * interval '1 minute', n * 37 % 101
      from generate_series(1, 1200) n`,
      [world.accountId, world.boardId, world.ownerId],
    );
    const ideas = await server.sql<{ id: number; title: string; n: number }>(
      `select id, title, substring(title from 6)::int as n from ideas where board_id = $1 order by created_at desc, id desc`,
      [world.boardId],
    );
    const byScore = [...ideas].sort((a, b) => ((b.n * 37) % 101) - ((a.n * 37) % 101) || b.id - a.id);
    const isTagged = {
      common: (n: number) => n % 10 === 0,
      rare: (n: number) => n > 1150 && n % 2 === 0,
      'of one status': (n: number) => n > 900 && n % 10 === 0,
      'late in one status and early in another': (n: number) => n > 500 && n % 10 === 0,
    };
    for (const [name, has] of Object.entries(isTagged)) {
      await tagIdeas(
        name,
        ideas.filter(({ n }) => has(n)).map(({ id }) => id),
      );
      for (const [sort, order] of [
        ['newest', ideas],
        ['top', byScore],
      ] as const) {
        const found: string[] = [];
        let path: string | undefined = `${boardPath()}?${new URLSearchParams({ tag: name, sort })}`;
        while (path !== undefined) {
          const { text } = await get(path);
          found.push(...titlesIn(text));
          path = hrefOf(text, 'More ideas')?.replaceAll('&amp;', '&');
        }
        expect([name, sort, found]).toEqual([name, sort, order.filter(({ n }) => has(n)).map(({ title }) => title)]);
      }
    }
  });

  test('a public board answers 404 to a filter by an unknown tag or by a tag of another board', async () => {
    const other = await createWorld(server, { isPublic: true });
    const tagId = await createTag(server, other.accountId, other.boardId, 'Theirs');
    for (const tag of ['none', 'Theirs', tagId]) expect((await get(`${boardPath()}?tag=${tag}`)).status).toBe(404);
    expect((await get(`${boardPath()}?tag=${'x'.repeat(41)}`)).status).toBe(400);
  });
});

describe('the roadmap', () => {
  const columnsOf = (html: string) =>
    parse(html)
      .querySelectorAll('main section')
      .map(section => [section.querySelector('h2')?.textContent, titlesIn(section.innerHTML)]);

  test("the roadmap has a column for each planned, active or completed status that is not hidden, in the order of the board's statuses", async () => {
    for (const { key } of statuses) await put(`In ${key}`, key);
    await put('Pending', 'research', { moderationState: 'pending' });
    const { status, text } = await get(`${boardPath()}/roadmap`);
    expect(status).toBe(200);
    expect(columnsOf(text)).toEqual([
      ['Shipped', ['In shipped']],
      ['Research', ['In research']],
      ['Building', ['In building']],
    ]);
    expect(text).toContain(`<link rel="canonical" href="https://ideas.example.com${boardPath()}/roadmap">`);
  });

  test('the server does not read ideas in hidden statuses from the database for the roadmap', async () => {
    for (const { key } of statuses) await put(`In ${key}`, key);
    const { accountId, boardId } = world;
    const actor = { accountId, boardId, voterId: null, isModerator: false } as const;
    const op = { query: server.database.query, actor };
    expect([...(await listRoadmap(op)).keys()].sort()).toEqual(['building', 'research', 'shipped']);
  });

  test('a column of the roadmap shows the ten ideas with the highest scores and links to the list of all ideas in the column', async () => {
    const ids: number[] = [];
    for (let n = 1; n <= 12; n++) ids.push(await put(`Idea ${n}`, 'building'));
    await server.sql('update ideas set up_count = 12 - (id - $1) where board_id = $2', [ids[0], world.boardId]);
    await runAsUser(server, world, world.ownerId, op => mergeIdea(op, ids[2] ?? 0, ids[11] ?? 0));
    const { text } = await get(`${boardPath()}/roadmap`);
    const shown = [1, 2, 4, 5, 6, 7, 8, 9, 10, 11].map(n => `Idea ${n}`);
    expect(columnsOf(text)[2]).toEqual(['Building', shown]);
    expect(hrefOf(text, 'More ideas in Building')).toBe(`${boardPath()}?status_key=building&sort=top`);
  });

  test('the roadmap of a board with 72 ideas in six statuses needs two SQL statements, not counting the statements for the rate limit', async () => {
    for (const { key } of statuses) for (let n = 1; n <= 12; n++) await put(`In ${key}`, key);
    const { statements } = await logStatements(() => get(`${boardPath()}/roadmap`));
    const ofPage = statements.filter(({ text }) => !text.includes('rate_limits'));
    expect(ofPage.map(({ text }) => text)).toHaveLength(2);
  });

  test("the navigation of a public board links to the board's ideas and roadmap, and marks the current page", async () => {
    const id = await put('The one');
    const current = (html: string) =>
      parse(html)
        .querySelectorAll('header nav a[aria-current]')
        .map(({ textContent }) => textContent);
    const { text } = await get(boardPath());
    expect([hrefOf(text, 'Ideas'), hrefOf(text, 'Roadmap')]).toEqual([boardPath(), `${boardPath()}/roadmap`]);
    expect(current(text)).toEqual(['Ideas']);
    expect(current((await get(`${boardPath()}/roadmap`)).text)).toEqual(['Roadmap']);
    expect(current((await get(`${boardPath()}/ideas/${id}`)).text)).toEqual([]);
  });
});

describe('the feed', () => {
  const namespaces = { a: 'http://www.w3.org/2005/Atom' };

  /** Parses a feed with a strict XML parser. The parser throws an error if the XML is invalid. */
  async function readFeed() {
    const { status, text, headers } = await get(`${boardPath()}/feed.atom`);
    using document = XmlDocument.fromString(text, { option: ParseOption.XML_PARSE_PEDANTIC });
    const textsOf = (path: string) => document.find(path, namespaces).map(node => node.content);
    const feed = {
      ids: textsOf('/a:feed/a:entry/a:id'),
      titles: textsOf('/a:feed/a:entry/a:title'),
      contents: textsOf('/a:feed/a:entry/a:content[@type="text"]'),
      authors: textsOf('/a:feed/a:entry/a:author/a:name'),
      times: [...textsOf('//a:updated'), ...textsOf('//a:published')],
      links: textsOf('/a:feed/a:entry/a:link[@rel="alternate"]/@href'),
      own: ['a:id', 'a:title', 'a:link[@rel="self"]/@href', 'a:link[@rel="alternate"]/@href'].flatMap(path =>
        textsOf(`/a:feed/${path}`),
      ),
    };
    return { status, headers, text, feed };
  }

  test('the Atom feed of a public board has the 30 newest ideas and all elements that RFC 4287 requires', async () => {
    for (let n = 1; n <= 31; n++) await put(`Idea ${n}`, 'new', { body: `First line\nof ${n}` });
    await put('Pending', 'new', { moderationState: 'pending' });
    await put('Hidden', 'secret');
    const last = await put('Export <b>', 'shipped', { body: 'See https://a.example & more' });
    const { status, headers, feed } = await readFeed();
    expect([status, headers.get('content-type')]).toEqual([200, 'application/atom+xml; charset=utf-8']);
    expect(feed.titles).toEqual(['Export <b>', ...Array.from({ length: 29 }, (_, n) => `Idea ${31 - n}`)]);
    expect(feed.contents.slice(0, 2)).toEqual(['See https://a.example & more', 'First line\nof 31']);
    expect([new Set(feed.ids).size, feed.authors.length, feed.times.length]).toEqual([30, 30, 61]);
    for (const time of feed.times) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(feed.links[0]).toBe(`https://ideas.example.com${boardPath()}/ideas/${last}`);
    const [id, ...own] = feed.own;
    expect(id).toMatch(/^tag:ideas\.example\.com,\d{4}-\d\d-\d\d:board-\d+$/);
    expect(feed.ids[0]).toMatch(new RegExp(`^tag:ideas\\.example\\.com,\\d{4}-\\d\\d-\\d\\d:idea-${last}$`));
    const url = `https://ideas.example.com${boardPath()}`;
    expect(own).toEqual(['Web app', `${url}/feed.atom`, url]);
  });

  test('the Atom feed is valid XML even if titles, names and texts contain markup or characters that XML forbids', async () => {
    const hostile = `]]></title><x a='"'>&bad; \u0001\u000b\u001f\ufffe\uffff \u202e <![CDATA[ <!-- 🦀`;
    await server.sql('update boards set name = $2, description = $2 where id = $1', [world.boardId, hostile]);
    await server.sql('update users set name = $2 where id = $1', [world.ownerId, hostile]);
    const id = await put(hostile, 'new', { body: `${hostile}\ttab` });
    await tagIdeas(`"'<&\u0001`, [id]);
    const { feed } = await readFeed();
    expect(feed.titles).toEqual([`]]></title><x a='"'>&bad;  <![CDATA[ <!-- 🦀`]);
    expect(feed.contents[0]).toContain(`<x a='"'>&bad;`);
    expect(feed.contents[0]).toContain('🦀\ttab');
  });

  test('the Atom feed of a board without ideas is valid and has no entries', async () => {
    const { feed } = await readFeed();
    expect([feed.titles, feed.times.length]).toEqual([[], 1]);
  });

  test('caches may store an Atom feed for 15 seconds, and a conditional request for an unchanged feed gets 304', async () => {
    await put('The one');
    const { headers } = await readFeed();
    expect(headers.get('cache-control')).toBe('public, max-age=0, s-maxage=15, must-revalidate');
    const again = await get(`${boardPath()}/feed.atom`, { 'if-none-match': headers.get('etag') ?? '' });
    expect([again.status, again.text]).toEqual([304, '']);
  });

  test('the list, the roadmap and the idea pages of a public board contain a visible link and a metadata link to the Atom feed', async () => {
    const id = await put('The one');
    for (const path of [
      boardPath(),
      `${boardPath()}/roadmap`,
      `${boardPath()}/ideas/${id}`,
      `${boardPath()}?sort=top`,
    ]) {
      const page = parse((await get(path)).text);
      const link = page.querySelector('link[rel="alternate"][type="application/atom+xml"]');
      expect([path, link?.getAttribute('href')]).toEqual([path, `${boardPath()}/feed.atom`]);
      expect(page.querySelector('footer a')?.getAttribute('href')).toBe(`${boardPath()}/feed.atom`);
    }
  });
});

describe('previews', () => {
  const metaOf = (html: string) =>
    Object.fromEntries(
      parse(html)
        .querySelectorAll('meta[property], meta[name]')
        .map(meta => [meta.getAttribute('property') ?? meta.getAttribute('name'), meta.getAttribute('content')]),
    );

  test('the pages of a board and of its ideas have Open Graph tags for the previews in chats and social networks', async () => {
    const id = await put('Dark "mode" & more', 'new', {
      body: `For late evenings.\n\n${'And early mornings. '.repeat(20)}`,
    });
    const url = `https://ideas.example.com${boardPath()}`;
    expect(metaOf((await get(boardPath())).text)).toMatchObject({
      description: 'What next?',
      'og:type': 'website',
      'og:site_name': 'Web app',
      'og:title': 'Web app',
      'og:url': url,
      'og:description': 'What next?',
      'twitter:card': 'summary',
    });
    const ofIdea = metaOf((await get(`${boardPath()}/ideas/${id}`)).text);
    expect(ofIdea).toMatchObject({
      'og:type': 'article',
      'og:site_name': 'Web app',
      'og:title': 'Dark "mode" & more · Web app',
      'og:url': `${url}/ideas/${id}`,
    });
    expect(ofIdea['og:description']).toMatch(/^For late evenings. And early .{100,180}…$/);
    expect(ofIdea.description).toBe(ofIdea['og:description']);
  });

  test('a filtered list of a public board has no Open Graph preview, because it has no canonical URL', async () => {
    expect(metaOf((await get(`${boardPath()}?sort=top`)).text)).not.toHaveProperty('og:title');
  });
});

test("a visitor's request for the roadmap or Atom feed of a private board gets the same 404 page as for a missing board", async () => {
  await server.sql('update boards set is_public = false where id = $1', [world.boardId]);
  for (const view of ['roadmap', 'feed.atom']) {
    const [answer, missing] = [await get(`${boardPath()}/${view}`), await get(`/b/none/${view}`)];
    expect(answer.status).toBe(404);
    expect(answer.text.replaceAll(world.boardSlug, 'none')).toBe(missing.text);
  }
});
