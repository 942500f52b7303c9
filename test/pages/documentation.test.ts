import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { contract } from '../../contract/index.ts';
import { iconPath } from '../../server/pages/shell/assets.ts';
import { findChromium } from '../client/runtimes.ts';
import { createWorld, issueToken } from '../helpers/fixtures.ts';
import { startProxy } from '../helpers/proxy.ts';
import { rawRequest } from '../helpers/raw-request.ts';
import { request } from '../helpers/request.ts';
import { startServer, type TestServer } from '../helpers/server.ts';
import { openPage, overflowOf, screens, startChromium, violationsOf } from './in-browser.ts';

let server: TestServer;
let browser: Browser | undefined;

beforeAll(async () => {
  const environment = { BASE_URL: 'https://ideas.example.com' };
  [server, browser] = await Promise.all([startServer({ environment }), startChromium()]);
});
afterAll(async () => {
  await server.close();
});

/** Returns the path of the script that builds the API reference in the page. */
async function scriptPath(): Promise<string> {
  const { text } = await request(server, 'GET /docs/');
  return /<link rel="preload" as="script" href="([^"]+)">/.exec(text)?.[1] ?? '';
}

/** Opens the API reference. Waits until the script has replaced the overview with the reference. */
async function openReference(page: Page, baseUrl = server.baseUrl) {
  await page.goto(`${baseUrl}/docs/`);
  await page.locator('#overview').waitFor({ state: 'detached' });
}

test('the API reference has the same security headers as other pages, and a content security policy that forbids inline scripts and eval', async () => {
  const page = await request(server, 'GET /docs/');
  const script = await request(server, `GET ${await scriptPath()}`);
  const { headers: ofPages } = await request(server, 'GET /sign-in');
  for (const { status, headers } of [page, script, await request(server, 'GET /docs')]) {
    expect([200, 301]).toContain(status);
    for (const name of [
      'x-frame-options',
      'referrer-policy',
      'cross-origin-opener-policy',
      'strict-transport-security',
    ]) {
      expect([name, headers.get(name)]).toEqual([name, ofPages.get(name)]);
      expect(headers.get(name)).not.toBeNull();
    }
  }
  const policy = page.headers.get('content-security-policy') ?? '';
  const host = new URL(server.baseUrl).host;
  expect(policy.split(';')).toEqual(
    expect.arrayContaining([
      "default-src 'none'",
      "script-src 'self'",
      `connect-src ${host}/api/v1/ ideas.example.com/api/v1/`,
      "form-action 'none'",
      "frame-ancestors 'none'",
    ]),
  );
  expect(policy).not.toContain('unsafe-eval');
  expect(page.text).not.toMatch(/<script[^>]*>[^<]/);
});

test('the server compresses the OpenAPI document and the API reference with Brotli or gzip if the client accepts this encoding', async () => {
  const count = Object.keys(contract).length;
  const sizes: [path: string, type: string, br: number, gzip: number][] = [
    ['/docs/', 'text/html; charset=utf-8', 5_000, 5_000],
    [await scriptPath(), 'text/javascript; charset=utf-8', 1_150_000, 1_350_000],
    ['/api/v1/openapi.json', 'application/json; charset=utf-8', count * 1_300, count * 1_900],
  ];
  for (const [path, type, br, gzip] of sizes) {
    const plain = await rawRequest(server, 'GET', path);
    expect([path, plain.headers.get('content-encoding'), plain.headers.get('vary')]).toEqual([
      path,
      null,
      'Accept-Encoding',
    ]);
    for (const [accepted, encoding, most] of [
      ['gzip, deflate, br, zstd', 'br', br],
      ['gzip', 'gzip', gzip],
      ['br;q=0, gzip', 'gzip', gzip],
      ['identity', null, Number.POSITIVE_INFINITY],
    ] as const) {
      const { headers } = await rawRequest(server, 'HEAD', path, { headers: { 'accept-encoding': accepted } });
      expect([path, accepted, headers.get('content-encoding')]).toEqual([path, accepted, encoding]);
      expect(Number(headers.get('content-length'))).toBeLessThan(most);
      expect([headers.get('content-type'), headers.get('vary')]).toEqual([type, 'Accept-Encoding']);
      const decoded = await request(server, `GET ${path}`, { headers: { 'accept-encoding': accepted } });
      expect([path, accepted, decoded.text === plain.text]).toEqual([path, accepted, true]);
    }
  }
});

test("browsers may cache the script of the API reference for a year, because the script's path changes with its content", async () => {
  const path = await scriptPath();
  expect(path).toMatch(/^\/docs\/[0-9a-f]{16}\.js$/);
  const { status, headers } = await request(server, `GET ${path}`);
  expect([status, headers.get('cache-control')]).toEqual([200, 'public, max-age=31536000, immutable']);
  expect((await request(server, 'GET /docs/0000000000000000.js')).status).toBe(404);
});

test('an invalid Host header does not appear in the content security policy of the API reference', async () => {
  for (const host of ["a.example 'unsafe-eval'", 'a.example;script-src *', '[::1]:3000']) {
    const { headers } = await rawRequest(server, 'GET', '/docs/', { headers: { host } });
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain('connect-src ideas.example.com/api/v1/;');
  }
});

describe.runIf(findChromium())('the API reference in a browser', () => {
  // Both tests use the same page, because building the reference takes seconds.
  let window: Awaited<ReturnType<typeof openPage>>;

  beforeAll(async () => {
    window = await openPage(browser as Browser, { width: 1280, colorScheme: 'light' });
    await openReference(window.page);
    return window.close;
  });

  test('the API reference works in a browser and can call the Agent API but not open the admin area', async () => {
    const { page, complaints } = window;
    await page.getByRole('heading', { name: 'Idea-Board Agent API' }).waitFor();
    await page.getByText('Send a bearer token with every request').first().waitFor();
    expect(complaints.filter(text => /refused|violates|error/i.test(text))).toEqual([]);

    const { token } = await issueToken(server, await createWorld(server), 'read');
    const statusOf = (path: string, headers = {}) =>
      page.evaluate(
        ([url, init]) =>
          fetch(url as string, init as RequestInit).then(
            answer => answer.status,
            () => 'blocked',
          ),
        [path, { headers }] as const,
      );
    expect(await statusOf('/api/v1/board', { authorization: `Bearer ${token}` })).toBe(200);
    expect(await statusOf('/admin')).toBe('blocked');
    expect(await statusOf('/oauth/token')).toBe('blocked');
    // The page must not be able to open a window of its own origin, because the scripts of the page could control that
    // window.
    expect(await page.evaluate(`window.open('/admin') === null`)).toBe(true);
    // The page must run this code as a script element, because the content security policy does not restrict code from
    // the debugger.
    const ran = await page.evaluate(`(() => {
      const script = document.createElement('script');
      script.textContent = 'globalThis.ranInline = true';
      document.body.append(script);
      const frame = document.createElement('iframe');
      frame.src = '/admin';
      document.body.append(frame);
      return [globalThis.ranInline, frame.contentDocument?.body?.childElementCount ?? 0];
    })()`);
    expect(ran).toEqual([undefined, 0]);
    expect(complaints.some(text => /inline script/i.test(text))).toBe(true);
    expect(complaints.some(text => /frame/i.test(text))).toBe(true);
  });

  test('the API reference has a title, a language, an icon and SDK samples, and shows the fields in the order of the contract', async () => {
    const { page } = window;
    await page.evaluate("location.hash = '#tag/ideas/POST/api/v1/ideas'");
    expect(await page.title()).toBe('Idea-Board Agent API');
    expect(await page.locator('html').getAttribute('lang')).toBe('en');
    const icons = await page.locator('link[rel="icon"]').evaluateAll(links => links.map(link => link.outerHTML));
    expect(icons).toEqual([`<link rel="icon" type="image/svg+xml" href="${iconPath}">`]);
    const operation = page.locator('section[id$="tag/ideas/POST/api/v1/ideas"]');
    await operation.getByText('await client.ideas.create({').waitFor();
    expect(await operation.locator('.property-name').allTextContents()).toEqual([
      'board',
      'on_similar',
      'idempotency-key',
      'title',
      'body',
    ]);
  });
});

test('a browser shows the API overview after at most 50 kB, while the script of the reference still loads, and later visits load at most 6 kB', async () => {
  if (!browser) return;
  // The script takes almost five seconds, so that even a busy machine shows the overview before.
  const bitsPerSecond = 2_000_000;
  const proxy = await startProxy(server.baseUrl, bitsPerSecond);
  const { page, close } = await openPage(browser, { width: 1280, colorScheme: 'light' });
  try {
    const session = await page.context().newCDPSession(page);
    await session.send('Network.enable');
    let transferred: number[] = [];
    session.on('Network.loadingFinished', ({ encodedDataLength }) => {
      if (encodedDataLength > 0) transferred.push(encodedDataLength);
    });
    await page.addInitScript(`new MutationObserver((_, observer) => {
      if (!document.querySelector('#reference *')) return;
      observer.disconnect();
      globalThis.referenceStartedAt = performance.now();
    }).observe(document, { childList: true, subtree: true })`);
    const path = await scriptPath();
    const visit = async () => {
      transferred = [];
      await openReference(page, proxy.url);
      const [shownAt, referenceStartedAt, scriptBytes, scriptLoadedAt, bytesBefore] = (await page.evaluate(`(() => {
        const script = performance.getEntriesByName('${proxy.url}${path}')[0];
        const paint = performance.getEntriesByName('first-contentful-paint')[0];
        // The browser shows nothing before it has the page and the files that block the rendering.
        const blocking = performance.getEntriesByType('resource').filter(one => one.renderBlockingStatus === 'blocking');
        const needed = [...performance.getEntriesByType('navigation'), ...blocking];
        const bytesBefore = needed.reduce((sum, { transferSize }) => sum + transferSize, 0);
        return [paint.startTime, referenceStartedAt, script.transferSize, script.responseEnd, bytesBefore];
      })()`)) as [number, number, number, number, number];
      expect(shownAt).toBeLessThan(referenceStartedAt);
      const bytes = transferred.reduce((sum, bytes) => sum + bytes, 0);
      return { shownAt, scriptBytes, scriptLoadedAt, bytesBefore, requests: transferred.length, bytes };
    };

    const first = await visit();
    expect(first.shownAt).toBeLessThan(first.scriptLoadedAt);
    expect(first.bytesBefore).toBeLessThan(50_000);
    expect(first.requests).toBeLessThanOrEqual(6);
    expect(first.bytes).toBeLessThan(1_200_000);
    expect(first.scriptLoadedAt).toBeGreaterThan((first.scriptBytes * 8 * 1000) / bitsPerSecond);
    const second = await visit();
    expect(second.scriptBytes).toBe(0);
    expect(second.requests).toBe(1);
    expect(second.bytes).toBeLessThan(6_000);
  } finally {
    await close();
    await proxy.close();
  }
});

test('if a browser cannot load the script of the API reference, the page shows an overview with the introduction and every operation', async () => {
  if (!browser) return;
  const [narrow] = screens;
  const { page, complaints, close } = await openPage(browser, narrow ?? { width: 390, colorScheme: 'light' });
  try {
    await page.route(server.baseUrl + (await scriptPath()), route => route.abort());
    await page.goto(`${server.baseUrl}/docs/`);
    expect(await page.getByRole('heading', { name: 'Errors' }).count()).toBe(1);
    const { paths } = JSON.parse((await request(server, 'GET /api/v1/openapi.json')).text);
    for (const [path, methods] of Object.entries<Record<string, { summary: string }>>(paths)) {
      for (const [method, { summary }] of Object.entries(methods)) {
        const item = `${summary} ${method.toUpperCase()} ${path}`;
        expect([item, await page.getByText(item, { exact: true }).count()]).toEqual([item, 1]);
      }
    }
    expect([await violationsOf(page), await overflowOf(page)]).toEqual([[], 0]);
    expect(complaints.filter(text => /violates/.test(text))).toEqual([]);
  } finally {
    await close();
  }
});
