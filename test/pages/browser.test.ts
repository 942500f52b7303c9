import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mergeIdea } from '../../server/domain/merging/merge-idea.ts';
import { buildUnsubscribeTokens } from '../../server/domain/notifications/unsubscribe-token.ts';
import { createTag, createWorld, insertIdea, type World } from '../helpers/fixtures.ts';
import { runAsUser } from '../helpers/run-as-user.ts';
import { startServer, type TestServer, testAppKey } from '../helpers/server.ts';
import { openPage, overflowOf, screens, startChromium, violationsOf } from './in-browser.ts';

let server: TestServer;
let world: World;
let browser: Browser | undefined;
let boardPath: string;
let discussedId: number;
let mergedId: number;

beforeAll(async () => {
  [server, browser] = await Promise.all([startServer(), startChromium()]);
  const categories = ['inbox', 'planned', 'active', 'completed', 'declined', 'archived'] as const;
  world = await createWorld(server, {
    isPublic: true,
    name: 'Web app',
    description: 'What next?',
    statuses: categories.map(category => ({ key: category, category, label: `Is ${category}` })),
  });
  boardPath = `/b/${world.boardSlug}`;
  for (let n = 1; n <= 25; n++) {
    await insertIdea(server, world, { title: `Idea ${n}`, status: categories[n % categories.length] ?? 'inbox' });
  }
  discussedId = await insertIdea(server, world, { title: 'Dark mode', status: 'planned' });
  mergedId = await insertIdea(server, world, { title: 'Night mode', status: 'inbox' });
  const tagId = await createTag(server, world.accountId, world.boardId, 'Design');
  await server.sql('insert into idea_tags values ($1, $2, $3)', [discussedId, tagId, world.accountId]);
  await server.sql(
    `insert into comments (account_id, idea_id, author_id, body) select $1, $2, $3, 'Comment ' || n from generate_series(1, 25) n`,
    [world.accountId, discussedId, world.ownerId],
  );
  await runAsUser(server, world, world.ownerId, op => mergeIdea(op, mergedId, discussedId));
  await server.sql('update boards set is_frozen = true');
});
afterAll(async () => {
  await browser?.close();
  await server.close();
});

test('axe-core finds no accessibility violation on the public pages, at two screen widths and in both color schemes', async () => {
  const [narrow, wide] = screens;
  if (!browser || !narrow || !wide) return;
  const { page, complaints, close } = await openPage(browser, narrow, { reducedMotion: 'reduce' });
  const check = async (path: string) => {
    await page.goto(server.baseUrl + path);
    expect([path, await violationsOf(page), await overflowOf(page)]).toEqual([path, [], 0]);
    // Another width affects only the layout, and another color scheme only the colors, so only these are checked again.
    await page.setViewportSize({ width: wide.width, height: 844 });
    await page.emulateMedia({ colorScheme: wide.colorScheme });
    expect([path, await violationsOf(page, { ofColors: true }), await overflowOf(page)]).toEqual([path, [], 0]);
    await page.setViewportSize({ width: narrow.width, height: 844 });
    await page.emulateMedia({ colorScheme: narrow.colorScheme });
  };
  const token = buildUnsubscribeTokens(testAppKey).make({ userId: 1, ideaId: 'all' });
  for (const path of [
    boardPath,
    `${boardPath}?status_key=planned&sort=top&q=none`,
    `${boardPath}?tag=design`,
    `${boardPath}/roadmap`,
    `${boardPath}/ideas/${discussedId}`,
    `${boardPath}/ideas/${mergedId}`,
    `/unsubscribe?token=${token}`,
  ]) {
    await check(path);
  }
  expect(complaints).toEqual([]);
  for (const path of ['/b/none', `${boardPath}/ideas/999999`, `${boardPath}?sort=worst`]) await check(path);
  await close();
});

test('a reader without JavaScript can filter and search the ideas, go to the next page, open an idea and use the roadmap', async () => {
  if (!browser) return;
  const { page, complaints, close } = await openPage(
    browser,
    { width: 390, colorScheme: 'light' },
    { javaScriptEnabled: false },
  );
  await page.goto(server.baseUrl + boardPath);
  await page.getByRole('link', { name: 'More ideas' }).click();
  await page.getByRole('link', { name: 'Back to the first page' }).click();
  await page.getByRole('link', { name: 'Is planned' }).click();
  await page.getByRole('link', { name: 'Top', exact: true }).click();
  await page.getByLabel('Search ideas by title').fill('dark');
  await page.getByRole('button', { name: 'Search' }).click();
  const query = new URL(page.url()).searchParams;
  expect(Object.fromEntries(query)).toEqual({ q: 'dark', status_key: 'planned', sort: 'top' });
  await page.getByRole('link', { name: 'Dark mode' }).click();
  expect(await page.getByRole('listitem').filter({ hasText: 'Comment' }).count()).toBe(20);
  await page.getByRole('link', { name: 'More comments' }).click();
  expect(await page.getByText('Comment 25').count()).toBe(1);
  await page.getByRole('link', { name: 'All ideas of Web app' }).click();
  expect(new URL(page.url()).pathname).toBe(boardPath);
  await page.getByRole('link', { name: 'Roadmap' }).click();
  await page.getByRole('link', { name: 'Dark mode' }).click();
  await page.getByRole('link', { name: 'Design' }).click();
  expect(await page.getByRole('heading', { level: 3 }).allTextContents()).toEqual(['Dark mode']);
  expect(complaints).toEqual([]);
  await close();
});

test('a keyboard user can skip to the content and sees the focused element', async () => {
  if (!browser) return;
  const { page, close } = await openPage(browser, { width: 1280, colorScheme: 'light' });
  await page.goto(server.baseUrl + boardPath);
  await page.keyboard.press('Tab');
  const skip = page.getByRole('link', { name: 'Skip to the content' });
  expect(await skip.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
  await page.keyboard.press('Enter');
  expect(await page.evaluate('document.activeElement.id')).toBe('main');
  await page.keyboard.press('Tab');
  expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
  await close();
});
