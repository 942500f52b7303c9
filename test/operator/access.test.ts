import { globSync, readFileSync } from 'node:fs';
import { METHODS } from 'node:http';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { enrol, secondFactorPage } from '../admin/authenticator.ts';
import { givePassword, hiddenFields, signedIn, Visitor } from '../admin/visitor.ts';
import { readAudit } from '../helpers/audit.ts';
import { testClock } from '../helpers/clock.ts';
import { createMember, createUser, createWorld, issueToken } from '../helpers/fixtures.ts';
import { rawRequest } from '../helpers/raw-request.ts';
import { collectRoutes } from '../helpers/registered-routes.ts';
import { startServer } from '../helpers/server.ts';
import { loadServerQueries } from '../helpers/server-queries.ts';
import { snapshot } from '../helpers/snapshot.ts';
import { makeOperator, signInOperator } from './operators.ts';

/** All HTTP methods except CONNECT, because a CONNECT request has no path. */
const methods = METHODS.filter(method => method !== 'CONNECT');

let routes: { method: string; path: string }[];

const collected = await collectRoutes(() => startServer({ clock: testClock('2026-03-02T09:00:00Z') }));
const server = collected.started;
const world = await createWorld(server);
const operator = await signInOperator(server);
const ofPanel = collected.routes.filter(({ url }) => /^\/operator(\/|$)/.test(url));
const pathOf = (url: string) => url.replace(':id', String(url.includes('/users/') ? world.ownerId : world.accountId));
routes = ofPanel.flatMap(({ method, url }) => [method].flat().map(one => ({ method: one, path: pathOf(url) })));
/** The registered paths of the operator's panel. The id of an account or a user replaces `:id`. */
const paths = [...new Set(routes.map(({ path }) => path))];
beforeEach(() => {
  server.auditLines.length = 0;
});
afterAll(() => server.close());

const cookieOf = (visitor: Visitor) => [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
const withoutIds = (text: string) => text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '');

describe("access to the operator's panel", () => {
  test("a signed-in user who is not an operator gets 404 for every path and method of the operator's panel, as for a missing path", async () => {
    expect(paths.length).toBeGreaterThan(10);
    const owner = await signedIn(server, world.ownerId);
    const headers = { cookie: cookieOf(owner), origin: server.baseUrl, 'sec-fetch-site': 'same-origin' };
    const missing = await rawRequest(server, 'GET', '/operator/nothing', { headers });
    expect([missing.status, missing.text.includes('Sign out')]).toEqual([404, false]);
    const before = await snapshot(server);
    for (const path of paths) {
      for (const method of methods) {
        const answer = await rawRequest(server, method, path, { headers });
        expect([method, path, answer.status, answer.headers.get('allow')]).toEqual([method, path, 404, null]);
        if (method === 'GET') expect(withoutIds(answer.text)).toBe(withoutIds(missing.text));
      }
    }
    expect(await snapshot(server)).toEqual(before);
    expect(readAudit(server.auditLines)).toMatchObject([{ event: 'sign_in.succeeded' }]);
  });

  test("an operator gets a page or a redirect for every path of the operator's panel, and no cache may store the answer", async () => {
    for (const { method, path } of routes) {
      if (method !== 'GET') continue;
      const answer = await operator.visitor.get(path);
      expect([path, [200, 303].includes(answer.status)]).toEqual([path, true]);
      expect([path, answer.headers.get('cache-control')]).toEqual([path, 'no-store']);
    }
  });

  test("every page of the operator's panel redirects a visitor without a session to the sign-in page, which leads back to the requested page", async () => {
    for (const path of paths) {
      const visitor = new Visitor(server);
      const answer = await visitor.get(path);
      expect([path, answer.status, answer.location]).toEqual([
        path,
        303,
        `/sign-in?${new URLSearchParams({ next: path })}`,
      ]);
    }
    const visitor = new Visitor(server);
    const signIn = async (next: string, code = '') => {
      const asked = await visitor.signIn(operator.email, operator.password, next);
      return visitor.submit(asked.location ?? '', '/sign-in/code', { code });
    };
    const [code, other] = operator.app.recoveryCodes;
    expect((await signIn('/operator/accounts?q=a', code)).location).toBe('/operator/accounts?q=a');
    expect((await signIn('/operators', other)).location).toBe('/admin');
  });

  test("every page and form of the operator's panel redirects an operator without two-factor sign-in to the page that turns it on", async () => {
    const id = await createUser(server, 'Otto');
    await makeOperator(server, id);
    const { email, password } = await givePassword(server, id);
    const visitor = new Visitor(server);
    await visitor.signIn(email, password);
    server.auditLines.length = 0;
    const before = await snapshot(server);
    const required = (path: string) => `${secondFactorPage}?${new URLSearchParams({ notice: 'required', next: path })}`;
    for (const { method, path } of routes.filter(one => ['GET', 'POST'].includes(one.method))) {
      const fields = { plan: 'business', current_password: password };
      const answer = method === 'GET' ? await visitor.get(path) : await visitor.post(path, fields);
      expect([method, path, answer.status, answer.location]).toEqual([method, path, 303, required(path)]);
    }
    expect(await snapshot(server)).toEqual(before);
    expect(server.auditLines).toEqual([]);
    await enrol(visitor, password, server.dependencies.clock);
    expect((await visitor.get('/operator')).status).toBe(200);
  });

  test("a token of the Agent API does not open the operator's panel, even if the token's issuer is an operator", async () => {
    const issuerId = await createMember(server, world.accountId, 'owner');
    await makeOperator(server, issuerId);
    const { token } = await issueToken(server, world, 'moderate', { issuerId });
    for (const path of paths) {
      expect([path, (await rawRequest(server, 'GET', path, { token })).status]).toEqual([path, 303]);
    }
  });

  test("a user who is no longer an operator gets 404 for the operator's panel from the next request on", async () => {
    const former = await signInOperator(server);
    expect((await former.visitor.get('/operator')).status).toBe(200);
    await server.sql('update users set is_operator = false where id = $1', [former.id]);
    expect((await former.visitor.get('/operator')).status).toBe(404);
  });

  test("the server refuses a form of the operator's panel without the session's form_token or from another website, and changes nothing", async () => {
    const path = `/operator/accounts/${world.accountId}/plan`;
    const before = await snapshot(server);
    const fields = { plan: 'business', current_password: operator.password };
    expect((await operator.visitor.post(path, fields)).status).toBe(403);
    const form = await operator.visitor.get(path);
    const foreign = { headers: { origin: 'https://evil.example.com' } };
    expect((await operator.visitor.post(path, { ...hiddenFields(form.html, path), ...fields }, foreign)).status).toBe(
      403,
    );
    expect(await snapshot(server)).toEqual(before);
  });

  test("the header of the admin area links to the operator's panel only for operators", async () => {
    expect((await operator.visitor.get('/admin')).html).toContain('<a class="small" href="/operator">Operator</a>');
    const owner = await signedIn(server, world.ownerId);
    expect((await owner.get('/admin')).html).not.toContain('/operator');
  });

  test("the server writes an audit entry when an operator views a page of the operator's panel, but not for a missing page", async () => {
    await operator.visitor.get('/operator');
    await operator.visitor.get(`/operator/accounts/${world.accountId}?notice=plan`);
    await operator.visitor.get(`/operator/users/${world.ownerId}`);
    await operator.visitor.get('/operator/users/999999999');
    const by = { event: 'operator.viewed', user_id: operator.id };
    expect(readAudit(server.auditLines)).toMatchObject([
      { ...by, page: '/operator' },
      { ...by, page: '/operator/accounts/:id', id: world.accountId },
      { ...by, page: '/operator/users/:id', id: world.ownerId },
    ]);
  });
});

describe('the flag of operators', () => {
  test('no named SQL statement sets the flag is_operator, and only three known source files declare this flag or copy its value', async () => {
    const writing = (await loadServerQueries()).filter(({ text }) =>
      /(insert into|update) "?users"?[\s\S]*is_operator/i.test(text),
    );
    expect(writing.map(({ name }) => name)).toEqual([]);
    const naming = globSync('server/**/*.{ts,eta}').filter(file =>
      /isOperator:|isOperator =|is_operator:|is_operator =/.test(readFileSync(file, 'utf8')),
    );
    // The entity declares the column is_operator. The other two files only copy a user's flag into the data of a page.
    expect(naming.sort()).toEqual([
      'server/entities/user.ts',
      'server/operator/users/user-routes.ts',
      'server/pages/shell/area.ts',
    ]);
  });

  test('the profile form and the form with which an operator deletes a user ignore the field is_operator', async () => {
    const userId = await createUser(server);
    const visitor = await signedIn(server, userId);
    const flag = { is_operator: 'true', isOperator: 'true' };
    expect((await visitor.submit('/admin/profile', '/admin/profile', { name: 'Mallory', ...flag })).status).toBe(303);
    const path = `/operator/users/${userId}/delete`;
    await operator.visitor.submit(path, path, { current_password: operator.password, ...flag });
    expect(
      await server.sql(
        'select name, is_operator, deletion_requested_at is not null as is_requested from users where id = $1',
        [userId],
      ),
    ).toEqual([{ name: 'Mallory', is_operator: false, is_requested: true }]);
  });
});
