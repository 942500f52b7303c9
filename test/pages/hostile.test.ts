import type { Browser } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { createMember, createTag, createWorld, insertIdea } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServer, type TestServer } from '../helpers/server.ts';
import { openPage, overflowOf, screens, startChromium, violationsOf } from './in-browser.ts';

/** Hostile texts. The test writes them to all fields that users can write and the public can read. */
const script = `<script>document.title='owned'</script><img src=x onerror="document.title='owned'">`;
const breakout = `"'><svg onload=document.title='owned'>`;
const override = '\u202eelcric eht ni\u202c\u2066\u200f';
const longWord = 'W'.repeat(200);
const longBody = `${script}\n</p></main></body>${'&<>"\''.repeat(1900)}${'x'.repeat(300)}`;

let server: TestServer;
let browser: Browser | undefined;

[server, browser] = await Promise.all([startServer(), startChromium()]);
const world = await createWorld(server, {
  isPublic: true,
  name: `${breakout}${override}`,
  description: `${script}\n${longWord}`,
  statuses: [
    { key: 'open', category: 'inbox', label: `${breakout}`.slice(0, 60) },
    { key: 'planned', category: 'planned', label: override },
  ],
});
const authorId = await createMember(server, world.accountId, 'member', script.slice(0, 100));
const tagId = await createTag(server, world.accountId, world.boardId, breakout.slice(0, 40));
const titles = [script, breakout, `Safe ${override} title`, longWord, '\u202e\u2066'];
const ids: number[] = [];
for (const title of titles) {
  const id = await insertIdea(server, world, {
    title: title.slice(0, 200),
    body: longBody.slice(0, 10_000),
    authorId,
  });
  await server.sql('insert into idea_tags values ($1, $2, $3)', [id, tagId, world.accountId]);
  for (const body of [script, breakout, override, longWord]) {
    await server.sql('insert into comments (account_id, idea_id, author_id, body) values ($1, $2, $3, $4)', [
      world.accountId,
      id,
      authorId,
      body,
    ]);
  }
  ids.push(id);
}
const board = `/b/${world.boardSlug}`;
const paths = [board, `${board}?q=${encodeURIComponent(breakout)}`, ...ids.map(id => `${board}/ideas/${id}`)];
afterAll(async () => {
  await server.close();
});

test('user input never becomes HTML markup on the public pages', async () => {
  for (const path of paths) {
    const { status, text } = await request(server, `GET ${path}`);
    expect(status).toBe(200);
    expect(text).not.toMatch(/<script|<img|<svg onload|<\/main>[\s\S]*<\/main>/i);
    // All attributes come from the templates. A text from a user must not be able to end an attribute and begin another
    // attribute.
    expect(text.replace(/"[^"<>]*"/g, '""')).not.toMatch(/<[^>]*\son\w+=/i);
  }
});

test('public pages show titles, names and labels without bidirectional control characters', async () => {
  const { text } = await request(server, `GET ${paths[0]}`);
  expect(text).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200e\u200f]/);
  // If a title has only invisible characters, the page shows "(untitled)". Otherwise the link to the idea would be
  // invisible.
  expect(text).toContain('<bdi>(untitled)</bdi>');
});

test('the public page of an idea shows a text of 10,000 characters completely, even if each character must be escaped', async () => {
  const { text } = await request(server, `GET ${paths[2]}`);
  expect(text).toContain('&amp;&lt;&gt;&quot;&#39;'.repeat(1000));
  expect(text).toContain('x'.repeat(300));
});

test('the public list of ideas shows only the beginning of a long text', async () => {
  const { text } = await request(server, `GET ${paths[0]}`);
  expect(text.length).toBeLessThan(50_000);
  expect(text).not.toContain('x'.repeat(300));
});

test.each(screens)(
  'hostile user input runs no script and does not overflow a screen with width $width and color scheme $colorScheme',
  async screen => {
    if (!browser) return;
    const { page, complaints, close } = await openPage(browser, screen);
    for (const path of paths) {
      await page.goto(server.baseUrl + path);
      expect(await page.title()).not.toBe('owned');
      expect([path, await overflowOf(page)]).toEqual([path, 0]);
    }
    expect(await violationsOf(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  },
);
