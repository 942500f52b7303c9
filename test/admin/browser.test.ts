import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium } from '../client/runtimes.ts';
import { createMember, createWorld, type World } from '../helpers/fixtures.ts';
import { runJobs } from '../helpers/jobs.ts';
import { type Receiver, startReceiver } from '../helpers/receiver.ts';
import { collectRoutes } from '../helpers/registered-routes.ts';
import { startServer, type TestServer } from '../helpers/server.ts';
import { type SmtpReceiver, startSmtpReceiver } from '../helpers/smtp-receiver.ts';
import { overflowOf, screens, startChromium, violationsOf } from '../pages/in-browser.ts';
import { furnishAccount } from './furnished-account.ts';
import { emailOf, givePassword } from './visitor.ts';

/** The axe-core test does not visit the OAuth consent page, because the OAuth tests check this page. */
const elsewhere = ['/admin/connect/:id'];

describe.runIf(findChromium())('the admin area in a browser', () => {
  let browser: Browser | undefined;
  let mail: SmtpReceiver;
  let receiver: Receiver;
  let routes: { path: string; pattern: RegExp }[];
  let server: TestServer;
  let world: World;

  beforeAll(async () => {
    browser = await startChromium();
    mail = await startSmtpReceiver();
    receiver = await startReceiver();
    const environment = { SMTP_URL: mail.url, WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' };
    const { started, routes: registered } = await collectRoutes(() => startServer({ environment }));
    server = started;
    routes = registered
      .filter(({ method, url }) => method === 'GET' && /^\/admin(\/|$)/.test(url))
      // Fixed paths must come first. Otherwise /admin/members/leave would match the route /admin/members/:id.
      .sort((one, other) => Number(one.url.includes(':')) - Number(other.url.includes(':')))
      .map(({ url }) => ({ path: url, pattern: new RegExp(`^${url.replaceAll(/:\w+/g, '[^/]+')}$`) }));
    world = await createWorld(server, { name: 'Web app' });
  });
  afterAll(async () => {
    await browser?.close();
    await server.close();
    await mail.close();
    await receiver.close();
  });

  async function open(options: BrowserContextOptions = {}): Promise<Page> {
    if (!browser) throw new Error('There is no browser');
    const context = await browser.newContext({ baseURL: server.baseUrl, ...options });
    return context.newPage();
  }

  async function signIn(page: Page, person: { email: string; password: string }, path = '/admin') {
    await page.goto(path);
    await page.getByLabel('E-mail address').fill(person.email);
    await page.getByLabel('Password').fill(person.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`**${path}`);
  }

  test('a person without JavaScript can set a password through a mailed link and sign in with it', async () => {
    const email = await emailOf(server, await createMember(server, world.accountId, 'admin'));
    const page = await open({ javaScriptEnabled: false });
    await page.goto('/admin/sign-in');
    await page.getByRole('link', { name: 'No password, or forgotten?' }).click();
    await page.getByLabel('E-mail address').fill(email);
    await page.getByRole('button', { name: 'Send the link' }).click();
    await page.getByRole('status').waitFor();
    await runJobs(server);
    const [link = ''] = /\/admin\/password\?token=\S+/.exec(mail.received.at(-1)?.mail.text ?? '') ?? [];
    await page.goto(link);
    await page.getByLabel('New password').fill('a few words for it');
    await page.getByLabel('Repeat the password').fill('a few words for it');
    await page.getByRole('button', { name: 'Set the password' }).click();
    expect(await page.getByRole('status').textContent()).toContain('Your password is set');
    await signIn(page, { email, password: 'a few words for it' });
    await page.context().close();
  });

  // The test opens seventy pages, so it needs more time on a busy machine.
  test('axe-core finds no accessibility violation on the pages of the admin area except the consent page, and each has fewer than 36,000 characters', {
    timeout: 300_000,
  }, async () => {
    const { world, ownerId, ideaId, otherId, pendingId, mergedId, secondAccount } = await furnishAccount(
      server,
      receiver.url,
    );
    const account = `account=${world.accountSlug}`;
    // Without reduced motion, axe-core could measure a color during a transition.
    const page = await open({ reducedMotion: 'reduce', permissions: ['clipboard-read', 'clipboard-write'] });
    const seen = new Set<string>();
    const check = async () => {
      const { pathname } = new URL(page.url());
      seen.add(routes.find(route => route.pattern.test(pathname))?.path ?? pathname);
      const length = (await page.evaluate('document.documentElement.outerHTML.length')) as number;
      expect([page.url(), length < 36_000]).toEqual([page.url(), true]);
      // Each page is checked with one width and one color scheme, because all pages use the same layout and colors.
      const { width, colorScheme } = screens[seen.size % screens.length] ?? { width: 390, colorScheme: 'light' };
      await page.setViewportSize({ width, height: 844 });
      await page.emulateMedia({ colorScheme });
      expect([page.url(), await violationsOf(page)]).toEqual([page.url(), []]);
      if (width !== 390) await page.setViewportSize({ width: 390, height: 844 });
      expect([page.url(), await overflowOf(page)]).toEqual([page.url(), 0]);
    };
    const visit = async (path: string) => {
      await page.goto(path);
      await check();
    };

    // Visit the sign-in pages, with and without errors.
    await visit('/admin/sign-in?notice=signed_out');
    await visit('/admin/password-link');
    await page.getByLabel('E-mail address').fill(await emailOf(server, ownerId));
    await page.getByRole('button', { name: 'Send the link' }).click();
    await check();
    await runJobs(server);
    const mailed = (link: RegExp) =>
      mail.received.map(one => link.exec(one.mail.text ?? '')?.[0]).findLast(Boolean) ?? '';
    await visit(mailed(/\/admin\/password\?token=\S+/));
    await visit('/admin/password?token=none');
    await visit(mailed(/\/admin\/invitations\/\S+/));
    await page.goto('/admin/sign-in');
    await page.getByLabel('E-mail address').fill('nobody@example.com');
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await check();
    await signIn(page, await givePassword(server, ownerId), `/admin?${account}`);

    // Follow all links, beginning at the home page, and visit each route once.
    const found = [`/admin?${account}`];
    for (const path of found) {
      const { pathname } = new URL(path, server.baseUrl);
      const route = routes.find(one => one.pattern.test(pathname))?.path;
      if (!route || seen.has(route)) continue;
      await visit(path);
      const links = (await page
        .locator('main a[href], header a[href]')
        .evaluateAll(all => all.map(one => one.getAttribute('href')))) as (string | null)[];
      found.push(...links.filter((href): href is string => href !== null));
    }
    // Visit pages in other states, such as a frozen board or a merged idea.
    for (const path of [
      `/admin?account=${secondAccount}`,
      `/admin/ideas/${pendingId}?${account}`,
      `/admin/ideas/${mergedId}?${account}`,
      `/admin/ideas/${mergedId}/unmerge?${account}`,
      `/admin/ideas/${ideaId}/merge?${account}&q=export`,
      `/admin/ideas/${ideaId}/merge?${account}&target=${otherId}`,
      `/admin/boards/frozen?${account}`,
      `/admin/boards/frozen/unfreeze?${account}`,
      `/admin/members?${account}&q=nobody`,
      '/admin/tokens?account=nothing',
      `/admin/tokens?${account}&tools=read`,
    ]) {
      await visit(path);
    }
    await page.goto('/admin/profile');
    await page.getByLabel('Address for notifications').fill('ada@example.com');
    await page.getByRole('button', { name: 'Save the address' }).click();
    await check();
    await runJobs(server);
    await visit(mailed(/\/admin\/profile\/confirm\?token=\S+/));
    expect(routes.map(({ path }) => path).filter(path => !seen.has(path))).toEqual(elsewhere);

    await page.goto(`/admin/tokens?${account}`);
    await page.getByLabel('Name').fill('Bot');
    await page.getByRole('button', { name: 'Create the token' }).click();
    await check();
    await page.getByLabel('Web app').selectOption('Write');
    await page.getByRole('button', { name: 'Create the token' }).click();
    await check();
    await page.getByText('Only tools that read', { exact: true }).click();
    await check();
    // A button copies the token with a script. A click on the token selects the token without a script.
    const token = page.getByLabel('The token', { exact: true });
    const plaintext = await token.textContent();
    await page.getByRole('button', { name: 'Copy: The token' }).click();
    await page.getByRole('button', { name: 'Copied: The token' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(plaintext);
    await token.click();
    expect(await page.evaluate('getSelection().toString()')).toBe(plaintext);
    await page.goto(`/admin/webhooks?${account}`);
    await page.getByLabel('URL').fill('https://hooks.example.com/ideas');
    await page.getByRole('button', { name: 'Create the webhook' }).click();
    await check();
    await page.context().close();
  });
});
