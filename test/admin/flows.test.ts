import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { findChromium } from '../client/runtimes.ts';
import { createWorld, issueToken, type World } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServer, type TestServer } from '../helpers/server.ts';
import { startChromium } from '../pages/in-browser.ts';
import { type Person, personInBrowser, personOverHttp } from './person.ts';
import { givePassword } from './visitor.ts';

/** What an admin does in the pages, done in each of the ways that there are. */
const ways = ['over HTTP', ...(findChromium() ? ['in a browser', 'in a browser without JavaScript'] : [])];

let browser: Browser | undefined;
let server: TestServer;
beforeAll(async () => {
  browser = await startChromium();
  server = await startServer();
});
afterAll(async () => {
  await browser?.close();
  await server.close();
});

describe.each(ways)('%s', way => {
  let world: World;
  let person: Person;

  beforeEach(async () => {
    world = await createWorld(server, { name: 'Web app' });
    person =
      browser && way !== 'over HTTP'
        ? await personInBrowser(browser, server, way === 'in a browser')
        : personOverHttp(server);
    onTestFinished(() => person.leave());
    const { email, password } = await givePassword(server, world.ownerId);
    await person.goto('/admin');
    await person.fill('E-mail address', email);
    await person.fill('Password', password);
    await person.press('Sign in');
    expect(person.path()).toBe('/admin');
  });

  test('a person signs in, makes a token, uses it, revokes it and signs out', async () => {
    await person.goto('/admin/tokens');
    await person.fill('Name', 'Support bot');
    await person.choose('Web app', 'Write');
    await person.press('Create the token');
    const token = await person.readLabelled('The token');
    expect((await request(server, 'GET /api/v1/ideas', { token })).status).toBe(200);

    await person.follow('To all tokens');
    await person.follow('Revoke Support bot');
    await person.press('Revoke the token');
    expect(await person.read()).toContain('The token is revoked.');
    expect((await request(server, 'GET /api/v1/ideas', { token })).status).toBe(401);

    await person.press('Sign out');
    expect(await person.read()).toContain('You are signed out.');
    await person.goto('/admin/tokens');
    expect(person.path()).toBe('/admin/sign-in?next=%2Fadmin%2Ftokens');
  });

  test('a person sets a deadline, and the API answers 423 until it is moved', async () => {
    const { token } = await issueToken(server, world, 'write');
    const submit = async () =>
      (await request(server, 'POST /api/v1/ideas', { token, json: { title: 'Late', body: 'Or not' } })).key;
    await person.follow('Boards');
    await person.follow('Web app');
    await person.follow('Deadlines');
    await person.choose('Time zone', 'Europe/Berlin');
    await person.press('Show in this zone');
    await person.fill('Submissions close', '2020-06-01T18:00');
    await person.press('Save');
    expect(await person.read()).toContain('1 Jun 2020, 16:00 UTC');
    expect(await submit()).toBe('submissions_closed');
    await person.fill('Submissions close', '2099-06-01T18:00');
    await person.press('Save');
    expect(await submit()).toBeUndefined();
  });
});
