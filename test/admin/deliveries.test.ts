import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { listDeliveryPage } from '../../server/domain/webhooks/list-deliveries.ts';
import type { DeliveryState } from '../../server/entities/webhook.ts';
import { readAudit } from '../helpers/audit.ts';
import { createWorld } from '../helpers/fixtures.ts';
import { startReceiver } from '../helpers/receiver.ts';
import { startServer } from '../helpers/server.ts';
import { addWebhook, administer, deliveriesOf, eventually, verify } from '../helpers/webhooks.ts';
import { startTestWorker } from '../helpers/worker.ts';
import { hiddenFields, signedIn } from './visitor.ts';

let id: number;
let secret: string;
let log: string;

const server = await startServer({ environment: { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' } });
const worker = await startTestWorker(server);
const receiver = await startReceiver();
const world = await createWorld(server);
const visitor = await signedIn(server, world.ownerId);
beforeEach(async () => {
  // Deleting the endpoints also deletes pending deliveries. Otherwise the receiver could get these deliveries during
  // the next test.
  await server.sql('delete from webhook_endpoints where account_id = $1', [world.accountId]);
  ({ id, secret } = await addWebhook(server, world, { url: receiver.url }));
  log = `/admin/webhooks/${id}/deliveries`;
  receiver.respondWith(204);
  receiver.received.length = 0;
  server.auditLines.length = 0;
});
afterAll(async () => {
  await worker.stop();
  await receiver.close();
  await server.close();
});

/**
 * Creates one delivery in each of these states. Each delivery has its own event with this body, and `tries` failed
 * attempts with this response.
 */
const insert = (states: DeliveryState[], { body = '{}', tries = 0, response = '' } = {}) =>
  server.sql<{ id: number }>(
    `with s as (
      select state, n, gen_random_uuid() as event_id from unnest($2::text[]) with ordinality as s(state, n)
    ), e as (
      insert into events (id, account_id, type, body, occurred_at)
      select event_id, $1, 'idea.merged', $4, now() from s returning id
    ), d as (
      insert into webhook_deliveries (account_id, endpoint_id, event_id, lane, state, next_attempt_at, finished_at)
      select $1, $3, s.event_id, s.n % 8, s.state, case when s.state = 'pending' then now() + interval '1 day' end,
        case when s.state <> 'pending' then now() end
      from s order by s.n
      returning id
    ), a as (
      insert into webhook_attempts (account_id, delivery_id, attempted_at, duration_ms, status, response)
      select $1, d.id, now() + n * interval '1 second', n, 500, $6 from d, generate_series(1, $5) n
    )
    select id from d order by id`,
    [world.accountId, states, id, body, tries, response],
  );
const told = () => readAudit(server.auditLines).map(({ time: _, ...line }) => line);
const idsIn = (html: string) =>
  [...html.matchAll(new RegExp(`${log}/(\\d+)"><code>`, 'g'))].map(([, one]) => Number(one));
const nextIn = (html: string) => /rel="next" href="([^"]+)"/.exec(html)?.[1]?.replaceAll('&amp;', '&');

describe('a webhook delivery', () => {
  test("an owner can send a webhook delivery again from the delivery's page, and the repeated request has the same webhook-id and a valid signature", async () => {
    await visitor.submit(`/admin/webhooks/${id}`, `/admin/webhooks/${id}/test`);
    await receiver.waitForRequests(1);
    const [delivery] = await deliveriesOf(server, id);
    const path = `${log}/${delivery?.id}`;
    await eventually(async () => expect((await visitor.get(path)).html).toContain('Answered 204'));
    receiver.respondWith(response => response.writeHead(500).end('Not <b>now</b>'));
    const again = await visitor.submit(path, `${path}/redeliver`);
    expect([again.status, again.location]).toEqual([303, `${path}?notice=redelivered`]);
    const received = await receiver.waitForRequests(2);
    expect(received.map(one => one.headers['webhook-id'])).toEqual(Array(2).fill(`evt_${delivery?.event_id}`));
    for (const one of received) expect(verify(one, secret).type).toBe('webhook.test');
    await eventually(async () => expect((await visitor.get(path)).html).toContain('Answered 500'));
    const { html } = await visitor.get(path);
    expect(html).toContain('Not &lt;b&gt;now&lt;/b&gt;');
    expect(html.indexOf('Answered 500')).toBeLessThan(html.indexOf('Answered 204'));
    for (const text of ['Waiting', 'Next attempt', 'Try it now', 'Reload']) expect(html).toContain(text);
    expect(html).not.toContain(received[1]?.headers['webhook-signature']?.slice('v1,'.length));
    expect((await visitor.get(log)).html).toMatch(/500 \(\d+ ms\)/);
    expect(told().filter(({ event }) => event === 'webhook.redelivered')).toEqual([
      {
        event: 'webhook.redelivered',
        by: 'user',
        by_user_id: world.ownerId,
        account_id: world.accountId,
        webhook_id: id,
        deliveries: 1,
      },
    ]);
  });

  test('a webhook delivery cannot be sent again while the webhook is disabled', async () => {
    const [delivery] = await insert(['dead']);
    const path = `${log}/${delivery?.id}`;
    const { html } = await visitor.get(path);
    const form_token = /name="form_token" value="([^"]+)"/.exec(html)?.[1] ?? '';
    await server.sql(`update webhook_endpoints set disabled_at = now(), disabled_reason = 'x' where id = $1`, [id]);
    for (const page of [path, log]) expect((await visitor.get(page)).html).not.toMatch(/action="[^"]*\/redeliver"/);
    expect((await visitor.post(`${path}/redeliver`, { form_token })).status).toBe(409);
    const answer = await visitor.post(`${log}/redeliver`, { form_token, since: '2020-01-01T00:00' });
    expect([answer.status, answer.html.includes('enable it first')]).toEqual([409, true]);
    expect([await deliveriesOf(server, id), told()]).toMatchObject([[{ state: 'dead' }], []]);
  });

  test('the page of a webhook delivery escapes HTML in the request body and in the responses, and shortens a long body or response', async () => {
    const hostile = `"><img src=x onerror='alert(1)'>\u202e\u2066\u0007\u009b\ufeff`;
    const body = JSON.stringify({
      type: 'idea.merged',
      data: { title: hostile, body: `"<&>'\u{1f600}`.repeat(2_000) },
    });
    const response = (hostile + `<&"'>`.repeat(1_000)).slice(0, 4_096);
    const [delivery] = await insert(['dead'], { body, response, tries: 25 });
    const path = `${log}/${delivery?.id}`;
    const first = await visitor.get(path);
    expect(Buffer.byteLength(first.html)).toBeLessThan(38_000);
    for (const raw of ['<img', '\u202e', '\u2066', '\u0007', '\u009b', '\ufeff']) expect(first.html).not.toContain(raw);
    const shown = '&quot;&gt;&lt;img src=x onerror=&#39;alert(1)&#39;&gt;\\u202e\\u2066\\u0007\\u009b\\ufeff';
    // The page shows the hostile text eleven times: in the responses of ten attempts and in the request body.
    expect(first.html.split(shown)).toHaveLength(12);
    expect(first.html).toContain('&quot;title&quot;: &quot;\\&quot;&gt;&lt;img');
    expect(first.html).toContain(`<dd>${Buffer.byteLength(body)}</dd>`);
    expect(first.html.match(/Shortened\./g)).toHaveLength(11);
    const second = await visitor.get(nextIn(first.html) ?? '');
    const third = await visitor.get(nextIn(second.html) ?? '');
    expect([first, second, third].map(one => one.html.match(/Answered 500/g)?.length)).toEqual([10, 10, 5]);
    expect([nextIn(third.html), third.html.includes('First page')]).toEqual([undefined, true]);
    const [small] = await insert(['dead'], { body: '{"one":"a\\tb"}', response: 'Two\r\nlines', tries: 1 });
    const { html } = await visitor.get(`${log}/${small?.id}`);
    expect(html).toContain('>{\n  &quot;one&quot;: &quot;a\\tb&quot;\n}</pre>');
    expect(html).toContain('>Two\nlines</pre>');
    expect(html).not.toContain('Shortened');
  });
});

describe('the delivery log', () => {
  test('the delivery log of a webhook lists each of 60 deliveries once on three pages, newest first, even if a new delivery arrives meanwhile', async () => {
    const made = (await insert(Array(60).fill('delivered'), { tries: 2 })).map(one => one.id).reverse();
    const first = await visitor.get(log);
    expect(Buffer.byteLength(first.html)).toBeLessThan(38_000);
    const second = await visitor.get(nextIn(first.html) ?? '');
    // A delivery that arrives while a person reads the second page must not shift the third page.
    await insert(['delivered']);
    const third = await visitor.get(nextIn(second.html) ?? '');
    expect([first, second, third].flatMap(one => idsIn(one.html))).toEqual(made);
    expect([nextIn(third.html), third.html.includes('First page')]).toEqual([undefined, true]);
    expect(first.html).toContain('500 (2 ms)');
  });

  test("a webhook's delivery log can be filtered by state, and the server examines only a limited number of deliveries for each page", async () => {
    const states: DeliveryState[] = ['pending', 'delivered', 'dead'];
    const made = await insert(Array.from({ length: 90 }, (_, n) => states[n % 3] as DeliveryState));
    const chips = { pending: 'Waiting', delivered: 'Delivered', dead: 'Given up' };
    for (const state of states) {
      const expected = made.map(one => one.id).filter((_, n) => states[n % 3] === state);
      const first = await visitor.get(`${log}?state=${state}`);
      const second = await visitor.get(nextIn(first.html) ?? '');
      expect([...idsIn(first.html), ...idsIn(second.html)]).toEqual(expected.reverse());
      expect(first.html.match(new RegExp(`<span class="chip chip-\\w+">${chips[state]}`, 'g'))).toHaveLength(25);
      expect(first.html).toContain(`aria-current="true"><bdi>${chips[state]}`);
    }
    expect(idsIn((await visitor.get(`${log}?state=nonsense`)).html)).toHaveLength(25);

    const [oldest] = await insert(['delivered', ...Array<DeliveryState>(9).fill('dead')]);
    const page = (before: number | undefined) =>
      administer(server, admin =>
        listDeliveryPage(admin, world.accountId, id, { state: 'delivered', before, limit: 25, mostLookedAt: 9 }),
      );
    const empty = await page(undefined);
    expect(empty).toEqual({ rows: [], next: (oldest?.id ?? 0) + 1 });
    const following = await page(empty.next);
    expect(following.rows.map(one => one.id).slice(0, 2)).toEqual([oldest?.id, made.at(-2)?.id]);
    const end = await page(made[8]?.id);
    expect([end.rows.length, end.next]).toEqual([3, undefined]);
  });

  test('an owner can resend all permanently failed webhook deliveries since a chosen time, and the page shows the number of resent deliveries', async () => {
    const [old] = await insert(['dead']);
    await server.sql(`update webhook_deliveries set created_at = '2020-01-01' where id = $1`, [old?.id]);
    const [first, , third] = await insert(['dead', 'delivered', 'dead']);
    const again = await visitor.submit(log, `${log}/redeliver`, { since: '2020-01-01T00:01' });
    expect([again.status, again.location]).toEqual([303, `${log}?notice=redelivered&count=2`]);
    expect((await visitor.get(again.location ?? '')).html).toContain('2 deliveries are on their way again');
    const ids = async (which: (number | undefined)[]) =>
      (await deliveriesOf(server, id)).filter(one => which.includes(one.id)).map(one => `evt_${one.event_id}`);
    expect((await receiver.waitForRequests(2)).map(one => one.headers['webhook-id']).sort()).toEqual(
      (await ids([first?.id, third?.id])).sort(),
    );
    await eventually(async () =>
      expect((await deliveriesOf(server, id)).map(one => one.state)).toEqual(['dead', ...Array(3).fill('delivered')]),
    );
    const none = await visitor.submit(log, `${log}/redeliver`, { since: '2020-01-01T00:01' });
    expect((await visitor.get(none.location ?? '')).html).toContain('No delivery was given up since then');
    for (const since of ['', 'yesterday', '2020-13-01T00:00', '2020-01-01']) {
      const refused = await visitor.submit(log, `${log}/redeliver`, { since });
      expect([refused.status, refused.html.includes('Enter a day and a time')]).toEqual([422, true]);
    }
    expect(told()).toMatchObject([{ event: 'webhook.redelivered', webhook_id: id, deliveries: 2 }]);
  });

  test('the notice with the number of resent deliveries and the error message for an invalid time are in German for a browser that prefers German', async () => {
    const german = { headers: { 'accept-language': 'de' } };
    const shown = async (count: number) => (await visitor.get(`${log}?notice=redelivered&count=${count}`, german)).html;
    expect(await shown(1)).toContain('Eine Zustellung ist erneut unterwegs.');
    expect(await shown(2)).toContain('2 Zustellungen sind erneut unterwegs.');
    const fields = { ...hiddenFields((await visitor.get(log)).html, `${log}/redeliver`), since: 'gestern' };
    const refused = await visitor.post(`${log}/redeliver`, fields, german);
    expect(refused.status).toBe(422);
    expect(refused.html).toContain('Geben Sie einen Tag und eine Uhrzeit ein, zum Beispiel 2026-03-14T09:30.');
  });
});
