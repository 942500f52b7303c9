import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { editComment } from '../../server/domain/comments/change-comment.ts';
import { commentOnIdea } from '../../server/domain/comments/comments.ts';
import { mergeIdea } from '../../server/domain/merging/merge-idea.ts';
import { buildUnsubscribeTokens } from '../../server/domain/notifications/unsubscribe-token.ts';
import { setIdeaStatus } from '../../server/domain/statuses/set-idea-status.ts';
import { signedIn } from '../admin/visitor.ts';
import { letEmbed, signToken } from '../helpers/embedding.ts';
import { createMember, createTag, createWorld, insertIdea, type World } from '../helpers/fixtures.ts';
import { makeCertificate } from '../helpers/https-document.ts';
import { startPublicServer } from '../helpers/public-server.ts';
import { runAsUser } from '../helpers/run-as-user.ts';
import { startServer, type TestServer, testAppKey } from '../helpers/server.ts';
import { openPage, overflowOf, type Screen, screens, startChromium, violationsOf } from './in-browser.ts';

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
  const check = (path: string) => checkPage(page, path);
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

/** Fails if a page has accessibility violations or is wider than the screen, at two widths and in both color schemes. */
async function checkPage(page: Page, path: string) {
  const [narrow, wide] = screens as [Screen, Screen];
  await page.goto(server.baseUrl + path);
  expect([path, await violationsOf(page), await overflowOf(page)]).toEqual([path, [], 0]);
  // Another width affects only the layout, and another color scheme only the colors, so only these are checked again.
  await page.setViewportSize({ width: wide.width, height: 844 });
  await page.emulateMedia({ colorScheme: wide.colorScheme });
  expect([path, await violationsOf(page, { ofColors: true }), await overflowOf(page)]).toEqual([path, [], 0]);
  await page.setViewportSize({ width: narrow.width, height: 844 });
  await page.emulateMedia({ colorScheme: narrow.colorScheme });
}

/** Opens a browser window with a session of a person. */
async function openSignedIn(userId: number, options: BrowserContextOptions = {}) {
  const { cookies } = await signedIn(server, userId);
  const window = await openPage(browser as Browser, screens[0] as Screen, { reducedMotion: 'reduce', ...options });
  await window.page
    .context()
    .addCookies([...cookies].map(([name, value]) => ({ name, value, url: server.baseUrl, sameSite: 'Lax' as const })));
  return window;
}

test('axe-core finds no accessibility violation on the pages for members and moderators of a board, at two screen widths and in both color schemes', async () => {
  if (!browser) return;
  const open = await createWorld(server, { name: 'A private board' });
  const path = `/b/${open.boardSlug}`;
  const id = await insertIdea(server, open, { title: 'Export as CSV' });
  const pending = await insertIdea(server, open, { title: 'Pending', moderationState: 'pending' });
  await createTag(server, open.accountId, open.boardId, 'Design');
  const memberId = await createMember(server, open.accountId, 'member', 'Mona Member');
  await runAsUser(server, open, memberId, op => commentOnIdea(op, id, 'As @The owner said.'));
  const ofMember = await insertIdea(server, open, { title: 'Dark mode', authorId: memberId });
  const comment = await runAsUser(server, open, open.ownerId, op => commentOnIdea(op, id, 'Please.'));
  await runAsUser(server, open, open.ownerId, op =>
    editComment(op, { ideaId: id, commentId: comment.id }, { body: 'Yes' }),
  );
  await runAsUser(server, open, open.ownerId, op => setIdeaStatus(op, id, 'planned', 'In spring, @Mona Member.'));
  const ownPages = [
    '/mine',
    '/mine/following',
    ...['edit', 'delete'].flatMap(verb => [
      `/ideas/${id}/comments/${comment.id}/${verb}`,
      `/ideas/${id}/${verb}`,
      // Only the idea of somebody else has the field for a reason.
      `/ideas/${ofMember}/${verb}`,
    ]),
  ];
  const { page, complaints, close } = await openSignedIn(open.ownerId);
  for (const rest of ['', '/new', '/new?title=export', `/ideas/${id}?notice=voted`, `/ideas/${pending}`, ...ownPages]) {
    await checkPage(page, path + rest);
  }
  await page.goto(`${server.baseUrl + path}/ideas/${id}`);
  await page.getByText('Moderate', { exact: true }).click();
  expect(await violationsOf(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test('while a member types a name after @ in a comment, the page suggests the names on the page, with the keyboard alone', async () => {
  if (!browser) return;
  const open = await createWorld(server);
  const id = await insertIdea(server, open);
  for (const name of ['Mona Member', 'Moritz Maier']) {
    const authorId = await createMember(server, open.accountId, 'member', name);
    await runAsUser(server, open, authorId, op => commentOnIdea(op, id, 'Yes.'));
  }
  const { page, complaints, close } = await openSignedIn(await createMember(server, open.accountId, 'member'));
  await page.goto(`${server.baseUrl}/b/${open.boardSlug}/ideas/${id}`);
  const field = page.getByLabel('Your comment');
  const names = page.getByRole('group', { name: 'Mention a member' }).getByRole('button');
  await field.focus();
  await page.keyboard.type('Thanks @mo');
  expect(await names.allTextContents()).toEqual(['@Mona Member', '@Moritz Maier']);
  expect(await page.getByRole('status').textContent()).toContain('Press Tab to choose one.');
  expect(await violationsOf(page)).toEqual([]);
  await page.keyboard.type('r');
  expect(await names.allTextContents()).toEqual(['@Moritz Maier']);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  expect([await field.inputValue(), await names.count()]).toEqual(['Thanks @Moritz Maier ', 0]);
  await page.keyboard.type('and all.');
  expect(await field.inputValue()).toBe('Thanks @Moritz Maier and all.');
  expect(complaints).toEqual([]);
  await close();
});

test('a member votes without a page load, sees similar ideas while typing a title, and submits an idea, with the keyboard alone', async () => {
  if (!browser) return;
  const open = await createWorld(server);
  const id = await insertIdea(server, open, { title: 'Export the board as CSV' });
  const memberId = await createMember(server, open.accountId, 'member');
  const { page, complaints, close } = await openSignedIn(memberId);
  await page.goto(`${server.baseUrl}/b/${open.boardSlug}`);
  await page.evaluate('globalThis.isSamePage = true');
  const button = page.getByRole('button', { name: 'Vote for: Export the board as CSV' });
  await button.focus();
  await page.keyboard.press('Enter');
  await page.getByText('Score 1').waitFor({ state: 'attached' });
  expect(await button.getAttribute('aria-pressed')).toBe('true');
  expect(await page.evaluate('[isSamePage, document.activeElement.getAttribute("aria-label")]')).toEqual([
    true,
    'Vote for: Export the board as CSV',
  ]);
  expect(await server.sql('select up_count from ideas where id = $1', [id])).toEqual([{ up_count: 1 }]);

  await page.getByRole('link', { name: 'Submit an idea' }).press('Enter');
  await page.getByLabel('Title').pressSequentially('Board export in CSV');
  await page.getByRole('link', { name: 'Export the board as CSV' }).waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.type('For our report.');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Board export in CSV' }).waitFor();
  expect(await server.sql('select from ideas where board_id = $1', [open.boardId])).toHaveLength(2);

  // Without a session, the server refuses the vote. The script then lets the browser send the form, which leads to the
  // sign-in page.
  await page.context().clearCookies();
  await page.getByRole('button', { name: /^Vote for/ }).press('Enter');
  await page.waitForURL(/sign-in/);
  expect(complaints).toEqual([]);
  await close();
});

/** Starts a website that is no part of the server. Its only page has this body. Returns its origin. */
async function startWebsite(bodyOf: () => Promise<string>): Promise<string> {
  const website = createServer(makeCertificate(), async (_request, response) => {
    const head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>An application</title>';
    response.writeHead(200, { 'content-type': 'text/html' }).end(head + (await bodyOf()));
  });
  website.listen(0, 'localhost');
  await once(website, 'listening');
  onTestFinished(() => {
    website.closeAllConnections();
    website.close();
  });
  return `https://localhost:${(website.address() as AddressInfo).port}`;
}

test('the users of a website on another site sign in with a token in the frame of a board and vote there, with and without JavaScript', async () => {
  if (!browser) return;
  const secure = await startPublicServer({ on: server, isSecure: true });
  onTestFinished(() => secure.close());
  const embedded = await createWorld(server, { name: 'A private board' });
  const id = await insertIdea(server, embedded, { title: 'Export as CSV', body: 'See https://example.com' });
  const [account] = await server.sql<{ slug: string }>('select slug from accounts where id = $1', [embedded.accountId]);
  const url = `${secure.baseUrl}/b/${embedded.boardSlug}/embed?account=${account?.slug}`;
  let secret = '';
  const frame = '<iframe name="ideas" title="Ideas" width="340" height="700"';
  const byForm = async () => `${frame}></iframe><form id="f" method="post" target="ideas" action="${url}">
    <input type="hidden" name="token" value="${await signToken(secure, secret)}"></form><script>f.submit()</script>`;
  const byQuery = async () => `${frame} src="${url}&amp;token=${await signToken(secure, secret)}"></iframe>`;
  const [website, plainWebsite, stranger] = await Promise.all([byForm, byQuery, byQuery].map(startWebsite));
  secret = await letEmbed(server, embedded, [website ?? '', plainWebsite ?? '']);
  const [narrow, wide] = screens as [Screen, Screen];

  for (const [origin, javaScriptEnabled] of [
    [website, true],
    [plainWebsite, false],
  ] as const) {
    const options = { javaScriptEnabled, ignoreHTTPSErrors: true, reducedMotion: 'reduce' as const };
    const { page, complaints, close } = await openPage(browser, javaScriptEnabled ? narrow : wide, options);
    await page.goto(origin ?? '');
    const board = page.frameLocator('iframe');
    const vote = () => board.getByRole('button', { name: 'Vote for: Export as CSV' });
    await vote().click();
    await board.locator('[aria-pressed=true]').waitFor();
    await board.getByRole('link', { name: 'Export as CSV' }).click();
    await board.getByLabel('Your comment').fill('Yes');
    await board.getByRole('button', { name: 'Comment', exact: true }).click();
    await board.getByText('Your comment is on the page').waitFor();
    const [cookie, ...others] = await page.context().cookies();
    expect(others).toEqual([]);
    expect(cookie).toMatchObject({
      name: '__Host-idea_board_embedded',
      sameSite: 'None',
      partitionKey: 'https://localhost',
    });
    if (javaScriptEnabled) {
      const [, inside] = page.frames();
      expect(inside && [await violationsOf(inside), await overflowOf(inside)]).toEqual([[], 0]);
      const opening = page.context().waitForEvent('page');
      await board.getByRole('link', { name: 'https://example.com' }).click();
      await (await opening).close();
    }
    expect(complaints).toEqual([]);
    await close();
  }
  expect(await server.sql('select up_count, comment_count from ideas where id = $1', [id])).toEqual([
    { up_count: 2, comment_count: 2 },
  ]);

  const { page, complaints, close } = await openPage(browser, narrow, { ignoreHTTPSErrors: true });
  await page.goto(stranger ?? '');
  await expect.poll(() => complaints.join()).toContain('frame-ancestors');
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
