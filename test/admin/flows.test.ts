import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { findChromium } from '../client/runtimes.ts';
import { createWorld, issueToken, type World } from '../helpers/fixtures.ts';
import { runJobs } from '../helpers/jobs.ts';
import { startReceiverForTest } from '../helpers/receiver.ts';
import { request } from '../helpers/request.ts';
import { startServer } from '../helpers/server.ts';
import { verify } from '../helpers/webhooks.ts';
import { startChromium } from '../pages/in-browser.ts';
import { type Person, personInBrowser, personOverHttp } from './person.ts';
import { givePassword } from './visitor.ts';

/** Each test runs in a browser with JavaScript and in one without. Without a browser, each test runs over HTTP. */
const ways = findChromium() ? ['in a browser', 'in a browser without JavaScript'] : ['over HTTP'];

const browser = await startChromium();
const server = await startServer({ environment: { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' } });
afterAll(async () => {
  await server.close();
});

describe.each(ways)('the work of an owner %s', way => {
  let world: World;
  let person: Person;

  // The person signs in once and stays signed in during all tests.
  beforeAll(async () => {
    world = await createWorld(server, { name: 'Web app' });
    person =
      browser && way !== 'over HTTP'
        ? await personInBrowser(browser, server, way === 'in a browser')
        : personOverHttp(server);
    const { email, password } = await givePassword(server, world.ownerId);
    await person.goto('/admin');
    await person.fill('E-mail address', email);
    await person.fill('Password', password);
    await person.press('Sign in');
    expect(person.path()).toBe('/admin');
  });
  afterAll(() => person.leave());

  test("after a person approves a pending idea, the account's webhook receives the event `idea.created`", async () => {
    const receiver = await startReceiverForTest();
    await person.goto('/admin/webhooks');
    await person.fill('URL', receiver.url);
    await person.press('Create the webhook');
    const secret = await person.readLabelled('The secret');
    await server.sql('update boards set pre_moderation = true where id = $1', [world.boardId]);
    onTestFinished(async () => {
      await server.sql('update boards set pre_moderation = false where id = $1', [world.boardId]);
    });
    const { token } = await issueToken(server, world, 'write');
    const { body } = await request(server, 'POST /api/v1/ideas', {
      token,
      json: { title: 'Dark mode', body: 'For the nights' },
    });
    expect(body.moderation_state).toBe('pending');
    await person.goto('/admin');
    await person.follow('Queue');
    await person.press('Approve Dark mode');
    expect(await person.read()).toContain('Nothing awaits approval.');
    await runJobs(server);
    expect(receiver.received.map(one => verify(one, secret))).toMatchObject([
      { type: 'idea.created', data: { idea: { id: body.id, moderation_state: 'published' } } },
    ]);
    await person.goto('/admin/webhooks');
    await person.follow('Deliveries');
    expect(await person.read()).toContain('idea.created');
  });

  test('a person can search for a target idea, merge another idea into it and undo the merge', async () => {
    const { token } = await issueToken(server, world, 'write');
    const submit = async (title: string) => {
      const { body } = await request(server, 'POST /api/v1/ideas', { token, json: { title, body: 'Please' } });
      await request(server, `POST /api/v1/ideas/${body.id}/vote`, { token, json: { value: 'up' } });
      return body.id as number;
    };
    const [kept, folded] = [await submit('Dark theme'), await submit('Night mode')];
    const read = async (id: number) => (await request(server, `GET /api/v1/ideas/${id}`, { token })).body;
    await person.goto('/admin');
    await person.follow('Ideas');
    await person.follow('Night mode');
    await person.follow('Merge');
    await person.fill('Search titles', 'dark');
    await person.press('Search');
    await person.follow('Dark theme');
    expect(await person.read()).toContain('One person voted on both ideas');
    await person.press('Merge them');
    expect((await read(folded)).merged_into_id).toBe(kept);
    expect((await read(kept)).score).toBe(1);
    await person.goto(`/admin/ideas/${folded}`);
    await person.follow('Undo the merge');
    await person.press('Undo the merge');
    expect((await read(folded)).merged_into_id).toBeNull();
  });

  test("after a board's deadline for ideas has passed, the API refuses new ideas until an owner sets a later deadline", async () => {
    const { token } = await issueToken(server, world, 'write');
    const submit = async () =>
      (await request(server, 'POST /api/v1/ideas', { token, json: { title: 'Late', body: 'Or not' } })).key;
    await person.goto('/admin');
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

  test('a person can create an API token, use it, revoke it and sign out', async () => {
    await person.goto('/admin/tokens');
    await person.fill('Name', 'Support bot');
    await person.choose('Web app', 'Write');
    await person.press('Create the token');
    const token = await person.readLabelled('The token');
    expect((await request(server, 'GET /api/v1/ideas', { token })).status).toBe(200);

    await person.follow('All tokens');
    await person.follow('Revoke Support bot');
    await person.press('Revoke the token');
    expect(await person.read()).toContain('The token is revoked.');
    expect((await request(server, 'GET /api/v1/ideas', { token })).status).toBe(401);

    await person.press('Sign out');
    expect(await person.read()).toContain('You are signed out.');
    await person.goto('/admin/tokens');
    expect(person.path()).toBe('/sign-in?next=%2Fadmin%2Ftokens');
  });
});
