import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWorld, issueToken } from '../helpers/fixtures.ts';
import { rawRequest } from '../helpers/raw-request.ts';
import { request } from '../helpers/request.ts';
import { startServer, type TestServer } from '../helpers/server.ts';
import { openPage, startChromium } from './in-browser.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startServer({ environment: { BASE_URL: 'https://ideas.example.com' } });
});
afterAll(() => server.close());

test('the API reference has the same security headers as other pages, and a content security policy that forbids inline scripts and eval', async () => {
  const page = await request(server, 'GET /docs/');
  const script = await request(server, 'GET /docs/js/scalar.js');
  const { headers: ofPages } = await request(server, 'GET /admin/sign-in');
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

test('an invalid Host header does not appear in the content security policy of the API reference', async () => {
  for (const host of ["a.example 'unsafe-eval'", 'a.example;script-src *', '[::1]:3000']) {
    const { headers } = await rawRequest(server, 'GET', '/docs/', { headers: { host } });
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain('connect-src ideas.example.com/api/v1/;');
  }
});

test('the API reference works in a browser and can call the Agent API but not open the admin area', async () => {
  const browser = await startChromium();
  if (!browser) return;
  const { page, complaints, close } = await openPage(browser, { width: 1280, colorScheme: 'light' });
  try {
    await page.goto(`${server.baseUrl}/docs`);
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
    // The page must not open a window of its own origin, because its scripts could control that window.
    expect(await page.evaluate(`window.open('/admin') === null`)).toBe(true);
    // The code must run as a script element of the page, because the policy does not restrict code from the debugger.
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
  } finally {
    await close();
    await browser.close();
  }
});
