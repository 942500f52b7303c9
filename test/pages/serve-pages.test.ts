import { describe, expect, test } from 'vitest';
import { iconPath, stylesheetPath } from '../../server/pages/shell/assets.ts';
import { testClock } from '../helpers/clock.ts';
import { createWorld, insertIdea } from '../helpers/fixtures.ts';
import { type RequestOptions, request } from '../helpers/request.ts';
import { startServerForFile, startServerForTest, type TestServer } from '../helpers/server.ts';
import { logStatements } from '../helpers/statement-log.ts';

const server = await startServerForFile({ environment: { BASE_URL: 'https://ideas.example.com' } });
const world = await createWorld(server, { isPublic: true });
const ideaId = await insertIdea(server, world);

const boardPath = () => `/b/${world.boardSlug}`;

const strict = {
  'content-security-policy':
    "default-src 'none';style-src 'self';img-src 'self';form-action 'self';base-uri 'none';frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

test('the responses for public pages, error pages and assets have strict security headers and a request id, and set no cookie', async () => {
  const lines = [
    `GET ${boardPath()}`,
    `GET ${boardPath()}/ideas/${ideaId}`,
    `GET ${boardPath()}?sort=worst`,
    `DELETE ${boardPath()}`,
    'GET /b/none',
    'GET /b',
    'GET /b/none/of/these',
    'GET /unsubscribe?token=x',
    `GET ${stylesheetPath}`,
    'GET /assets/none.css',
    'GET /b/%zz',
  ];
  for (const line of lines) {
    const { headers } = await request(server, line);
    expect([line, Object.fromEntries(headers)]).toEqual([
      line,
      expect.objectContaining({ ...strict, 'referrer-policy': expect.any(String) }),
    ]);
    expect(headers.get('x-request-id')).toBeTruthy();
    expect(headers.get('set-cookie')).toBeNull();
    expect(headers.get('x-powered-by')).toBeNull();
  }
  const { headers } = await request(server, `GET ${boardPath()}`);
  expect(Object.fromEntries(headers)).toMatchObject(strict);
});

test('pages and API responses have the header Strict-Transport-Security only if BASE_URL starts with https', async () => {
  const plain = await startServerForTest({ environment: { BASE_URL: 'http://localhost:3000' } });
  const paths = [boardPath(), '/b/none', '/docs/', '/health', '/api/v1/board', '/api/v1/openapi.json', '/none', '/%zz'];
  for (const path of paths) {
    const { headers } = await request(server, `GET ${path}`);
    expect([path, headers.get('strict-transport-security')]).toEqual([path, 'max-age=31536000']);
    expect((await request(plain, `GET ${path}`)).headers.get('strict-transport-security')).toBeNull();
  }
});

test('API responses have no Cross-Origin-Opener-Policy header, unlike HTML pages', async () => {
  for (const path of ['/health', '/api/v1/board', '/api/v1/openapi.json']) {
    expect((await request(server, `GET ${path}`)).headers.get('cross-origin-opener-policy')).toBeNull();
  }
});

test('browsers may cache the style sheet and the icon for a year, because their file names change with their contents', async () => {
  for (const [path, type] of [
    [stylesheetPath, 'text/css; charset=utf-8'],
    [iconPath, 'image/svg+xml'],
  ]) {
    const { status, headers } = await request(server, `GET ${path}`);
    expect(status).toBe(200);
    expect(path).toMatch(/^\/assets\/[0-9a-f]{16}\.\w+$/);
    expect(headers.get('content-type')).toBe(type);
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  }
  const page = await request(server, `GET ${boardPath()}`);
  expect(page.text).toContain(`<link rel="stylesheet" href="${stylesheetPath}">`);
  expect((await request(server, 'GET /assets/0000000000000000.css')).status).toBe(404);
});

describe('error pages', () => {
  async function errorPage(at: TestServer, line: string, options?: RequestOptions) {
    const answer = await request(at, line, options);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.text).toContain('<html lang="en">');
    expect(answer.text).toContain('<meta name="robots" content="noindex">');
    return answer;
  }

  test.each([
    ['GET /b', 404],
    ['GET /b/', 404],
    ['GET /b/none', 404],
    ['GET /admin/no/such/page', 404],
    ['GET /assets/x', 404],
    ['POST /b/none/of/these', 404],
    ['GET /b/%zz', 404],
    [`GET /b/${'x'.repeat(200)}/ideas/1`, 404],
  ])('the page request %s gets an HTML error page with the status %i', async (line, status) => {
    expect((await errorPage(server, line)).status).toBe(status);
  });

  test('a page request with a NUL character in its path or query gets a 404 or 400 error page, and the server logs no error', async () => {
    server.logLines.length = 0;
    const session = { headers: { cookie: '__Host-idea_board_session=x; __Host-idea_board_embedded=x' } };
    for (const [path, expected] of [
      ['/b/%00', 404],
      ['/b/%00/embed', 404],
      [`${boardPath()}?q=%00`, 400],
      [`${boardPath()}/embed?token=x&account=%00`, 400],
    ] as const) {
      for (const options of [{}, session]) {
        const { status } = await errorPage(server, `GET ${path}`, options);
        expect([path, status]).toEqual([path, expected]);
      }
    }
    expect(server.logLines.filter(line => line.includes('a request failed'))).toEqual([]);
  });

  test('a page request with an unsupported method gets a 405 error page with an Allow header', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      for (const path of [boardPath(), `${boardPath()}/ideas/${ideaId}`, stylesheetPath]) {
        const { status, headers } = await errorPage(server, `${method} ${path}`);
        expect([method, path, status, headers.get('allow')]).toEqual([method, path, 405, 'GET, HEAD']);
      }
    }
  });

  test('a page request above the rate limit of its IP address gets a 429 error page', async () => {
    const limited = await startServerForTest({ clock: testClock(), environment: { RATE_LIMIT_IP: '2' } });
    for (let time = 0; time < 2; time++) await request(limited, 'GET /b/none');
    const { status, headers, text } = await errorPage(limited, 'GET /b/none');
    expect([status, text.includes('<h1>Too many requests</h1>')]).toEqual([429, true]);
    expect(headers.get('retry-after')).toMatch(/^\d+$/);
    expect(Object.fromEntries(headers)).toMatchObject(strict);
  });

  test("a request for a board's page above the rate limit of its IP address gets 429, and the server reads no ideas", async () => {
    const limited = await startServerForTest({ clock: testClock(), environment: { RATE_LIMIT_IP: '1' } });
    const { boardSlug } = await createWorld(limited, { isPublic: true });
    await request(limited, 'GET /b/none');
    for (const path of ['', '/roadmap', '/ideas/1', '/feed.atom', '/ideas/1?cursor=wrong']) {
      const { result, statements } = await logStatements(() => request(limited, `GET /b/${boardSlug}${path}`));
      const reads = statements.filter(({ text }) => /from "(ideas|comments)"/.test(text));
      expect([path, result.status, reads]).toEqual([path, 429, []]);
    }
  });

  test('an internal error gets a 500 error page with the request id and without details of the error', async () => {
    const broken = await startServerForTest();
    const { boardSlug } = await createWorld(broken, { isPublic: true });
    await broken.sql('drop table tags cascade');
    const { status, headers, text } = await errorPage(broken, `GET /b/${boardSlug}?q=private-words`);
    expect(status).toBe(500);
    expect(text).toContain(`<code>${headers.get('x-request-id')}</code>`);
    expect(text).not.toMatch(/relation|tags|select|postgres|node_modules|\.ts|\.eta|private-words/i);
    const failure = broken.logLines.find(line => line.includes('relation \\"tags\\" does not exist'));
    expect(failure).toContain(headers.get('x-request-id'));
  });

  test('a page request gets a 503 error page with Retry-After while the database is unavailable', async () => {
    const cut = await startServerForTest();
    await server.sql(`drop database ${new URL(cut.url).pathname.slice(1)} with (force)`);
    const { status, headers, text } = await errorPage(cut, 'GET /b/any');
    expect([status, headers.get('retry-after')]).toEqual([503, '5']);
    expect(text).toContain('<h1>Back in a moment</h1>');
  });
});
