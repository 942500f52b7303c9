import { TOTP } from 'otpauth';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium } from '../client/runtimes.ts';
import { hostOrigin } from '../helpers/embedding.ts';
import { createMember, createWorld, type World } from '../helpers/fixtures.ts';
import { runJobs } from '../helpers/jobs.ts';
import { type Receiver, startReceiver } from '../helpers/receiver.ts';
import { collectRoutes } from '../helpers/registered-routes.ts';
import { startServer, type TestServer } from '../helpers/server.ts';
import { type SmtpReceiver, startSmtpReceiver } from '../helpers/smtp-receiver.ts';
import { openChecker, reach, type Screen, screens, startChromium, viewOf } from '../pages/in-browser.ts';
import { furnishAccount } from './furnished-account.ts';
import { emailOf, givePassword } from './visitor.ts';

/** The axe-core test does not visit the OAuth consent page, because the OAuth tests check this page. */
const elsewhere = ['/admin/connect/:id'];

/**
 * Makes a user an operator. Adds a failing job, a failing webhook with dead deliveries, and scheduled deletions, for the
 * pages of the operator's panel. Returns the ids of the account and the user to delete.
 */
async function prepareForOperator({ sql }: TestServer, userId: number) {
  await sql('update users set is_operator = true where id = $1', [userId]);
  await sql('update webhook_endpoints set failing_since = now()');
  await sql(`update webhook_deliveries set state = 'dead', next_attempt_at = null, finished_at = now()`);
  await sql(`select graphile_worker.add_job('mail_people', '[]', run_at := '2099-01-01', max_attempts := 3)`);
  await sql(`update graphile_worker._private_jobs set attempts = 1, last_error = 'No answer' where run_at > now()`);
  const [ids] = await sql<{ account_id: number; user_id: number; blocked_id: number; blocked_in: string }>(
    `with account as (
      update accounts set deletion_scheduled_at = now() where id = (select min(id) from accounts) returning id
    ), person as (
      update users set deletion_requested_at = now() where id = (select min(id) from users where id <> $1) returning id
    )
    select account.id as account_id, person.id as user_id, b.user_id as blocked_id, a.slug as blocked_in
    from account, person, user_blocks b join accounts a on a.id = b.account_id limit 1`,
    [userId],
  );
  return ids;
}

describe.runIf(findChromium())('the admin area in a browser', () => {
  let browser: Browser | undefined;
  let mail: SmtpReceiver;
  let receiver: Receiver;
  let routes: { path: string; pattern: RegExp }[];
  let server: TestServer;
  let world: World;
  /** The difference in milliseconds between the clock of the server and the real time. */
  let ahead = 0;

  beforeAll(async () => {
    browser = await startChromium();
    mail = await startSmtpReceiver();
    receiver = await startReceiver();
    const environment = { SMTP_URL: mail.url, WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' };
    const { started, routes: registered } = await collectRoutes(() =>
      startServer({ environment, clock: { now: () => new Date(Date.now() + ahead) } }),
    );
    server = started;
    routes = registered
      .filter(({ method, url }) => method === 'GET' && /^\/(admin|operator)(\/|$)/.test(url))
      // Puts fixed paths first. Otherwise /admin/members/leave would match the route /admin/members/:id.
      .sort((one, other) => Number(one.url.includes(':')) - Number(other.url.includes(':')))
      .map(({ url }) => ({ path: url, pattern: new RegExp(`^${url.replaceAll(/:\w+/g, '[^/]+')}$`) }));
    world = await createWorld(server, { name: 'Web app', isPublic: true });
    await server.sql(`update accounts set join_rule = 'everybody' where id = $1`, [world.accountId]);
  });
  afterAll(async () => {
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

  test('a person who uses only the keyboard and has no JavaScript can set a password through a mailed link and then sign in', async () => {
    const email = await emailOf(server, await createMember(server, world.accountId, 'admin'));
    const page = await open({ javaScriptEnabled: false });
    await page.goto('/sign-in');
    await reach(page, page.getByRole('link', { name: 'No password, or forgotten?' }), { open: 'Enter' });
    await reach(page, page.getByLabel('E-mail address'), { type: email });
    await reach(page, page.getByRole('button', { name: 'Send the link' }), { open: 'Enter' });
    await page.getByRole('status').waitFor();
    await runJobs(server);
    const [link = ''] = /\/admin\/password\?token=\S+/.exec(mail.received.at(-1)?.mail.text ?? '') ?? [];
    await page.goto(link);
    await reach(page, page.getByLabel('New password'), { type: 'a few words for it' });
    await reach(page, page.getByLabel('Repeat the password'), { type: 'a few words for it' });
    await reach(page, page.getByRole('button', { name: 'Set the password' }), { open: 'Enter' });
    await page.getByText('Your password is set').waitFor();
    // Waits for the focus, because the page may give the focus to the address field only after the browser has loaded
    // the page.
    await page.locator('#email:focus').waitFor();
    await page.keyboard.type(email);
    await reach(page, page.getByLabel('Password'), { type: 'a few words for it' });
    await page.keyboard.press('Enter');
    await page.waitForURL('**/admin');
    await page.context().close();
  });

  test('a new person who uses only the keyboard and has no JavaScript can sign up on a public board through a mailed link', async () => {
    const page = await open({ javaScriptEnabled: false });
    await page.goto(`/b/${world.boardSlug}`);
    await reach(page, page.getByRole('link', { name: 'Sign in' }), { open: 'Enter' });
    await page.waitForURL('**/sign-in?**');
    await page.locator('#email:focus').waitFor();
    await page.keyboard.type('grace@example.com');
    ahead += 2_000;
    await reach(page, page.getByRole('button', { name: 'Mail me a link' }), { open: 'Enter' });
    await page.getByRole('status').waitFor();
    await runJobs(server);
    const [link = ''] = /\/sign-in\/link\?token=\S+/.exec(mail.received.at(-1)?.mail.text ?? '') ?? [];
    await page.goto(link);
    await reach(page, page.getByLabel('Name'), { type: 'Grace' });
    await reach(page, page.getByRole('button', { name: 'Join' }), { open: 'Space' });
    await page.waitForURL(`**/b/${world.boardSlug}`);
    expect(await page.getByRole('banner').textContent()).toContain('Grace');
    await page.context().close();
  });

  // The test checks more than a hundred pages, so it needs more time on a busy machine.
  test("axe-core finds no accessibility violation on the pages of the admin area and the operator's panel, and every page has fewer than 36,000 characters", {
    timeout: 300_000,
  }, async () => {
    const {
      world,
      ownerId,
      ideaId,
      noteId,
      otherId,
      pendingId,
      mergedId,
      secondAccount,
      providerKey,
      connectionToken,
    } = await furnishAccount(server, receiver.url);
    const account = `account=${world.accountSlug}`;
    const publicSlug = (await createWorld(server, { isPublic: true, name: 'Public' })).boardSlug;
    await server.sql(`update accounts set join_rule = 'everybody'`);
    // Reduces motion. Otherwise axe-core could measure a color during a transition.
    const page = await open({ reducedMotion: 'reduce', permissions: ['clipboard-read', 'clipboard-write'] });
    const checker = await openChecker(page.context(), server.baseUrl);
    const [narrow] = screens as [Screen];
    const seen = new Set<string>();
    let checks = 0;
    const checkCopy = async (url: string, html: string, { screen } = viewOf(checks)) => {
      checks += 1;
      const { pathname } = new URL(url);
      seen.add(routes.find(route => route.pattern.test(pathname))?.path ?? pathname);
      expect([url, html.length < 36_000]).toEqual([url, true]);
      await checker.show(html);
      // Checks each page with one width and one color scheme, because all pages use the same layout and colors.
      await checker.turn(screen);
      expect([url, await checker.violations()]).toEqual([url, []]);
      await checker.turn(narrow);
      expect([url, await checker.overflow()]).toEqual([url, 0]);
    };
    /** Checks the page that the browser shows, even if a click has only just opened this page. */
    const check = async () => {
      await page.waitForLoadState();
      await checkCopy(page.url(), await page.content());
    };
    /** Opens a page in English or German with the session of the browser, and checks the page. */
    const visit = async (path: string) => {
      const view = viewOf(checks);
      const response = await page.request.get(path, { headers: { 'accept-language': view.language } });
      const html = await response.text();
      expect([path, html]).toEqual([path, expect.stringContaining(`<html lang="${view.language}">`)]);
      await checkCopy(response.url(), html, view);
    };

    // Visit the sign-in pages, with and without errors.
    await visit('/sign-in?notice=signed_out');
    await page.goto('/admin/password-link');
    await check();
    await page.getByLabel('E-mail address').fill(await emailOf(server, ownerId));
    await page.getByRole('button', { name: 'Send the link' }).click();
    await check();
    await runJobs(server);
    const mailed = (link: RegExp) =>
      mail.received.map(one => link.exec(one.mail.text ?? '')?.[0]).findLast(Boolean) ?? '';
    await visit(mailed(/\/admin\/password\?token=\S+/));
    await visit('/admin/password?token=none');
    await visit(mailed(/\/admin\/invitations\/\S+/));
    for (const address of [await emailOf(server, ownerId), 'new@example.com']) {
      await page.goto(`/sign-in?next=/b/${publicSlug}`);
      await page.getByLabel('E-mail address').fill(address);
      ahead += 2_000;
      await page.getByRole('button', { name: 'Mail me a link' }).click();
      await check();
      await runJobs(server);
      await visit(mailed(/\/sign-in\/link\?token=\S+/));
    }
    await page.goto('/sign-in');
    await page.getByLabel('E-mail address').fill('nobody@example.com');
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await check();
    const owner = await givePassword(server, ownerId);
    await signIn(page, owner, `/admin?${account}`);

    /** Follows all links, beginning at one page, and visits each route once. */
    const visitAll = async (start: string) => {
      const found = [start];
      for (const path of found) {
        const { pathname } = new URL(path, server.baseUrl);
        const route = routes.find(one => one.pattern.test(pathname))?.path;
        if (!route || seen.has(route)) continue;
        await visit(path);
        found.push(...(await checker.links()));
      }
    };
    await visitAll(`/admin?${account}`);
    // Visit pages in other states, such as a frozen board or a merged idea.
    for (const path of [
      `/admin?account=${secondAccount}`,
      `/admin/ideas/${pendingId}?${account}`,
      `/admin/ideas/${mergedId}?${account}`,
      `/admin/ideas/${mergedId}/unmerge?${account}`,
      `/admin/ideas/${ideaId}/merge?${account}&q=export`,
      `/admin/ideas/${ideaId}/notes/${noteId}/edit?${account}`,
      `/admin/ideas/${ideaId}/notes/${noteId}/delete?${account}`,
      // The page of a refused download.
      `/admin/ideas/export?${account}`,
      `/admin/ideas/${ideaId}/merge?${account}&target=${otherId}`,
      `/admin/boards/frozen?${account}`,
      `/admin/boards/frozen/unfreeze?${account}`,
      `/admin/members?${account}&q=nobody`,
      '/admin/tokens?account=nothing',
      `/admin/tokens?${account}&tools=read`,
      `/b/${publicSlug}`,
      `/b/${publicSlug}?notice=confirm`,
      `/sign-in/provider/${providerKey}`,
      `/admin/profile/connections/connect?token=${connectionToken}`,
    ]) {
      await visit(path);
    }
    await page.goto('/admin/profile');
    await page.getByLabel('Address for notifications').fill('ada@example.com');
    await page.getByRole('button', { name: 'Save the address' }).click();
    await check();
    await runJobs(server);
    await visit(mailed(/\/admin\/profile\/confirm\?token=\S+/));

    const field = (label: string) => page.getByLabel(label, { exact: true });
    // Create a token with the keyboard alone.
    await page.goto(`/admin/tokens?${account}`);
    await reach(page, page.getByLabel('Name'), { type: 'Bot' });
    await reach(page, page.getByRole('button', { name: 'Create the token' }), { open: 'Enter' });
    await check();
    await reach(page, page.getByLabel('Web app'), { type: 'Write' });
    await reach(page, page.getByRole('button', { name: 'Create the token' }), { open: 'Enter' });
    await check();
    await reach(page, page.getByText('Only tools that read', { exact: true }), { press: 'Enter' });
    await check();
    // A button copies the token with a script. A click on the token selects the token without a script.
    const token = page.getByLabel('The token', { exact: true });
    const plaintext = await token.textContent();
    await page.getByRole('button', { name: 'Copy: The token' }).click();
    await page.getByRole('button', { name: 'Copied: The token' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(plaintext);
    await token.click();
    expect(await page.evaluate('getSelection().toString()')).toBe(plaintext);

    // Restrict and rotate the token with the keyboard alone. The page of a token with two secrets has more links.
    await reach(page, page.getByRole('link', { name: 'Open the token' }), { open: 'Enter' });
    await reach(page, page.getByLabel('Reads in a minute'), { type: '30' });
    await reach(page, page.getByLabel('Allowed networks'), { type: '203.0.113.0/24' });
    await reach(page, page.getByRole('button', { name: 'Save' }), { open: 'Enter' });
    await page.getByText('The limits and networks are saved').waitFor();
    const tokenPage = new URL(page.url()).pathname;
    await reach(page, page.getByRole('link', { name: 'Rotate the token' }), { open: 'Enter' });
    await reach(page, page.getByLabel('Hours until'), { press: 'ArrowUp' });
    await reach(page, page.getByRole('button', { name: 'Rotate the token' }), { open: 'Enter' });
    await check();
    expect(await page.getByLabel('The token', { exact: true }).textContent()).not.toBe(plaintext);
    for (const rest of ['', '/rotate', '/end-old-secret']) await visit(`${tokenPage}${rest}?${account}`);
    // Create a webhook, a tag and a status with the keyboard alone.
    await page.goto(`/admin/webhooks?${account}`);
    await reach(page, page.getByLabel('URL'), { type: 'https://hooks.example.com/ideas' });
    await reach(page, page.getByRole('button', { name: 'Create the webhook' }), { open: 'Enter' });
    await check();
    const boardSettings = `/admin/boards/${world.boardSlug}`;
    await page.goto(`${boardSettings}/tags?${account}`);
    await reach(page, page.getByLabel('Name'), { type: 'Speed' });
    await reach(page, page.getByRole('button', { name: 'Add the tag' }), { open: 'Enter' });
    await page.goto(`${boardSettings}/statuses?${account}`);
    await reach(page, field('Label'), { type: 'Later' });
    await reach(page, field('Key'), { type: 'later' });
    await reach(page, field('Category'), { press: 'ArrowDown' });
    await reach(page, page.getByRole('button', { name: 'Add the status' }), { open: 'Enter' });
    const made = `select (select count(*)::int from webhook_endpoints where url = 'https://hooks.example.com/ideas') as webhooks,
      (select count(*)::int from tags where board_id = $1 and name = 'Speed') as tags,
      (select count(*)::int from statuses where board_id = $1 and key = 'later') as statuses`;
    expect(await server.sql(made, [world.boardId])).toEqual([{ webhooks: 1, tags: 1, statuses: 1 }]);

    // Change the embedding origins, the embedding secret and the identity providers with the keyboard alone.
    await page.goto(`/admin/account/embedding?${account}`);
    await reach(page, page.getByLabel('Origins'), { press: 'Control+End' });
    await page.keyboard.type('\nhttps://another.example');
    await reach(page, page.getByRole('button', { name: 'Save the origins' }), { open: 'Enter' });
    await reach(page, page.getByRole('button', { name: 'Create a secret' }), { open: 'Enter' });
    await check();
    await page.goto(`/admin/account/providers?${account}`);
    const metadata = {
      issuer: receiver.url,
      ...Object.fromEntries(
        ['authorization_endpoint', 'token_endpoint', 'jwks_uri'].map(name => [name, `${receiver.url}/${name}`]),
      ),
    };
    receiver.respondWith(response =>
      response.setHeader('content-type', 'application/json').end(JSON.stringify(metadata)),
    );
    await reach(page, field('Name'), { type: 'Work' });
    await reach(page, field('Issuer'), { type: receiver.url });
    await reach(page, field('Client ID'), { type: 'ideas' });
    await reach(page, field('Client secret'), { type: 'secret' });
    await reach(page, field('Everybody from this provider may join'), { press: 'Space' });
    await reach(page, page.getByRole('button', { name: 'Add the provider' }), { open: 'Enter' });
    await page.getByText('The provider is added').waitFor();
    await reach(page, page.getByLabel('Members must sign in with a provider'), { press: 'Space' });
    await reach(page, page.getByRole('button', { name: 'Save the requirement' }), { open: 'Enter' });
    await page.getByRole('status').waitFor();
    const changed = `select requires_provider, embedding_origins, (select count(*)::int from embedding_secrets e
      where e.account_id = a.id) as secrets, p.issuer, p.client_id, p.admits_everybody
      from accounts a join identity_providers p on p.account_id = a.id and p.name = 'Work' where slug = $1`;
    const added = { issuer: receiver.url, client_id: 'ideas', admits_everybody: true };
    expect(await server.sql(changed, [world.accountSlug])).toEqual([
      { requires_provider: true, embedding_origins: [hostOrigin, 'https://another.example'], secrets: 2, ...added },
    ]);

    // Turn on two-factor sign-in, and then sign in with a wrong code and a recovery code.
    await page.goto('/admin/profile/second-factor');
    await page.getByLabel('Your current password').fill(owner.password);
    await page.getByRole('button', { name: 'Continue' }).click();
    await check();
    const secret = (await page.getByLabel('The secret', { exact: true }).textContent()) ?? '';
    await page.getByLabel('Code', { exact: true }).fill(new TOTP({ secret: secret.replaceAll(' ', '') }).generate());
    await page.getByRole('button', { name: 'Turn on two-factor sign-in' }).click();
    await check();
    const recoveryCodes = (await page.getByLabel('The recovery codes', { exact: true }).textContent()) ?? '';
    await page.getByRole('link', { name: 'I have saved the codes' }).click();
    await check();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('E-mail address').fill(owner.email);
    await page.getByLabel('Password').fill(owner.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL('**/sign-in/code?**');
    await check();
    await page.getByLabel('Code of your authenticator app').fill('000000');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('Use a recovery code instead').click();
    await check();
    await page.getByLabel('Recovery code', { exact: true }).fill(recoveryCodes.split('\n')[0] ?? '');
    await page.getByRole('button', { name: 'Sign in with the recovery code' }).click();
    await page.waitForURL('**/admin?**');

    // The operator's panel needs the second factor.
    const deletion = await prepareForOperator(server, ownerId);
    await visitAll('/operator');
    for (const path of [
      `/operator/accounts/${deletion?.account_id}/keep`,
      `/operator/users/${deletion?.user_id}/keep`,
      `/operator/users/${deletion?.blocked_id}/unblock?in=${deletion?.blocked_in}`,
      '/operator/accounts?state=scheduled',
      '/operator/users?q=nobody',
      '/operator/webhooks?state=dead',
    ]) {
      await visit(path);
    }
    // An operator who blocks a user must enter their own password. This prompt works with the keyboard alone.
    await page.goto(`/operator/users/${deletion?.user_id}/block`);
    await reach(page, page.getByLabel('Slug of the account'), { type: world.accountSlug ?? '' });
    const blockWith = async (password: string) => {
      await reach(page, page.getByLabel('Your current password'), { type: password });
      await reach(page, page.getByRole('button', { name: 'Block the user' }), { open: 'Enter' });
    };
    await blockWith('wrong');
    await page.getByRole('alert').waitFor();
    await check();
    await blockWith(owner.password);
    await page.waitForURL(`**/operator/users/${deletion?.user_id}?**`);
    const blocks = await server.sql('select from user_blocks where user_id = $1', [deletion?.user_id]);
    expect(blocks).toHaveLength(1);
    expect(routes.map(({ path }) => path).filter(path => !seen.has(path))).toEqual(elsewhere);
    await page.context().close();
  });
});
