import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { queryOfText } from '../../server/database/query.ts';
import { sendTestEvent } from '../../server/domain/webhooks/queue-deliveries.ts';
import { readAudit } from '../helpers/audit.ts';
import { createMember, createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { startReceiver } from '../helpers/receiver.ts';
import { request } from '../helpers/request.ts';
import { startServer } from '../helpers/server.ts';
import { addWebhook, administer, deliveriesOf, eventually, testSecretBox, verify } from '../helpers/webhooks.ts';
import { startTestWorker } from '../helpers/worker.ts';
import { hiddenFields, signedIn, type Visitor } from './visitor.ts';

let world: World;
let visitor: Visitor;
let formToken: string;

const server = await startServer({ environment: { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' } });
const worker = await startTestWorker(server);
const receiver = await startReceiver(response => response.writeHead(200).end('Thank you'));
beforeEach(async () => {
  world = await createWorld(server);
  visitor = await signedIn(server, world.ownerId);
  formToken = hiddenFields((await visitor.get('/admin')).html, '/admin/sign-out').form_token ?? '';
  server.auditLines.length = 0;
  receiver.received.length = 0;
});
afterAll(async () => {
  await worker.stop();
  await receiver.close();
  await server.close();
});

const list = '/admin/webhooks';
const create = (fields: Record<string, string>) => visitor.submit(list, list, fields);
const secretIn = (html: string) => /whsec_[A-Za-z0-9+/]{43}=/.exec(html)?.[0] ?? '';
const idIn = (html: string) => Number(/\/admin\/webhooks\/(\d+)\/test/.exec(html)?.[1]);
const webhooks = () =>
  server.sql<{ id: number; url: string; description: string; event_types: string[]; board_id: number | null }>(
    'select id, url, description, event_types, board_id from webhook_endpoints where account_id = $1 order by id',
    [world.accountId],
  );
const told = () => readAudit(server.auditLines).map(({ time: _, ...line }) => line);
const byOwner = () => ({ by: 'user', by_user_id: world.ownerId, account_id: world.accountId });
const sendTest = (id: number) => visitor.submit(`${list}/${id}`, `${list}/${id}/test`);

describe('a webhook', () => {
  test('the secret of a new webhook is shown once, and a test event is signed with that secret and appears in the delivery log', async () => {
    const url = `${receiver.url}/ideas?key=a-secret-path`;
    const made = await create({ url, description: ' For data ', board: world.boardSlug, 'event_idea.created': '1' });
    expect([made.status, made.headers.get('cache-control')]).toEqual([201, 'no-store']);
    const [webhook] = await webhooks();
    expect(webhook).toMatchObject({
      url,
      description: 'For data',
      board_id: world.boardId,
      event_types: ['idea.created'],
    });
    const id = idIn(made.html);
    const secret = secretIn(made.html);
    const path = `${list}/${id}`;

    const sent = await visitor.post(`${path}/test`, hiddenFields(made.html, `${path}/test`));
    const [delivery] = await deliveriesOf(server, id);
    const log = `${path}/deliveries/${delivery?.id}`;
    expect([sent.status, sent.location]).toEqual([303, `${log}?notice=tested`]);
    expect((await visitor.get(sent.location ?? '')).html).toContain('The test event is on its way');
    const [received] = await receiver.waitForRequests(1);
    expect(verify(received as never, secret)).toMatchObject({ type: 'webhook.test', data: { endpoint_id: id } });
    await eventually(async () => expect((await visitor.get(log)).html).toContain('Thank you'));
    const { html } = await visitor.get(log);
    for (const text of ['Answered 200', `evt_${delivery?.event_id}`, `&quot;endpoint_id&quot;: ${id}`, url]) {
      expect(html).toContain(text);
    }
    // No page or log shows the secret or a signature.
    const signature = received?.headers['webhook-signature']?.slice('v1,'.length) ?? '';
    const pages = await Promise.all([list, path, log, `${path}/deliveries`].map(one => visitor.get(one)));
    for (const page of pages) expect(page.html).not.toMatch(/whsec_/);
    const shown = pages.map(page => page.html).join('') + server.logLines.join('') + server.auditLines.join('');
    for (const text of [signature, secret.slice(6)]) expect(shown).not.toContain(text);
    expect(told()).toEqual([
      {
        event: 'webhook.created',
        ...byOwner(),
        webhook_id: id,
        board_id: world.boardId,
        origin: new URL(url).origin,
      },
      { event: 'webhook.tested', ...byOwner(), webhook_id: id },
    ]);
  });

  test('an invalid webhook is refused with an explanation, and the form still shows the entered values', async () => {
    const cases: [Record<string, string>, string][] = [
      [{ url: '' }, 'is not a URL'],
      [{ url: 'ftp://example.com' }, 'must begin with https:// or http://'],
      [{ url: 'https://me:word@example.com' }, 'must not contain a user name'],
      [{ url: 'http://10.0.0.1/hooks' }, 'an address on the public internet'],
      [{ url: 'http://[::ffff:169.254.169.254]/' }, 'an address on the public internet'],
      [{ url: `https://example.com/${'x'.repeat(2000)}` }, 'at most 2000 characters'],
      [{ description: 'x'.repeat(201) }, 'at most 200 characters'],
    ];
    const entered = { url: 'https://hooks.example.com/"a"', description: 'For "data"', 'event_idea.voted': '1' };
    for (const [given, why] of cases) {
      const answer = await create({ ...entered, board: world.boardSlug, ...given });
      expect([given, answer.status, answer.html.includes(why)]).toEqual([given, 422, true]);
      const kept = given.url === undefined ? 'https://hooks.example.com/&quot;a&quot;' : 'For &quot;data&quot;';
      expect(answer.html).toContain(`value="${kept}"`);
      expect(answer.html).toMatch(/name="event_idea\.voted" value="1" checked>/);
      expect(answer.html).toContain(`<option value="${world.boardSlug}" selected>`);
    }
    const other = await createWorld(server);
    for (const board of [other.boardSlug, 'gone', 'a\0b']) {
      const answer = await create({ ...entered, board });
      expect([answer.status, answer.html.includes('Choose a board from the list')]).toEqual([422, true]);
    }
    expect([await webhooks(), server.auditLines]).toEqual([[], []]);
  });

  test('an owner can change a webhook with a form, and the stored URL keeps its spelling if the owner does not change the URL', async () => {
    const entered = 'HTTPS://Hooks.Example.com/é';
    const { id } = await addWebhook(server, world, { url: entered, eventTypes: ['idea.created'] });
    const path = `${list}/${id}`;
    const { html } = await visitor.get(path);
    const url = 'https://hooks.example.com/%C3%A9';
    expect(html).toContain(`value="${url}"`);
    expect(html).toMatch(/name="event_idea\.created" value="1" checked>/);
    const saved = await visitor.submit(path, path, { url, description: 'New', 'event_idea.merged': '1' });
    expect([saved.status, saved.location]).toEqual([303, `${path}?notice=saved`]);
    expect(await webhooks()).toMatchObject([{ url: entered, description: 'New', event_types: ['idea.merged'] }]);
    const refused = await visitor.submit(path, path, { url: 'http://192.168.1.1/', description: 'Other' });
    expect([refused.status, refused.html.includes('value="Other"')]).toEqual([422, true]);
    expect(await visitor.submit(path, path, { url: receiver.url, description: 'New' })).toMatchObject({ status: 303 });
    expect(await webhooks()).toMatchObject([{ url: receiver.url, description: 'New', event_types: [] }]);
    expect(told().map(({ changed }) => changed)).toEqual([
      ['description', 'event_types'],
      ['url', 'event_types'],
    ]);
  });

  test("after a rotation, the server also signs a webhook's deliveries with the old secret for the chosen number of hours, unless the number is 0", async () => {
    const { id, secret: first } = await addWebhook(server, world, { url: receiver.url });
    const path = `${list}/${id}/rotate-secret`;
    const rotate = (hours: string) => visitor.submit(path, path, { overlap_hours: hours });
    for (const hours of ['', '-1', '1.5', '721', 'x']) {
      const refused = await rotate(hours);
      expect([hours, refused.status, refused.html.includes('from 0 to 720')]).toEqual([hours, 422, true]);
    }
    const rotated = await rotate('48');
    const second = secretIn(rotated.html);
    expect([rotated.status, rotated.html.includes('The previous secret still signs')]).toEqual([200, true]);
    expect((await visitor.get(path)).html).toContain('A rotation is in progress');
    await sendTest(id);
    const [during] = await receiver.waitForRequests(1);
    expect(verify(during as never, second)).toEqual(verify(during as never, first));
    const third = secretIn((await rotate('0')).html);
    await sendTest(id);
    const [, after] = await receiver.waitForRequests(2);
    expect(verify(after as never, third).type).toBe('webhook.test');
    for (const old of [first, second]) expect(() => verify(after as never, old)).toThrow('No matching signature');
    expect(told().filter(({ event }) => event === 'webhook.secret_rotated')).toEqual(
      [48, 0].map(overlap_hours => ({
        event: 'webhook.secret_rotated',
        ...byOwner(),
        webhook_id: id,
        overlap_hours,
      })),
    );
  });

  test('after an owner disables a webhook and confirms this, the webhook gets no events until the owner enables it again', async () => {
    const { id } = await addWebhook(server, world, { url: receiver.url });
    const path = `${list}/${id}`;
    const before = await visitor.get(path);
    expect((await visitor.get(`${path}/disable`)).html).toContain('The webhook gets no more events');
    const answer = await visitor.submit(`${path}/disable`, `${path}/disable`);
    expect([answer.status, answer.location]).toEqual([303, `${path}?notice=disabled`]);
    const { html } = await visitor.get(path);
    expect(html).toContain('Disabled by an administrator');
    expect(html).not.toContain(`action="${path}/test"`);
    // The page with this form was opened before the webhook was disabled. The server must refuse the form.
    const refused = await visitor.post(`${path}/test`, hiddenFields(before.html, `${path}/test`));
    expect([refused.status, refused.html.includes('enable it first')]).toEqual([409, true]);

    const { token } = await issueToken(server, world, 'moderate');
    const ideaId = await insertIdea(server, world);
    const move = (status: string) =>
      request(server, `POST /api/v1/ideas/${ideaId}/status`, { token, json: { status } });
    expect((await move('planned')).status).toBe(200);
    expect(await deliveriesOf(server, id)).toEqual([]);
    expect((await visitor.submit(path, `${path}/enable`)).location).toBe(`${path}?notice=enabled`);
    await move('done');
    expect((await receiver.waitForRequests(1)).map(one => JSON.parse(one.body).data.idea.status_key)).toEqual(['done']);
    expect(told()).toEqual([
      { event: 'webhook.disabled', ...byOwner(), webhook_id: id, reason: 'administrator' },
      { event: 'webhook.enabled', ...byOwner(), webhook_id: id },
    ]);
  });

  test('after an owner confirms the deletion of a webhook, the webhook and its delivery log are deleted', async () => {
    const { id } = await addWebhook(server, world, { url: 'https://hooks.example.com/' });
    await administer(server, admin => sendTestEvent(admin, world.accountId, id));
    const path = `${list}/${id}/delete`;
    expect((await visitor.get(path)).html).toContain('its delivery log is deleted');
    expect((await visitor.submit(path, path)).location).toBe(`${list}?notice=deleted`);
    expect([await webhooks(), await deliveriesOf(server, id)]).toEqual([[], []]);
    expect((await visitor.get(`${list}/${id}`)).status).toBe(404);
    expect(told()).toEqual([{ event: 'webhook.deleted', ...byOwner(), webhook_id: id }]);
  });
});

describe('the list of webhooks', () => {
  test('a list of 30 webhooks has two pages, and shows "1000 or more" for a webhook with 1,001 waiting deliveries', async () => {
    await server.sql(
      `insert into webhook_endpoints (account_id, url, description, event_types, secret, disabled_at, disabled_reason)
      select $1, 'https://hooks.example.com/' || repeat('x', 1900) || n, repeat('W', 200),
        '{idea.created,idea.status_changed,idea.merged,idea.unmerged,idea.voted,comment.created}', $2, now(), repeat('W', 400)
      from generate_series(1, 30) n`,
      [world.accountId, testSecretBox.seal('whsec_', 'webhook secret')],
    );
    const newest = (await webhooks()).at(-1)?.id;
    await server.sql(
      `with e as (
        insert into events (account_id, type, body, occurred_at)
        select $1, 'idea.voted', '{}', now() from generate_series(1, 1001) returning id
      )
      insert into webhook_deliveries (account_id, endpoint_id, event_id, next_attempt_at)
      select $1, $2, id, now() + interval '1 day' from e`,
      [world.accountId, newest],
    );
    const first = await visitor.get(list);
    expect(Buffer.byteLength(first.html)).toBeLessThan(38_000);
    expect(first.html.match(/<li class="card/g)).toHaveLength(20);
    expect(first.html.match(/<dd>1000 or more<\/dd>/g)).toHaveLength(1);
    const next = /rel="next" href="([^"]+)"/.exec(first.html)?.[1] ?? '';
    const second = await visitor.get(next);
    expect(second.html.match(/<li class="card/g)).toHaveLength(10);
    expect(second.html).toContain('First page');
    // An account has at most 100 webhooks, because each event can cause a delivery to every webhook.
    await server.sql(
      `insert into webhook_endpoints (account_id, url, secret) select $1, 'https://hooks.example.com', '' from generate_series(1, 70)`,
      [world.accountId],
    );
    const refused = await create({ url: 'https://hooks.example.com' });
    expect([refused.status, refused.html.includes('has 100 webhooks already')]).toEqual([409, true]);
    expect(second.html).not.toContain('rel="next"');
  });
});

describe('the pages of webhooks', () => {
  const pages = (id: number, deliveryId: number) => ({
    get: ['', '/rotate-secret', '/disable', '/delete', '/deliveries', `/deliveries/${deliveryId}`].map(
      rest => `${list}/${id}${rest}`,
    ),
    post: [
      ...['', '/test', '/rotate-secret', '/disable', '/enable', '/delete', '/deliveries/redeliver'],
      `/deliveries/${deliveryId}/redeliver`,
    ].map(rest => `${list}/${id}${rest}`),
  });
  const fields = { url: 'https://changed.example.com/', overlap_hours: '0', since: '2020-01-01T00:00' };

  const giveUp = queryOfText<never>(
    `update webhook_deliveries set state = 'dead', next_attempt_at = null, finished_at = now() where id = $1`,
    1,
  );
  async function withDelivery(of: World) {
    const { id } = await addWebhook(server, of, { url: 'https://hooks.example.com/' });
    const deliveryId = await administer(server, async admin => {
      const made = await sendTestEvent(admin, of.accountId, id);
      // Marks the delivery as given up, so that the worker does not send it.
      await admin.query(giveUp, [made]);
      return made;
    });
    return { id, deliveryId };
  }
  const everything = (of: World) =>
    server.sql(
      `select w.*, (select json_agg(d.* order by d.id) from webhook_deliveries d where d.endpoint_id = w.id) as deliveries
      from webhook_endpoints w where w.account_id = $1`,
      [of.accountId],
    );

  test.each(['moderator', 'member'] as const)(
    'a person with the role %s cannot open the admin pages of webhooks or send the forms on these pages',
    async role => {
      const { id, deliveryId } = await withDelivery(world);
      const before = await everything(world);
      const other = await signedIn(server, await createMember(server, world.accountId, role));
      const { html } = await other.get('/admin');
      expect(html).not.toContain(list);
      const { form_token = '' } = hiddenFields(html, '/admin/sign-out');
      const { get, post } = pages(id, deliveryId);
      for (const path of [list, ...get]) expect([path, (await other.get(path)).status]).toEqual([path, 403]);
      for (const path of [list, ...post]) {
        expect([path, (await other.post(path, { form_token, ...fields })).status]).toEqual([path, 403]);
      }
      expect(await everything(world)).toEqual(before);
    },
  );

  test('an owner gets 404 for the webhooks of another account and cannot change them', async () => {
    const other = await createWorld(server);
    const { id, deliveryId } = await withDelivery(other);
    const before = await everything(other);
    const own = await addWebhook(server, world, { url: 'https://hooks.example.com/' });
    const { get, post } = pages(id, deliveryId);
    const mixed = `${list}/${own.id}/deliveries/${deliveryId}`;
    for (const path of [...get, mixed, `${list}/x`, `${list}/${own.id}/deliveries/0`]) {
      expect([path, (await visitor.get(path)).status]).toEqual([path, 404]);
    }
    for (const path of [...post, `${mixed}/redeliver`]) {
      const answer = await visitor.post(path, { form_token: formToken, ...fields });
      expect([path, answer.status]).toEqual([path, 404]);
    }
    expect(await everything(other)).toEqual(before);
    expect(server.auditLines).toEqual([]);
  });

  test('an admin can open the pages of webhooks, and these pages escape HTML in every name', async () => {
    const hostile = `"><img src=x onerror='alert(1)'>\u202e`;
    const { id, deliveryId } = await withDelivery(world);
    await server.sql('update accounts a set name = $2 where id = $1', [world.accountId, hostile]);
    await server.sql('update boards b set name = $2 where id = $1', [world.boardId, hostile]);
    const admin = await signedIn(server, await createMember(server, world.accountId, 'admin', hostile));
    await server.sql(
      `update webhook_endpoints w
      set url = 'https://example.com/' || $2, description = $2, disabled_at = now(), disabled_reason = $2, board_id = $3
      where id = $1`,
      [id, hostile, world.boardId],
    );
    for (const path of [list, ...pages(id, deliveryId).get]) {
      const { html, status } = await admin.get(path);
      expect([path, status, html.includes('<img'), html.includes('\u202e')]).toEqual([path, 200, false, false]);
      expect(html).toContain('https://example.com/%22%3E%3Cimg%20src=x');
    }
    const refused = await create({ url: hostile, description: hostile });
    expect([refused.status, refused.html.includes('<img')]).toEqual([422, false]);
  });
});
