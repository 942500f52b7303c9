import { expect, test } from 'vitest';
import { rawRequest } from '../helpers/raw-request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { openPage, overflowOf, screens, startChromium, violationsOf } from './in-browser.ts';

const server = await startServerForFile();

const browserAccept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

test('a browser that opens the path / gets a page with links to the sign-in page and the documentation', async () => {
  const { status, headers, text } = await rawRequest(server, 'GET', '/', { headers: { accept: browserAccept } });
  expect(status).toBe(200);
  expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(headers.get('vary')).toBe('Accept');
  expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  for (const [, path = ''] of text.matchAll(/<a [^>]*href="(\/[^"]*)"/g)) {
    const answer = await rawRequest(server, 'GET', path, { headers: { accept: browserAccept } });
    expect([path, [200, 303].includes(answer.status)]).toEqual([path, true]);
  }
  expect(text).toContain('href="/admin"');
  expect(text).toContain('href="/docs/"');
  const head = await rawRequest(server, 'HEAD', '/', { headers: { accept: browserAccept } });
  expect([head.status, head.text, head.headers.get('vary')]).toEqual([200, '', 'Accept']);
  expect(head.headers.get('content-length')).toBe(headers.get('content-length'));
});

test('an API client that requests the path / gets the 404 error of the API', async () => {
  for (const accept of [undefined, '*/*', 'application/json']) {
    for (const method of ['GET', 'HEAD']) {
      const answer = await rawRequest(server, method, '/', { headers: accept ? { accept } : {} });
      expect([accept, answer.status, answer.headers.get('vary')]).toEqual([accept, 404, 'Accept']);
      expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
      if (method === 'GET') expect(answer.key).toBe('not_found');
    }
  }
});

test('a browser that opens an unknown path gets a 404 page with a link to the start page, and an API client gets a 404 error', async () => {
  const [browser, client, api] = await Promise.all([
    rawRequest(server, 'GET', '/nothing', { headers: { accept: browserAccept } }),
    rawRequest(server, 'GET', '/nothing', { headers: { accept: '*/*' } }),
    rawRequest(server, 'GET', '/api/v1/nothing', { headers: { accept: browserAccept } }),
  ]);
  expect([browser.status, browser.text.includes('href="/">')]).toEqual([404, true]);
  expect(browser.headers.get('content-security-policy')).toContain("default-src 'none'");
  for (const { status, key } of [client, api]) expect([status, key]).toEqual([404, 'not_found']);
});

test('axe-core finds no accessibility violation on the page at the path /', async () => {
  const browser = await startChromium();
  if (!browser) return;
  for (const [index, screen] of screens.entries()) {
    const { page, complaints, close } = await openPage(browser, screen, { locale: ['en', 'de'][index] ?? 'en' });
    await page.goto(`${server.baseUrl}/`);
    expect(await violationsOf(page)).toEqual([]);
    expect(await overflowOf(page)).toBe(0);
    expect(complaints).toEqual([]);
    await page.getByRole('link', { name: index === 0 ? 'Sign in' : 'Anmelden' }).click();
    await page.waitForURL(/\/sign-in/);
    await close();
  }
});
