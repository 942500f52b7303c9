import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { givePassword, type Person } from '../admin/visitor.ts';
import { findChromium } from '../client/runtimes.ts';
import { createWorld, type World } from '../helpers/fixtures.ts';
import { startPublicServer } from '../helpers/public-server.ts';
import type { TestServer } from '../helpers/server.ts';
import { openPage, overflowOf, screens, startChromium, violationsOf } from '../pages/in-browser.ts';
import { Remembering } from './remembering.ts';

describe.runIf(findChromium())('the OAuth pages in a browser', () => {
  let browser: Browser | undefined;
  let program: Server;
  let server: TestServer;
  let world: World;
  let person: Person;
  let callback: string;
  /** The URLs of all requests that the redirect URI of the OAuth client received. */
  const answers: URL[] = [];

  beforeAll(async () => {
    browser = await startChromium();
    server = await startPublicServer();
    world = await createWorld(server, { name: 'Web app' });
    person = await givePassword(server, world.ownerId);
    program = createServer((request, response) => {
      if (request.url?.startsWith('/callback')) answers.push(new URL(request.url, callback));
      response.writeHead(200, { 'content-type': 'text/html' }).end('<title>Back in the program</title>');
    }).listen(0, '127.0.0.1');
    await once(program, 'listening');
    callback = `http://127.0.0.1:${(program.address() as AddressInfo).port}/callback`;
  });
  afterAll(async () => {
    program.closeAllConnections();
    program.close();
    await server.close();
  });

  /** Opens the authorization URL, signs in, and waits for the consent page. */
  async function openConsent(page: Page, memory: Remembering) {
    const transport = new StreamableHTTPClientTransport(new URL(`${server.config.BASE_URL}/api/v1/mcp`), {
      authProvider: memory,
    });
    const client = new Client({ name: 'a client', version: '1' });
    await expect(client.connect(transport)).rejects.toBeInstanceOf(UnauthorizedError);
    await page.goto(String(memory.sentTo));
    if (new URL(page.url()).pathname === '/sign-in') {
      await page.getByLabel('E-mail address').fill(person.email);
      await page.getByLabel('Password').fill(person.password);
      await page.getByRole('button', { name: 'Sign in' }).click();
    }
    await page.waitForURL('**/admin/connect/**');
    return transport;
  }

  test('a person can connect or refuse an OAuth client in a browser, and a connected client can call MCP tools until its token is revoked', async () => {
    if (!browser) throw new Error('There is no browser');
    const [narrow, wide] = screens;
    const { page, complaints, close } = await openPage(browser, narrow ?? { width: 390, colorScheme: 'light' });
    const memory = new Remembering(callback);
    const transport = await openConsent(page, memory);
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Connect The official client?');
    expect([await violationsOf(page), await overflowOf(page)]).toEqual([[], 0]);
    // The person has chosen no board, so the consent page asks for at least one board.
    await page.getByRole('button', { name: 'Connect' }).click();
    expect(await page.getByRole('alert').textContent()).toContain('at least one board');
    await page.setViewportSize({ width: wide?.width ?? 1280, height: 844 });
    await page.emulateMedia({ colorScheme: wide?.colorScheme ?? 'dark', reducedMotion: 'reduce' });
    expect(await violationsOf(page)).toEqual([]);
    await page.getByLabel('Web app').selectOption('Write');
    await page.getByRole('button', { name: 'Connect' }).click();
    // The consent form redirects to another origin. Only the Content-Security-Policy of the consent page allows this
    // redirect.
    await page.waitForURL(`${callback}**`);
    await transport.finishAuth(answers.at(-1)?.searchParams ?? new URLSearchParams());

    const client = new Client({ name: 'a client', version: '1' });
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${server.config.BASE_URL}/api/v1/mcp`), { authProvider: memory }),
    );
    const list = async () => (await client.callTool({ name: 'list_ideas', arguments: {} })).structuredContent;
    expect(await list()).toMatchObject({ data: [] });
    const created = await client.callTool({
      name: 'create_idea',
      arguments: { title: 'Dark mode', body: 'At night.' },
    });
    expect(created.structuredContent).toMatchObject({ title: 'Dark mode' });
    // The access token of the OAuth client has expired, so the client refreshes it.
    const before = memory.held?.access_token;
    await server.sql(`update oauth_records set expires_at = now() - interval '1 second' where model = 'AccessToken'`);
    expect(await list()).toMatchObject({ data: [{ title: 'Dark mode' }] });
    expect(memory.held?.access_token).not.toBe(before);
    await page.goto(`${server.baseUrl}/admin/tokens`);
    expect(await page.getByRole('listitem').filter({ hasText: 'The official client' }).textContent()).toContain(
      'OAuth',
    );
    await page.getByRole('link', { name: 'Revoke The official client' }).click();
    await page.getByRole('button', { name: 'Revoke the token' }).click();
    await page.getByRole('status').waitFor();
    await expect(list()).rejects.toBeInstanceOf(UnauthorizedError);
    await client.close();

    await openConsent(page, new Remembering(callback));
    await page.getByRole('button', { name: 'Refuse' }).click();
    await page.waitForURL(`${callback}**`);
    expect(answers.at(-1)?.searchParams.get('error')).toBe('access_denied');
    await page.goto(`${server.baseUrl}/oauth/authorize?client_id=nobody`);
    expect([await violationsOf(page), await overflowOf(page)]).toEqual([[], 0]);
    // Chromium has logged only responses with the HTTP statuses 400 and 422. It has logged no violation of the
    // Content-Security-Policy.
    expect(complaints.filter(text => !/status of 4(00|22)/.test(text))).toEqual([]);
    await close();
  });

  test('another website cannot show the consent page in a frame', async () => {
    if (!browser) throw new Error('There is no browser');
    const { page, complaints, close } = await openPage(browser, { width: 1280, colorScheme: 'light' });
    await openConsent(page, new Remembering(callback));
    const consent = page.url();
    await page.goto(callback.replace('/callback', '/'));
    await page.setContent(`<iframe src="${consent}"></iframe>`);
    await expect.poll(() => complaints.join('\n')).toMatch(/frame-ancestors|X-Frame-Options/i);
    await close();
  });
});
