import { beforeEach, describe, expect, test } from 'vitest';
import { readAudit } from '../helpers/audit.ts';
import { createWorld, type World } from '../helpers/fixtures.ts';
import { startServerForFile, startServerForTest } from '../helpers/server.ts';
import { givePassword, hiddenFields, signedIn, Visitor } from './visitor.ts';

let world: World;
let visitor: Visitor;
let formToken: string;

const server = await startServerForFile({
  environment: { BASE_URL: 'https://ideas.example.com', RATE_LIMIT_SIGN_IN_IP: '10000' },
});
beforeEach(async () => {
  world = await createWorld(server);
  visitor = await signedIn(server, world.ownerId);
  formToken = hiddenFields((await visitor.get('/admin')).html, '/admin/sign-out').form_token ?? '';
  server.auditLines.length = 0;
});

const forms = [
  '/admin/sign-out',
  '/admin/sign-out-everywhere',
  '/admin/cancel-deletion',
  '/admin/tokens',
  '/admin/tokens/1/revoke',
];
const isSignedIn = async () => (await visitor.get('/admin')).status === 200;

describe('a form of a signed-in user', () => {
  test.each(forms)(
    'a form sent to %s is refused if its form_token is missing or belongs to another session',
    async action => {
      const other = await signedIn(server, (await createWorld(server)).ownerId);
      const ofOther = hiddenFields((await other.get('/admin')).html, '/admin/sign-out');
      const wrong = formToken.replace(/^./, first => (first === 'A' ? 'B' : 'A'));
      for (const fields of [{}, { form_token: '' }, { form_token: wrong }, { form_token: `${formToken}A` }, ofOther]) {
        const answer = await visitor.post(action, fields as Record<string, string>);
        expect([answer.status, answer.html.includes('no longer valid')]).toEqual([403, true]);
      }
      expect(await isSignedIn()).toBe(true);
      expect(await server.sql('select from api_tokens where account_id = $1', [world.accountId])).toEqual([]);
    },
  );

  test('each page has its own form_token, the server accepts the form_token of every page, and it refuses a changed form_token', async () => {
    const tokens = await Promise.all(
      [1, 2, 3].map(async () => hiddenFields((await visitor.get('/admin')).html, '/admin/sign-out').form_token ?? ''),
    );
    expect(new Set([formToken, ...tokens]).size).toBe(4);
    // These forms have no form_id. The server answers 409 for the missing form_id only after it has accepted the
    // form_token.
    const statusOf = async (token: string) => (await visitor.post('/admin/tokens', { form_token: token })).status;
    expect(await Promise.all([formToken, ...tokens].map(statusOf))).toEqual([409, 409, 409, 409]);
    const bytes = Buffer.from(formToken, 'base64url');
    const changed = [0, 31, 32, 63].map(at => bytes.with(at, (bytes[at] as number) ^ 1));
    // The first half of a form_token is random. The second half is the token of the session, combined with the first
    // half by XOR.
    const [zeros, half] = [Buffer.alloc(32), bytes.subarray(32)];
    const others = [...changed, Buffer.concat([zeros, half]), half, Buffer.alloc(64)];
    const encoded = others.map(one => Buffer.from(one).toString('base64url'));
    expect(await Promise.all(encoded.map(statusOf))).toEqual(others.map(() => 403));
  });

  test('a sign-out form from another site is refused even with the right form_token, and the refusal is in the audit log', async () => {
    // This server has its own audit log. A shared audit log would combine equal entries of several tests into one line.
    const own = await startServerForTest({ on: server, environment: { BASE_URL: server.config.BASE_URL } });
    const there = new Visitor(own);
    for (const [name, value] of visitor.cookies) there.cookies.set(name, value);
    const others = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: 'https://ideas.example.com.evil.example' },
      { origin: 'http://ideas.example.com' },
      { origin: 'https://ideas.example.com:8443' },
      { origin: '' },
      { origin: 'null', 'sec-fetch-site': 'same-origin' },
      { origin: 'https://ideas.example.com', 'sec-fetch-site': 'cross-site' },
      { origin: 'https://ideas.example.com', 'sec-fetch-site': 'same-site' },
    ];
    for (const headers of others) {
      const answer = await there.post('/admin/sign-out', { form_token: formToken }, { headers });
      expect([headers, answer.status]).toEqual([headers, 403]);
    }
    expect(await isSignedIn()).toBe(true);
    expect(readAudit(own.auditLines)).toMatchObject([{ event: 'form.refused', reason: 'origin' }]);
  });

  test('the server accepts an admin form only from the exact origin in BASE_URL, regardless of the Host header', async () => {
    const { host } = new URL(server.baseUrl);
    // A browser sends these headers during a DNS rebinding attack.
    for (const headers of [{ origin: server.baseUrl }, { origin: server.baseUrl, 'sec-fetch-site': 'same-origin' }]) {
      const answer = await visitor.post('/admin/sign-out', { form_token: formToken }, { headers });
      expect([host, answer.status]).toEqual([host, 403]);
      expect(answer.html).toContain('only from its pages at https://ideas.example.com.');
      const stranger = new Visitor(server);
      const owner = await givePassword(server, world.ownerId);
      const signIn = await stranger.post('/sign-in', { ...owner, next: '' }, { headers });
      expect([signIn.status, stranger.cookies.size]).toEqual([403, 0]);
    }
    visitor = await signedIn(server, world.ownerId);
    const fields = hiddenFields((await visitor.get('/admin')).html, '/admin/sign-out');
    const headers = { origin: 'https://ideas.example.com', 'sec-fetch-site': 'same-origin' };
    expect((await visitor.post('/admin/sign-out', fields, { headers })).status).toBe(303);
    expect(await isSignedIn()).toBe(false);
  });

  test('without BASE_URL, the server accepts the sign-in form at 127.0.0.1 and at localhost, but not from another origin', async () => {
    const own = await startServerForTest({ on: server });
    const person = await givePassword(server, world.ownerId);
    for (const baseUrl of [own.baseUrl, own.baseUrl.replace('127.0.0.1', 'localhost')]) {
      for (const headers of [{}, { 'sec-fetch-site': 'same-origin' }]) {
        const there = new Visitor({ baseUrl });
        const answer = await there.post('/sign-in', { ...person, next: '' }, { headers });
        expect([baseUrl, answer.status]).toEqual([baseUrl, 303]);
      }
      const elsewhere = new Visitor({ baseUrl });
      const headers = { origin: 'https://evil.example' };
      expect((await elsewhere.post('/sign-in', { ...person, next: '' }, { headers })).status).toBe(403);
      expect(elsewhere.cookies.size).toBe(0);
    }
  });

  test('a sign-out form that is sent as JSON, plain text or multipart/form-data gets 415', async () => {
    for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x']) {
      const answer = await visitor.post(
        '/admin/sign-out',
        { form_token: formToken },
        { headers: { 'content-type': type } },
      );
      expect(answer.status).toBe(415);
    }
  });

  test("if a user sends an admin form after their session ended, the server redirects to the sign-in page, which leads back to the form's page", async () => {
    await server.sql('delete from sessions where user_id = $1', [world.ownerId]);
    const answer = await visitor.post('/admin/tokens?account=x', { form_token: formToken, name: 'Bot' });
    expect([answer.status, answer.location]).toEqual([
      303,
      '/sign-in?next=%2Fadmin%2Ftokens%3Faccount%3Dx&notice=expired',
    ]);
    expect((await visitor.get(answer.location ?? '')).html).toContain('your form was not processed');
    // If the path of the form has no page, the browser goes to the home page after the sign-in.
    expect((await visitor.post('/admin/ideas/1/approve', {})).location).toBe('/sign-in?next=%2Fadmin&notice=expired');
  });
});

describe('a form of a visitor', () => {
  test.each(['/sign-in', '/admin/password-link', '/admin/password'])(
    'a form sent to %s is refused if it comes from another site or has no valid Origin header',
    async action => {
      const owner = await givePassword(server, world.ownerId);
      const stranger = new Visitor(server);
      for (const origin of ['https://evil.example', 'null', '']) {
        const answer = await stranger.post(action, { ...owner }, { headers: { origin } });
        expect([origin, answer.status, stranger.cookies.size]).toEqual([origin, 403, 0]);
      }
    },
  );
});

test('the home page of the admin area forbids framing and caching and contains no script', async () => {
  const { headers, html } = await visitor.get('/admin');
  expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  expect(headers.get('content-security-policy')).not.toContain('script-src');
  expect(headers.get('cache-control')).toBe('no-store');
  expect(html).not.toContain('<script');
});
