import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { editComment } from '../../server/domain/comments/change-comment.ts';
import { commentOnIdea } from '../../server/domain/comments/comments.ts';
import { mergeIdea } from '../../server/domain/merging/merge-idea.ts';
import { buildUnsubscribeTokens } from '../../server/domain/notifications/unsubscribe-token.ts';
import { setIdeaStatus } from '../../server/domain/statuses/set-idea-status.ts';
import { signedIn } from '../admin/visitor.ts';
import { letEmbed, signToken } from '../helpers/embedding.ts';
import { createMember, createTag, createWorld, insertIdea } from '../helpers/fixtures.ts';
import { makeCertificate } from '../helpers/https-document.ts';
import { startPublicServer } from '../helpers/public-server.ts';
import { runAsUser } from '../helpers/run-as-user.ts';
import { startServer, type TestServer, testAppKey } from '../helpers/server.ts';
import {
  openChecker,
  openPage,
  overflowOf,
  reach,
  type Screen,
  screens,
  startChromium,
  viewOf,
  violationsOf,
} from './in-browser.ts';

let server: TestServer;
let browser: Browser | undefined;

[server, browser] = await Promise.all([startServer(), startChromium()]);
const categories = ['inbox', 'planned', 'active', 'completed', 'declined', 'archived'] as const;
const world = await createWorld(server, {
  isPublic: true,
  name: 'Web app',
  description: 'What next?',
  statuses: categories.map(category => ({ key: category, category, label: `Is ${category}` })),
});
const boardPath = `/b/${world.boardSlug}`;
for (let n = 1; n <= 25; n++) {
  await insertIdea(server, world, { title: `Idea ${n}`, status: categories[n % categories.length] ?? 'inbox' });
}
const discussedId = await insertIdea(server, world, { title: 'Dark mode', status: 'planned' });
const mergedId = await insertIdea(server, world, { title: 'Night mode', status: 'inbox' });
const tagId = await createTag(server, world.accountId, world.boardId, 'Design');
await server.sql('insert into idea_tags values ($1, $2, $3)', [discussedId, tagId, world.accountId]);
await server.sql(
  `insert into comments (account_id, idea_id, author_id, body) select $1, $2, $3, 'Comment ' || n from generate_series(1, 25) n`,
  [world.accountId, discussedId, world.ownerId],
);
await runAsUser(server, world, world.ownerId, op => mergeIdea(op, mergedId, discussedId));
await server.sql('update boards set is_frozen = true');
afterAll(async () => {
  await server.close();
});

test('the public pages have no accessibility violations and no layout shifts, at two screen widths and in light and dark color schemes', async () => {
  const [narrow] = screens;
  if (!browser || !narrow) return;
  const { page, complaints, close } = await openPage(browser, narrow, { reducedMotion: 'reduce' });
  const check = await pageChecker(page);
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

/** Code that the browser runs before a page loads. It records how far parts of the page move while the page loads. */
const recordShifts = `
  globalThis.shifts = [];
  new PerformanceObserver(list => shifts.push(...list.getEntries().map(entry => entry.value)))
    .observe({ type: 'layout-shift', buffered: true });`;

/**
 * Code that the browser runs. It waits for two animation frames, because the browser reports a layout shift one frame
 * later.
 */
const readShifts = `new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(() => resolve(shifts))))`;

/**
 * The largest score of a layout shift that nobody sees. On a busy machine, Chromium may paint a tag before it has parsed
 * the whole tag, and then moves the text beside the tag by some pixels. Such a shift has a score of 0.000007.
 */
const invisibleShift = 0.0001;

/**
 * Returns a function that opens a page, alternately in English and German, and checks it in two widths and both color
 * schemes. The function fails if parts of the page move while the page loads. It also fails if the page has
 * accessibility violations or is wider than the screen.
 */
async function pageChecker(page: Page) {
  const [narrow, wide] = screens as [Screen, Screen];
  const checker = await openChecker(page.context(), server.baseUrl);
  let checks = 0;
  await page.addInitScript(recordShifts);
  return async (path: string) => {
    const { language } = viewOf(checks++);
    await page.setExtraHTTPHeaders({ 'accept-language': language });
    await page.goto(server.baseUrl + path);
    const shifts = await page.evaluate<number[]>(readShifts);
    expect([path, shifts.filter(shift => shift > invisibleShift)]).toEqual([path, []]);
    expect(await page.locator('html').getAttribute('lang')).toBe(language);
    await checker.show(await page.content());
    expect([path, await checker.violations(), await checker.overflow()]).toEqual([path, [], 0]);
    // The second check uses the other width and the other color scheme. The width changes only the layout, and the
    // color scheme changes only the colors. So no other checks are repeated.
    await checker.turn(wide);
    expect([path, await checker.violations({ ofColors: true }), await checker.overflow()]).toEqual([path, [], 0]);
    await checker.turn(narrow);
  };
}

/** Opens a browser window with a session of the user. */
async function openSignedIn(userId: number, options: BrowserContextOptions = {}) {
  const { cookies } = await signedIn(server, userId);
  const window = await openPage(browser as Browser, screens[0] as Screen, { reducedMotion: 'reduce', ...options });
  await window.page
    .context()
    .addCookies([...cookies].map(([name, value]) => ({ name, value, url: server.baseUrl, sameSite: 'Lax' as const })));
  return window;
}

test('the board pages for members and moderators have no accessibility violations or layout shifts, at two screen widths, in light and dark color schemes', async () => {
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
      // The form has a field for a reason only if the idea belongs to another user.
      `/ideas/${ofMember}/${verb}`,
    ]),
  ];
  const { page, complaints, close } = await openSignedIn(open.ownerId);
  const check = await pageChecker(page);
  for (const rest of ['', '/new', '/new?title=export', `/ideas/${id}?notice=voted`, `/ideas/${pending}`, ...ownPages]) {
    await check(path + rest);
  }
  await page.setExtraHTTPHeaders({ 'accept-language': 'en' });
  await page.goto(`${server.baseUrl + path}/ideas/${id}`);
  await page.getByText('Moderate', { exact: true }).click();
  expect(await violationsOf(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test('while a member types a name after @ in a comment, the page suggests names, and the member can choose one by keyboard', async () => {
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

test('a member who uses only the keyboard can vote without a page load, see similar ideas while typing a title, and submit an idea', async () => {
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
  const against = page.getByRole('button', { name: 'Vote against: Export the board as CSV' });
  await reach(page, against, { press: 'Space' });
  await page.getByText('Score -1').waitFor({ state: 'attached' });
  expect([await against.getAttribute('aria-pressed'), await against.evaluate(it => it.matches(':focus'))]).toEqual([
    'true',
    true,
  ]);
  await reach(page, page.getByLabel('Description'), { type: 'For our report.' });
  await reach(page, page.getByRole('button', { name: 'Submit the idea' }), { open: 'Enter' });
  await page.getByRole('heading', { name: 'Board export in CSV' }).waitFor();
  expect(await server.sql('select down_count from ideas where board_id = $1 order by id', [open.boardId])).toEqual([
    { down_count: 1 },
    { down_count: 0 },
  ]);

  // Without a session, the server answers the vote that the script sends with the sign-in page. The script opens it.
  await page.context().clearCookies();
  await page.getByRole('button', { name: /^Vote for/ }).press('Enter');
  await page.waitForURL(/sign-in/);
  expect(complaints).toEqual([]);
  await close();
});

test('a moderator who uses only the keyboard can comment, edit, delete, follow, reply officially, merge and upload a picture', async () => {
  if (!browser) return;
  const open = await createWorld(server);
  const id = await insertIdea(server, open, { title: 'Night mode' });
  const targetId = await insertIdea(server, open, { title: 'Dark mode' });
  const { page, complaints, close } = await openSignedIn(open.ownerId);
  const enter = { open: 'Enter' };
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const link = (name: string) => page.getByRole('link', { name });
  await page.goto(`${server.baseUrl}/b/${open.boardSlug}/ideas/${id}`);

  await reach(page, button('Follow'), enter);
  await reach(page, button('Unfollow'), { press: 'Tab' });
  await reach(page, page.getByLabel('Your comment'), { type: 'Yes' });
  await reach(page, button('Comment'), enter);
  await reach(page, link('Edit the comment'), enter);
  await reach(page, page.getByLabel('Your comment'), { press: 'End' });
  await page.keyboard.type(', please');
  await reach(page, button('Save the comment'), { open: 'Space' });
  await page.getByText('Yes, please').waitFor();
  expect(await server.sql('select body from comments where idea_id = $1', [id])).toEqual([{ body: 'Yes, please' }]);
  await reach(page, link('Delete the comment'), enter);
  await reach(page, button('Delete the comment'), enter);

  const reply = page.getByRole('region', { name: 'Official reply' });
  await reach(page, page.locator('summary'), { press: 'Enter' });
  await reach(page, page.getByRole('textbox', { name: 'Official reply' }), { type: 'Good idea.' });
  await reach(page, button('Set the status'), enter);
  await reply.getByText('Good idea.').waitFor();
  await reach(page, page.locator('summary'), { press: 'Enter' });
  await reach(page, page.getByLabel('Status'), { press: 'ArrowDown' });
  await reach(page, page.getByRole('textbox', { name: 'Official reply' }), { type: 'In spring.' });
  await reach(page, button('Set the status'), enter);
  await reply.getByText('In spring.').waitFor();
  await reach(page, page.locator('summary'), { press: 'Enter' });
  await reach(page, link('Merge into another idea'), enter);
  await reach(page, page.getByRole('searchbox'), { type: 'dark' });
  await page.keyboard.press('Enter');
  await page.waitForURL('**q=dark**');
  await reach(page, link('Dark mode'), enter);
  await reach(page, button('Merge them'), enter);
  await page.getByText('The ideas are merged').waitFor();
  expect(
    await server.sql(
      `select s.key, i.merged_into_id, (select count(*)::int from followers f where f.idea_id = i.id) as followers,
        (select array_agg(c.body order by c.id) from comments c where c.idea_id = i.id) as comments
      from ideas i join statuses s on s.id = i.status_id where i.id = $1`,
      [id],
    ),
  ).toEqual([{ key: 'planned', merged_into_id: targetId, followers: 1, comments: ['Good idea.', 'In spring.'] }]);

  await page.goto(`${server.baseUrl}/admin/profile/picture`);
  const choosing = page.waitForEvent('filechooser');
  await reach(page, page.getByLabel('Picture'), { press: 'Enter' });
  const buffer = await sharp({ create: { width: 9, height: 9, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  await (await choosing).setFiles({ name: 'me.png', mimeType: 'image/png', buffer });
  await reach(page, button('Upload'), enter);
  await page.getByRole('img', { name: 'Your picture' }).waitFor();
  expect(await server.sql('select from pictures where user_id = $1', [open.ownerId])).toHaveLength(1);
  await page.goto(`${server.baseUrl}/admin/profile`);
  await reach(page, page.getByLabel('Language of pages and mails'), { type: 'Deutsch' });
  await reach(page, button('Save the language'), enter);
  await page.getByRole('heading', { name: 'Ihr Profil' }).waitFor();
  expect(await server.sql('select language from users where id = $1', [open.ownerId])).toEqual([{ language: 'de' }]);
  expect(complaints).toEqual([]);
  await close();
});

/**
 * Starts a website that is not part of the server. Its only page has the body that `bodyOf` returns. Returns the origin
 * of the website.
 */
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

test('if the board refuses a vote, the list and the page of the idea show the reason without a page load, and the browser sends the vote once', async () => {
  if (!browser) return;
  const open = await createWorld(server);
  const id = await insertIdea(server, open, { title: 'Export the board as CSV' });
  const memberId = await createMember(server, open.accountId, 'member');
  const { page, close } = await openSignedIn(memberId);
  let votes = 0;
  page.on('request', request => {
    if (request.method() === 'POST') votes++;
  });
  const freeze = (isFrozen: boolean) =>
    server.sql('update boards set is_frozen = $1 where id = $2', [isFrozen, open.boardId]);
  const button = page.getByRole('button', { name: 'Vote for: Export the board as CSV' });
  const announced = (text: string) => page.locator('[role=status]', { hasText: text }).waitFor({ state: 'attached' });
  for (const [path, place] of [
    ['', `#idea-${id}`],
    [`/ideas/${id}`, 'article'],
  ]) {
    await page.goto(`${server.baseUrl}/b/${open.boardSlug}${path}`);
    await page.evaluate('globalThis.isSamePage = true');
    await freeze(true);
    await button.press('Enter');
    await page.locator(`${place} [role=alert]`, { hasText: 'The board is frozen' }).waitFor();
    expect([await page.evaluate('isSamePage'), votes]).toEqual([true, 1]);
    expect(await server.sql('select up_count from ideas where id = $1', [id])).toEqual([{ up_count: 0 }]);

    await freeze(false);
    await button.press('Enter');
    await announced('Score 1');
    expect(await page.getByRole('alert').count()).toBe(0);
    await button.press('Enter');
    await announced('Score 0');
    votes = 0;
  }
  await close();
});

test("a person who uses only the keyboard can sign in with an embedding token, vote and comment in another website's frame, even without JavaScript", async () => {
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
    await reach(page, vote(), { press: 'Enter' });
    await board.locator('[aria-pressed=true]').waitFor();
    await reach(page, board.getByRole('link', { name: 'Export as CSV' }), { press: 'Enter' });
    await reach(page, board.getByLabel('Your comment'), { type: 'Yes' });
    await reach(page, board.getByRole('button', { name: 'Comment', exact: true }), { press: 'Enter' });
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

test('a reader whose browser runs no JavaScript can filter and search ideas, go to the next page, open an idea and use the roadmap', async () => {
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
  const query = () => Object.fromEntries(new URL(page.url()).searchParams);
  await expect.poll(query).toEqual({ q: 'dark', status_key: 'planned', sort: 'top' });
  await page.getByRole('link', { name: 'Dark mode' }).click();
  // click() resolves as soon as the next page begins to load. So each check repeats until the page is complete.
  await expect.poll(() => page.getByRole('listitem').filter({ hasText: 'Comment' }).count()).toBe(20);
  await page.getByRole('link', { name: 'More comments' }).click();
  await expect.poll(() => page.getByText('Comment 25').count()).toBe(1);
  await page.getByRole('link', { name: 'All ideas of Web app' }).click();
  await expect.poll(() => new URL(page.url()).pathname).toBe(boardPath);
  await page.getByRole('link', { name: 'Roadmap' }).click();
  await page.getByRole('link', { name: 'Dark mode' }).click();
  await page.getByRole('link', { name: 'Design' }).click();
  await expect.poll(() => page.getByRole('heading', { level: 3 }).allTextContents()).toEqual(['Dark mode']);
  expect(complaints).toEqual([]);
  await close();
});

/**
 * Code that the browser runs. It returns the directions of the title and of the link, and the sides of the text at which
 * the two lines begin.
 */
const readDirections = `(() => {
  const directionOf = selector => getComputedStyle(document.querySelector(selector)).direction;
  const text = document.querySelector('article .prose');
  const box = text.getBoundingClientRect();
  const sideOf = (node, start, end) => {
    const range = document.createRange();
    range.setStart(node, start);
    range.setEnd(node, end);
    const { left, right } = range.getBoundingClientRect();
    return left - box.left < 1 ? 'left' : box.right - right < 1 ? 'right' : 'neither';
  };
  const { firstChild: hebrew, lastChild: english } = text;
  const sides = [sideOf(hebrew, 0, 4), sideOf(english, 1, english.length)];
  return { title: directionOf('h1'), link: directionOf('article .prose a'), sides };
})()`;

test('a title from right to left begins at the right, each line of a text begins at the side of its own language, and a URL runs from left to right', async () => {
  if (!browser) return;
  const open = await createWorld(server, { isPublic: true });
  const body = 'שלום https://a.example/x\nHello';
  const id = await insertIdea(server, open, { title: 'שלום', body });
  const { page, close } = await openPage(browser, { width: 1280, colorScheme: 'light' });
  await page.goto(`${server.baseUrl}/b/${open.boardSlug}/ideas/${id}`);
  expect(await page.evaluate(readDirections)).toEqual({ title: 'rtl', link: 'ltr', sides: ['right', 'left'] });
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
