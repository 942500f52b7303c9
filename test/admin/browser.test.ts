import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium } from '../client/runtimes.ts';
import { createMember, createWorld, issueToken, type World } from '../helpers/fixtures.ts';
import { runJobs } from '../helpers/jobs.ts';
import { startServer, type TestServer } from '../helpers/server.ts';
import { type SmtpReceiver, startSmtpReceiver } from '../helpers/smtp-receiver.ts';
import { overflowOf, screens, startChromium, violationsOf } from '../pages/in-browser.ts';
import { emailOf, givePassword } from './visitor.ts';

describe.runIf(findChromium())('in a browser', () => {
  let browser: Browser | undefined;
  let mail: SmtpReceiver;
  let server: TestServer;
  let world: World;

  beforeAll(async () => {
    browser = await startChromium();
    mail = await startSmtpReceiver();
    server = await startServer({ environment: { SMTP_URL: mail.url } });
    world = await createWorld(server, { name: 'Web app' });
  });
  afterAll(async () => {
    await browser?.close();
    await server.close();
    await mail.close();
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

  test('a person sets a password by mail, and signs in with it, without JavaScript', async () => {
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
    await page.getByLabel('The same once more').fill('a few words for it');
    await page.getByRole('button', { name: 'Set the password' }).click();
    expect(await page.getByRole('status').textContent()).toContain('Your password is set');
    await signIn(page, { email, password: 'a few words for it' });
    await page.context().close();
  });

  test('no page has what axe finds to keep people out, and each is small', async () => {
    const other = await createWorld(server);
    const userId = await createMember(server, world.accountId, 'owner', 'Ada Osei');
    await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'member')`, [
      other.accountId,
      userId,
    ]);
    await server.sql('update users u set deletion_requested_at = now() where id = $1', [userId]);
    const [account] = await server.sql<{ slug: string }>('select slug from accounts where id = $1', [world.accountId]);
    const { id } = await issueToken(server, world, 'moderate', { issuerId: userId, name: 'Triage' });
    const inAccount = `account=${account?.slug}`;
    // A color on its way to another one is none that anybody reads.
    const page = await open({ reducedMotion: 'reduce' });
    // Each page on one of the screens: what their sizes and colors do is the same on all.
    let looked = 0;
    const check = async () => {
      expect((await page.content()).length).toBeLessThan(50_000);
      const { width, colorScheme } = screens[looked++ % screens.length] ?? { width: 390, colorScheme: 'light' };
      await page.setViewportSize({ width, height: 844 });
      await page.emulateMedia({ colorScheme });
      expect([page.url(), await violationsOf(page)]).toEqual([page.url(), []]);
      await page.setViewportSize({ width: 390, height: 844 });
      expect([page.url(), await overflowOf(page)]).toEqual([page.url(), 0]);
    };
    for (const path of ['/admin/sign-in?notice=signed_out', '/admin/password-link']) {
      await page.goto(path);
      await check();
    }
    await page.getByLabel('E-mail address').fill(await emailOf(server, userId));
    await page.getByRole('button', { name: 'Send the link' }).click();
    await check();
    await runJobs(server);
    await page.goto(/\/admin\/password\?token=\S+/.exec(mail.received.at(-1)?.mail.text ?? '')?.[0] ?? '');
    await check();
    await page.goto('/admin/password?token=none');
    await check();
    await page.goto('/admin/sign-in');
    await page.getByLabel('E-mail address').fill('nobody@example.com');
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await check();
    await signIn(page, await givePassword(server, userId), `/admin?${inAccount}`);
    await check();
    for (const path of [`/admin/tokens?${inAccount}`, `/admin/tokens/${id}/revoke?${inAccount}`]) {
      await page.goto(path);
      await check();
    }
    await page.goto(`/admin/tokens?${inAccount}`);
    await page.getByLabel('Name').fill('Bot');
    await page.getByRole('button', { name: 'Create the token' }).click();
    await check();
    await page.getByLabel('Web app').selectOption('Read');
    await page.getByRole('button', { name: 'Create the token' }).click();
    await check();
    // A click selects it, so that it is copied without a script.
    const token = page.getByLabel('The token', { exact: true });
    await token.click();
    expect(await page.evaluate('getSelection().toString()')).toBe(await token.textContent());
    await page.goto('/admin/tokens?account=nothing');
    await check();
    await page.context().close();
  });
});
