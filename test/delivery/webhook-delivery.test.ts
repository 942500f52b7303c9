import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { z } from 'zod';
import { type EventType, events, TestEvent } from '../../contract/events.ts';
import { queryOfText } from '../../server/database/query.ts';
import { buildSecretBox } from '../../server/domain/secret-box.ts';
import { setIdeaStatus } from '../../server/domain/statuses/set-idea-status.ts';
import {
  disableWebhook,
  enableWebhook,
  requireWebhook,
  rotateWebhookSecret,
} from '../../server/domain/webhooks/edit-webhook.ts';
import { listDeliveries, readDelivery } from '../../server/domain/webhooks/list-deliveries.ts';
import { redeliver, redeliverDeadSince, sendTestEvent } from '../../server/domain/webhooks/queue-deliveries.ts';
import { buildAddressGuard } from '../../server/outgoing/address-guard.ts';
import { buildOutgoingRequests } from '../../server/outgoing/outgoing-request.ts';
import { readAudit } from '../helpers/audit.ts';
import { connect } from '../helpers/database.ts';
import { createBoard, createMember, createTag, createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { waitForLockWaits } from '../helpers/lock-waits.ts';
import {
  type Behavior,
  closeEarly,
  hang,
  type Received,
  redirectTo,
  startReceiverForTest,
} from '../helpers/receiver.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import {
  addWebhook,
  administer,
  deliveriesOf,
  eventually,
  fastForward,
  type TestWebhook,
  testSecretBox,
  verify,
} from '../helpers/webhooks.ts';
import { startWorkerForTest, workerConfig } from '../helpers/worker.ts';

const server = await startServerForFile();

describe('a webhook delivery', () => {
  test('the webhook deliveries of created, tagged, voted, commented and merged ideas and of new statuses are signed, match their schemas, and contain the ideas of the API', async () => {
    const receiver = await startReceiverForTest();
    const world = await createWorld(server);
    const { id, secret } = await addWebhook(server, world, { url: `${receiver.url}/hooks?for=us` });
    const { token } = await issueToken(server, world, 'moderate');
    const ask = async (line: string, json?: unknown) => {
      const answer = await request(server, line, { token, json });
      expect(answer.status, `${line} ${answer.text}`).toBeLessThan(300);
      return answer.body;
    };
    const tagId = await createTag(server, world.accountId, world.boardId);
    const targetId = await insertIdea(server, world);
    const idea = await ask('POST /api/v1/ideas', { title: 'Dark "mode" ☾', body: 'Ünïcödé\n\\ and </script>' });
    const readWithoutVote = async (ideaId: number) => {
      const { my_vote: _, body_truncated: __, ...shown } = await ask(`GET /api/v1/ideas/${ideaId}`);
      expect(shown.url).toBe(`${server.config.BASE_URL}/b/${world.boardSlug}/ideas/${ideaId}`);
      return shown;
    };
    const answers: Record<string, object> = { 'idea.created': { idea: await readWithoutVote(idea.id) } };
    await ask(`POST /api/v1/ideas/${idea.id}/tags`, { tag_id: tagId });
    answers['idea.tagged'] = { idea: await readWithoutVote(idea.id) };
    const steps: [EventType, string, unknown?][] = [
      ['idea.voted', 'vote', { value: 'up' }],
      ['comment.created', 'comments', { body: 'We too.' }],
      ['idea.status_changed', 'status', { status: 'in_progress' }],
      ['idea.merged', 'merge', { target_id: targetId }],
      ['idea.unmerged', 'unmerge'],
    ];
    for (const [type, path, json] of steps) {
      await ask(`POST /api/v1/ideas/${idea.id}/${path}`, json);
      const hasTarget = type === 'idea.merged' || type === 'idea.unmerged';
      answers[type] = {
        idea: await readWithoutVote(idea.id),
        ...(hasTarget ? { target: await readWithoutVote(targetId) } : {}),
      };
    }
    const testId = await administer(server, admin => sendTestEvent(admin, world.accountId, id));

    await startWorkerForTest(server);
    const received = await receiver.waitForRequests(8);

    const schemas: Record<string, z.ZodType> = { ...events, 'webhook.test': TestEvent };
    for (const one of received) {
      const body = verify(one, secret);
      const schema = schemas[body.type] as z.ZodType;
      // parse() removes fields that the schema does not declare. So if the body had such a field, the two values would
      // differ.
      expect(schema.parse(body)).toEqual(body);
      expect(one.headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': 'Idea-Board' });
      expect(one.path).toBe('/hooks?for=us');
    }
    const bodies = new Map(received.map(one => [JSON.parse(one.body).type, JSON.parse(one.body)]));
    const changes = ['comment.updated', 'comment.deleted', 'idea.updated', 'idea.deleted'];
    const others = Object.keys(events).filter(type => !changes.includes(type));
    expect([...bodies.keys()].sort()).toEqual([...others, 'webhook.test'].sort());
    expect(Object.keys(answers).sort()).toEqual(others.sort());
    for (const [type, parts] of Object.entries(answers)) {
      const { data } = bodies.get(type);
      expect([type, { idea: data.idea, ...('target' in data ? { target: data.target } : {}) }]).toEqual([type, parts]);
    }
    expect(bodies.get('webhook.test').data).toEqual({ endpoint_id: id });

    // The admin page of a delivery must show exactly the body that the server signed and sent.
    const sent = new Map(received.map(one => [one.headers['webhook-id'], one.body]));
    for (const { id: deliveryId } of await deliveriesOf(server, id)) {
      const place = { accountId: world.accountId, endpointId: id, deliveryId };
      const { delivery } = await administer(server, admin =>
        readDelivery(admin, place, { before: undefined, limit: 1 }, server.config),
      );
      expect(delivery.body).toBe(sent.get(delivery.webhook_id));
      if (deliveryId === testId) expect(delivery.type).toBe('webhook.test');
    }
    // Workers of older server versions send the column `body`. Except for its missing `url` fields, it must equal the
    // body that this version sends.
    const withoutUrls = (body: unknown) =>
      JSON.parse(JSON.stringify(body, (name, value) => (name === 'url' ? undefined : value)));
    for (const { body } of await server.sql<{ body: { type: string } }>('select body from events')) {
      expect(body).toEqual(withoutUrls(bodies.get(body.type)));
    }

    // Editing or deleting a text also changes the text in earlier events. So the test edits and deletes only after the
    // checks above.
    const { data: comments } = await ask(`GET /api/v1/ideas/${idea.id}/comments`);
    const commentPath = `/api/v1/ideas/${idea.id}/comments/${comments[0].id}`;
    await ask(`PATCH ${commentPath}`, { body: 'We also.', reason: 'Tone' });
    await ask(`DELETE ${commentPath}`);
    await ask(`PATCH /api/v1/ideas/${idea.id}`, { body: 'Better' });
    const edited = await readWithoutVote(idea.id);
    await ask(`DELETE /api/v1/ideas/${idea.id}?reason=Spam`);
    const later = (await receiver.waitForRequests(12)).slice(8).map(one => verify(one, secret));
    expect(later.map(({ type }) => type)).toEqual(changes);
    for (const body of later) expect((schemas[body.type] as z.ZodType).parse(body)).toEqual(body);
    expect([later[0].data.reason, later[3].data.reason]).toEqual(['Tone', 'Spam']);
    expect(later[3].data.idea).toMatchObject({ id: idea.id, title: edited.title, body: '(deleted)' });
  });

  test('concurrent webhook deliveries of several accounts reach only the endpoint of their own account', async () => {
    const receiver = await startReceiverForTest();
    const worlds = await Promise.all(Array.from({ length: 3 }, () => createWorld(server)));
    const webhooks = await Promise.all(
      worlds.map(world => addWebhook(server, world, { url: `${receiver.url}/${world.accountId}` })),
    );
    for (const [index, { accountId }] of worlds.entries()) {
      for (let n = 0; n < 3; n++) {
        await administer(server, admin => sendTestEvent(admin, accountId, webhooks[index]?.id ?? 0));
      }
    }
    await startWorkerForTest(server);
    const received = await receiver.waitForRequests(9);
    for (const [index, { accountId }] of worlds.entries()) {
      const { id, secret } = webhooks[index] as TestWebhook;
      const own = received.filter(one => one.path === `/${accountId}`);
      expect(own.map(one => verify(one, secret).data)).toEqual(Array(3).fill({ endpoint_id: id }));
      await eventually(async () => {
        const states = (await deliveriesOf(server, id)).map(({ state }) => state);
        expect(states).toEqual(['delivered', 'delivered', 'delivered']);
      });
    }
  });
});

describe('webhook signatures during the rotation of a secret', () => {
  test('webhook deliveries are signed with the old and the new secret until the old secret expires, and then only with the new one', async () => {
    const receiver = await startReceiverForTest();
    const world = await createWorld(server);
    const { id, secret: oldSecret } = await addWebhook(server, world, { url: receiver.url });
    const newSecret = await administer(server, async admin =>
      rotateWebhookSecret(admin, testSecretBox, await requireWebhook(admin, world.accountId, id)),
    );
    await startWorkerForTest(server);
    await administer(server, admin => sendTestEvent(admin, world.accountId, id));
    const [first] = await receiver.waitForRequests(1);
    expect(verify(first as Received, newSecret)).toEqual(verify(first as Received, oldSecret));
    expect(first?.headers['webhook-signature']?.split(' ')).toHaveLength(2);

    const [endpoint] = await server.sql<{ hours: number }>(
      `select extract(epoch from previous_secret_expires_at - now()) / 3600 as hours from webhook_endpoints where id = $1`,
      [id],
    );
    expect(Number(endpoint?.hours)).toBeCloseTo(24, 1);
    await server.sql('update webhook_endpoints set previous_secret_expires_at = now() where id = $1', [id]);
    await administer(server, admin => sendTestEvent(admin, world.accountId, id));
    const [, second] = await receiver.waitForRequests(2);
    expect(verify(second as Received, newSecret).type).toBe('webhook.test');
    expect(() => verify(second as Received, oldSecret)).toThrow('No matching signature');

    // Simulates a changed APP_KEY. The server cannot decrypt the old secret any more, so it signs only with the new
    // secret.
    const lost = buildSecretBox(Buffer.alloc(32, 9)).seal(oldSecret, 'webhook secret');
    const end = new Date(Date.now() + 3_600_000);
    const change = 'update webhook_endpoints set previous_secret = $2, previous_secret_expires_at = $3 where id = $1';
    await server.sql(change, [id, lost, end]);
    await administer(server, admin => sendTestEvent(admin, world.accountId, id));
    const [, , third] = await receiver.waitForRequests(3);
    expect(verify(third as Received, newSecret).type).toBe('webhook.test');
  });

  test('the database and the log do not contain a webhook secret in plain text', async () => {
    const receiver = await startReceiverForTest(500);
    const world = await createWorld(server);
    const { id, secret } = await addWebhook(server, world, { url: receiver.url });
    const worker = await startWorkerForTest(server, { environment: { LOG_LEVEL: 'trace' } });
    await administer(server, admin => sendTestEvent(admin, world.accountId, id));
    await receiver.waitForRequests(1);
    await eventually(async () => expect((await deliveriesOf(server, id))[0]?.attempt_count).toBe(1));
    await worker.stop();

    const [row] = await server.sql('select *, encode(secret, $2) as hex from webhook_endpoints where id = $1', [
      id,
      'hex',
    ]);
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    const shown = JSON.stringify(row) + worker.logLines.join('');
    expect(worker.logLines.join('')).toContain('not delivered');
    for (const form of [secret, secret.slice(6), key.toString('hex'), Buffer.from(secret).toString('hex')]) {
      expect(shown).not.toContain(form);
    }
    const stored = row as { secret: Buffer };
    expect(testSecretBox.open(stored.secret, 'webhook secret')).toBe(secret);
  });
});

describe('a failed webhook delivery', () => {
  /** Creates a webhook endpoint and one pending delivery of a test event to this endpoint. */
  async function deliverTo(behavior: Behavior) {
    const receiver = await startReceiverForTest(behavior);
    const world = await createWorld(server);
    const webhook = await addWebhook(server, world, { url: receiver.url });
    await administer(server, admin => sendTestEvent(admin, world.accountId, webhook.id));
    return { receiver, world, ...webhook };
  }

  const delaysS = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 64_800, 86_400];

  test('a failing webhook delivery is attempted ten times in about three days with the same webhook-id, and then gets the state dead', async () => {
    const { receiver, id } = await deliverTo(500);
    await startWorkerForTest(server);
    for (const [index, delayS] of delaysS.entries()) {
      await receiver.waitForRequests(index + 1);
      await eventually(async () => {
        // The number of attempts may be higher than expected. The first retry comes after only about five seconds, so
        // on a slow machine the retry may already have run.
        const [delivery] = await deliveriesOf(server, id);
        expect(delivery?.attempt_count).toBeGreaterThan(index);
      });
      const [next] = await server.sql<{ tries: number; seconds: number }>(
        `select d.attempt_count as tries, extract(epoch from d.next_attempt_at - a.ended_at)::float8 as seconds
        from webhook_deliveries d
        cross join lateral (
          select max(attempted_at + duration_ms * interval '1 ms') as ended_at from webhook_attempts where delivery_id = d.id
        ) a
        where d.endpoint_id = $1 and d.state = 'pending'`,
        [id],
      );
      if (next?.tries !== index + 1) continue;
      expect(next.seconds).toBeGreaterThan(delayS * 0.8 - 1);
      expect(next.seconds).toBeLessThan(delayS * 1.2 + 10);
      await fastForward(server);
    }
    await receiver.waitForRequests(10);
    await eventually(async () => {
      const [delivery] = await deliveriesOf(server, id);
      expect(delivery).toMatchObject({ state: 'dead', attempt_count: 10, next_attempt_at: null });
    });
    await fastForward(server);
    await delay(300);
    expect(receiver.received).toHaveLength(10);
    expect(new Set(receiver.received.map(one => one.headers['webhook-id'])).size).toBe(1);
    expect(delaysS.reduce((sum, one) => sum + one, 0) / 86_400).toBeCloseTo(3, 0);
  });

  const failures: [string, Behavior, { status: number | null; error: string | null; response: string | null }][] = [
    ['the status 503', 503, { status: 503, error: null, response: null }],
    [
      'a connection that the receiver closes without a response',
      closeEarly,
      { status: null, error: 'The connection was closed without an answer', response: null },
    ],
    [
      'a response that breaks off',
      response => {
        response.writeHead(200, { 'content-length': 100 });
        response.write('half');
        setTimeout(() => response.socket?.destroy(), 20);
      },
      { status: null, error: 'The connection was closed without an answer', response: null },
    ],
    [
      'a response with a character that PostgreSQL cannot store',
      response => response.writeHead(400).end('no\0pe'),
      { status: 400, error: null, response: 'no�pe' },
    ],
  ];
  test.each(failures)(
    'a webhook delivery that ends with %s is recorded as a failed attempt and retried',
    async (_name, behavior, expected) => {
      const { id } = await deliverTo(behavior);
      await startWorkerForTest(server);
      const firstTry = async () => {
        const [delivery] = await deliveriesOf(server, id);
        expect(delivery?.attempt_count).toBeGreaterThan(0);
        expect(delivery?.state).toBe('pending');
        return server.sql(
          'select status, error, response from webhook_attempts where delivery_id = $1 order by id limit 1',
          [delivery?.id],
        );
      };
      await eventually(async () => expect(await firstTry()).toEqual([expected]));
    },
  );

  test('a redirect by a webhook endpoint counts as a failed attempt, and the server does not follow it', async () => {
    const inside = await startReceiverForTest();
    const { id, receiver } = await deliverTo(redirectTo(`${inside.url}/private`));
    await startWorkerForTest(server);
    await receiver.waitForRequests(1);
    await eventually(async () => expect((await deliveriesOf(server, id))[0]?.attempt_count).toBe(1));
    await delay(100);
    expect(inside.received).toEqual([]);
    expect(
      await server.sql(
        'select status from webhook_attempts a join webhook_deliveries d on d.id = a.delivery_id where d.endpoint_id = $1',
        [id],
      ),
    ).toEqual([{ status: 302 }]);
  });

  test('after the response 410, the server disables the webhook endpoint, ends its pending deliveries, and notifies the owners and admins of the account', async () => {
    const { id, world, receiver } = await deliverTo(410);
    const adminId = await createMember(server, world.accountId, 'admin');
    const blockedId = await createMember(server, world.accountId, 'admin');
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, blockedId]);
    await createMember(server, world.accountId, 'moderator');
    await createMember(server, world.accountId, 'member');
    const { auditLines } = await startWorkerForTest(server);
    await receiver.waitForRequests(1);
    await eventually(async () => {
      const [endpoint] = await server.sql('select disabled_at, disabled_reason from webhook_endpoints where id = $1', [
        id,
      ]);
      expect(endpoint).toMatchObject({ disabled_reason: 'The endpoint answered 410 Gone' });
    });
    expect(await deliveriesOf(server, id)).toMatchObject([{ state: 'dead', attempt_count: 1 }]);
    // The server writes the audit entry shortly after the commit, so the test waits for the entry.
    await eventually(() =>
      expect(readAudit(auditLines)).toMatchObject([
        { event: 'webhook.disabled', by: 'server', account_id: world.accountId, webhook_id: id, reason: 'gone' },
      ]),
    );
    const notices = await server.sql<{ id: number; user_id: number; kind: string }>(
      'select id, user_id, kind from notifications where endpoint_id = $1 order by user_id',
      [id],
    );
    expect(notices.map(one => one.user_id)).toEqual([world.ownerId, adminId]);
    expect(new Set(notices.map(one => one.kind))).toEqual(new Set(['webhook.disabled']));
    // A disabled endpoint gets no new deliveries. The server also rejects a request to send a test event to the
    // endpoint.
    const { token } = await issueToken(server, world, 'write');
    await request(server, 'POST /api/v1/ideas', { token, json: { title: 'After', body: 'It' } });
    expect(await deliveriesOf(server, id)).toHaveLength(1);
    await expect(administer(server, admin => sendTestEvent(admin, world.accountId, id))).rejects.toThrow(
      'enable it first',
    );
  });

  test('the server disables a webhook endpoint after five days of failures, but not an hour earlier', async () => {
    const { id, world, receiver } = await deliverTo(500);
    const failFor = (interval: string) =>
      server.sql(`update webhook_endpoints set failing_since = now() - $2::interval where id = $1`, [id, interval]);
    const disabledReason = async () =>
      (
        await server.sql<{ disabled_reason: string | null }>(
          'select disabled_reason from webhook_endpoints where id = $1',
          [id],
        )
      )[0]?.disabled_reason;
    await failFor('4 days 23 hours');
    const { auditLines } = await startWorkerForTest(server);
    const tries = async () => (await deliveriesOf(server, id))[0]?.attempt_count ?? 0;
    await eventually(async () => expect(await tries()).toBeGreaterThan(0));
    expect(await disabledReason()).toBeNull();
    await failFor('5 days');
    await fastForward(server);
    await eventually(async () => expect(await disabledReason()).toBe('Nothing could be delivered for 5 days'));
    expect(await deliveriesOf(server, id)).toMatchObject([{ state: 'dead' }]);
    // On a slow machine, the server may make a second attempt before failFor('5 days'). So there may be more than two
    // attempts in total.
    const tried = await tries();
    expect(tried).toBeGreaterThan(1);
    // The server writes the audit entry shortly after the commit, so the test waits for the entry.
    await eventually(() =>
      expect(readAudit(auditLines)).toMatchObject([
        { event: 'webhook.disabled', by: 'server', account_id: world.accountId, webhook_id: id, reason: 'failing' },
      ]),
    );
    expect(await server.sql('select user_id from notifications where endpoint_id = $1', [id])).toEqual([
      { user_id: world.ownerId },
    ]);
    const [delivery] = await deliveriesOf(server, id);
    expect(receiver.received.map(one => one.headers['webhook-id'])).toEqual(
      Array(tried).fill(`evt_${delivery?.event_id}`),
    );
  });

  test('if an admin disables a webhook during a failing delivery attempt, the delivery stays dead after the admin enables the webhook again', async () => {
    const { id, world, receiver } = await deliverTo(response => {
      const disabled = administer(server, async admin =>
        disableWebhook(admin, await requireWebhook(admin, world.accountId, id), 'Maintenance'),
      );
      disabled.then(() => response.writeHead(500).end());
    });
    await startWorkerForTest(server);
    await eventually(async () => expect((await deliveriesOf(server, id))[0]?.attempt_count).toBe(1));
    await administer(server, async admin => enableWebhook(admin, await requireWebhook(admin, world.accountId, id)));
    await fastForward(server);
    await delay(300);
    expect(receiver.received).toHaveLength(1);
    expect(await deliveriesOf(server, id)).toMatchObject([{ state: 'dead', attempt_count: 1, next_attempt_at: null }]);
  });

  test('after an admin enables a webhook, the server sends its pending deliveries, even if a worker has just found the webhook disabled', async () => {
    const { id, world } = await deliverTo(200);
    await server.sql(
      `update webhook_endpoints set disabled_at = now(), disabled_reason = 'Maintenance' where id = $1`,
      [id],
    );
    await administer(server, async admin => {
      await enableWebhook(admin, await requireWebhook(admin, world.accountId, id));
      await startWorkerForTest(server);
      await waitForLockWaits(server, 1);
    });
    await eventually(async () =>
      expect(await deliveriesOf(server, id)).toMatchObject([{ state: 'delivered', attempt_count: 1 }]),
    );
  });

  test('after a successful delivery, the server no longer marks a webhook endpoint with earlier failures as failing', async () => {
    const { id, receiver } = await deliverTo(500);
    const failingSince = async () =>
      (await server.sql('select failing_since from webhook_endpoints where id = $1', [id]))[0]?.failing_since;
    await startWorkerForTest(server);
    await eventually(async () => expect(await failingSince()).not.toBeNull());
    receiver.respondWith(200);
    await fastForward(server);
    await eventually(async () =>
      expect(await deliveriesOf(server, id)).toMatchObject([{ state: 'delivered', attempt_count: 2 }]),
    );
    expect(await failingSince()).toBeNull();
  });

  test("a worker retries a webhook delivery, even if an older server version added the delivery's job without an account id", async () => {
    const { id, world, receiver } = await deliverTo(500);
    const worker = await startWorkerForTest(server);
    const isTried = (tries: number) =>
      eventually(async () => expect(await deliveriesOf(server, id)).toMatchObject([{ attempt_count: tries }]));
    await isTried(1);
    await fastForward(server);
    await isTried(2);
    await worker.stop();
    const ofEndpoint = `where payload ->> 'endpoint_id' = '${id}'`;
    const accounts = await server.sql(
      `select distinct payload ->> 'account_id' as id from graphile_worker._private_jobs ${ofEndpoint}`,
    );
    expect(accounts).toEqual([{ id: String(world.accountId) }]);
    await server.sql(`update graphile_worker._private_jobs set payload = payload::jsonb - 'account_id' ${ofEndpoint}`);
    receiver.respondWith(200);
    await startWorkerForTest(server);
    await fastForward(server);
    await eventually(async () => expect(await deliveriesOf(server, id)).toMatchObject([{ state: 'delivered' }]));
  });

  test('a webhook redelivery has the same webhook-id as the first delivery, and the list of attempts keeps the earlier attempts', async () => {
    const { id, world, receiver, secret } = await deliverTo(410);
    await administer(server, admin => sendTestEvent(admin, world.accountId, id));
    await startWorkerForTest(server);
    await eventually(async () =>
      expect((await deliveriesOf(server, id)).map(one => one.state)).toEqual(['dead', 'dead']),
    );
    receiver.respondWith(200);
    const before = receiver.received.length;
    await administer(server, async admin => enableWebhook(admin, await requireWebhook(admin, world.accountId, id)));
    expect(await administer(server, admin => redeliverDeadSince(admin, world.accountId, id, new Date()))).toBe(0);
    const hourAgo = new Date(Date.now() - 3_600_000);
    expect(await administer(server, admin => redeliverDeadSince(admin, world.accountId, id, hourAgo))).toBe(2);
    await receiver.waitForRequests(before + 2);
    await eventually(async () =>
      expect((await deliveriesOf(server, id)).map(one => one.state)).toEqual(['delivered', 'delivered']),
    );
    const deliveries = await deliveriesOf(server, id);
    await administer(server, admin => redeliver(admin, world.accountId, id, deliveries[0]?.id ?? 0));
    const received = await receiver.waitForRequests(before + 3);
    expect(received.slice(before).map(one => one.headers['webhook-id'])).toEqual(
      [0, 1, 0].map(index => `evt_${deliveries[index]?.event_id}`),
    );
    for (const one of received.slice(before)) expect(verify(one, secret).type).toBe('webhook.test');
    await eventually(async () => {
      const [listed] = await administer(server, admin =>
        listDeliveries(admin, world.accountId, id, { deliveryId: deliveries[0]?.id ?? 0, limit: 1 }),
      );
      expect(listed?.attempts.map(one => one.status)).toEqual([410, 200, 200]);
      expect(listed).toMatchObject({ state: 'delivered', attempt_count: 1 });
    });
  });

  test.each([
    ['succeeds', 204],
    ['fails', 500],
  ])(
    'if a redelivery is requested during a delivery attempt that later %s, the server makes exactly one more attempt',
    async (_what, status) => {
      const answers: (() => void)[] = [];
      const { id, world, receiver } = await deliverTo(response => {
        answers.push(() => response.writeHead(answers.length > 1 ? 204 : status).end());
      });
      await startWorkerForTest(server);
      await receiver.waitForRequests(1);
      const [delivery] = await deliveriesOf(server, id);
      await administer(server, admin => redeliver(admin, world.accountId, id, delivery?.id ?? 0));
      answers[0]?.();
      const received = await receiver.waitForRequests(2);
      expect(new Set(received.map(one => one.headers['webhook-id'])).size).toBe(1);
      answers[1]?.();
      await eventually(async () => {
        const [listed] = await administer(server, admin =>
          listDeliveries(admin, world.accountId, id, { deliveryId: delivery?.id ?? 0, limit: 1 }),
        );
        expect(listed).toMatchObject({ state: 'delivered', attempt_count: 1, next_attempt_at: null });
        expect(listed?.attempts.map(one => one.status)).toEqual([status, 204]);
      });
      expect(receiver.received).toHaveLength(2);
    },
  );

  test('the server stores only the first 4 KiB of a long response to a webhook delivery', async () => {
    const { id } = await deliverTo(response => response.end('x'.repeat(1_000_000)));
    await startWorkerForTest(server);
    await eventually(async () => expect((await deliveriesOf(server, id))[0]?.state).toBe('delivered'));
    const [attempt] = await server.sql(
      'select length(response) as length from webhook_attempts a join webhook_deliveries d on d.id = a.delivery_id where d.endpoint_id = $1',
      [id],
    );
    expect(attempt).toEqual({ length: 4096 });
  });
});

describe('the recipients and the order of webhook deliveries', () => {
  test('a status change that is rolled back leaves no event, no webhook delivery and no job in the database', async () => {
    const world = await createWorld(server);
    await addWebhook(server, world, { url: 'https://hooks.example.com' });
    const ideaId = await insertIdea(server, world);
    const counts = () =>
      server.sql(`select (select count(*) from events) as events, (select count(*) from webhook_deliveries) as deliveries,
        (select count(*) from graphile_worker._private_jobs) as jobs`);
    const before = await counts();
    const fail = server.database.transaction(async ({ query }) => {
      const actor = {
        accountId: world.accountId,
        boardId: world.boardId,
        userId: world.ownerId,
        tokenId: null,
        voterId: 0,
        isModerator: true,
      };
      await setIdeaStatus({ query, now: new Date(), actor }, ideaId, 'planned');
      expect(await query(queryOfText('select id from webhook_deliveries', 0), [])).not.toEqual([]);
      throw new Error('the server falls over');
    });
    await expect(fail).rejects.toThrow('the server falls over');
    expect(await counts()).toEqual(before);
  });

  test('a webhook endpoint gets only the events of its account, its chosen board and its chosen event types', async () => {
    const world = await createWorld(server);
    const other = await createBoard(server, world.accountId);
    const stranger = await createWorld(server);
    const url = 'https://hooks.example.com';
    const all = await addWebhook(server, world, { url });
    const ofBoard = await addWebhook(server, world, { url, boardId: world.boardId });
    const ofOther = await addWebhook(server, world, { url, boardId: other.id });
    const ofType = await addWebhook(server, world, { url, eventTypes: ['comment.created'] });
    const ofStranger = await addWebhook(server, stranger, { url });
    const { token } = await issueToken(server, world, 'moderate');
    const idea = await request(server, 'POST /api/v1/ideas', { token, json: { title: 'One', body: 'Two' } });
    await request(server, `POST /api/v1/ideas/${idea.body.id}/comments`, { token, json: { body: 'Three' } });
    const counts = await Promise.all(
      [all, ofBoard, ofOther, ofType, ofStranger].map(async ({ id }) => (await deliveriesOf(server, id)).length),
    );
    expect(counts).toEqual([2, 2, 0, 1, 0]);
  });

  test('the events of an idea reach a webhook in the order in which their transactions commit, even if the transactions overlap', async () => {
    const receiver = await startReceiverForTest();
    const world = await createWorld(server);
    const { id } = await addWebhook(server, world, { url: receiver.url });
    const ideas = await Promise.all(Array.from({ length: 12 }, () => insertIdea(server, world)));
    const { token } = await issueToken(server, world, 'moderate');
    const statuses = ['planned', 'in_progress', 'done', 'declined', 'open'];
    // The receiver responds slowly. If a worker sent the next event of an idea before the response, the receiver would
    // get the events in a wrong order.
    receiver.respondWith(response => setTimeout(() => response.writeHead(204).end(), Math.random() * 15));
    await startWorkerForTest(server);
    await startWorkerForTest(server);
    // This transaction begins before all requests, but records its event only after all requests.
    const late = await connect(server.url);
    await late.query('begin');
    await late.query('select now()');
    await Promise.all(
      ideas.map(async ideaId => {
        for (let round = 0; round < 10; round++) {
          await request(server, `POST /api/v1/ideas/${ideaId}/status`, {
            token,
            json: { status: statuses[round % 5] },
          });
        }
      }),
    );
    await late.query(`select record_event($1, 'idea.status_changed', $2, null, null, null, '{}', now())`, [
      world.accountId,
      ideas[0],
    ]);
    await late.query('commit');
    await late.end();
    // The expected number is 121: each of the twelve ideas has ten status changes, and the first idea has one more
    // event.
    await receiver.waitForRequests(121);
    await eventually(async () =>
      expect(new Set((await deliveriesOf(server, id)).map(one => one.state))).toEqual(new Set(['delivered'])),
    );
    const inOrder = await server.sql<{ webhook_id: string; idea_id: number }>(
      `select 'evt_' || e.id as webhook_id, e.idea_id from webhook_deliveries d join events e on e.id = d.event_id where d.endpoint_id = $1 order by d.id`,
      [id],
    );
    const arrived = receiver.received.map(one => one.headers['webhook-id']);
    expect(arrived).toHaveLength(121);
    for (const ideaId of ideas) {
      const expected = inOrder.filter(one => one.idea_id === ideaId).map(one => one.webhook_id);
      expect(arrived.filter(one => expected.includes(one as string))).toEqual(expected);
    }
  });

  test('a hanging webhook endpoint delays no other webhook and gets one delivery at a time from each worker, or in total while marked as failing', async () => {
    const hanging = await startReceiverForTest(hang);
    const healthy = await startReceiverForTest();
    const world = await createWorld(server);
    const { token } = await issueToken(server, world, 'write');
    const slow = await addWebhook(server, world, { url: hanging.url });
    await addWebhook(server, world, { url: healthy.url });
    // When a worker stops, it waits at most 300 ms for its hanging delivery attempts.
    const timing = { stopPatienceMs: 300 };
    // The timeout of outgoing requests is longer than the test, so a hanging attempt never ends by itself.
    const guard = buildAddressGuard(workerConfig().WEBHOOK_ALLOWED_CIDRS);
    const requests = buildOutgoingRequests({ guard, timeoutMs: 600_000 });
    onTestFinished(() => requests.close());
    const worker = await startWorkerForTest(server, { timing, requests });
    await startWorkerForTest(server, { timing, requests });
    const submit = () => request(server, 'POST /api/v1/ideas', { token, json: { title: 'One', body: 'Two' } });
    await Promise.all(Array.from({ length: 40 }, submit));
    await healthy.waitForRequests(40);
    // All deliveries to the healthy endpoint have arrived. No delivery attempt at the hanging endpoint has ended yet.
    expect((await deliveriesOf(server, slow.id)).map(one => one.attempt_count)).toEqual(Array(40).fill(0));
    await hanging.waitForRequests(2);
    expect(hanging.maxConcurrent()).toBe(2);
    await worker.stop();

    // From now on the endpoint counts as failing. So all processes together run only one attempt at a time at this
    // endpoint.
    await server.sql('update webhook_endpoints set failing_since = now() where id = $1', [slow.id]);
    await hanging.close();
    const again = await startReceiverForTest(hang);
    await server.sql('update webhook_endpoints set url = $2 where id = $1', [slow.id, again.url]);
    await startWorkerForTest(server, { timing, requests });
    await fastForward(server);
    await Promise.all(Array.from({ length: 40 }, submit));
    await healthy.waitForRequests(80);
    await again.waitForRequests(1);
    await delay(300);
    expect(again.maxConcurrent()).toBe(1);
    // For this endpoint, the job queue has at most eight jobs and one more job for each failed delivery. The endpoint
    // has eight lanes (delivery queues).
    await eventually(async () => {
      const jobs = await server.sql<{ key: string | null }>(
        `select key from graphile_worker._private_jobs where payload->>'endpoint_id' = $1 and locked_at is null`,
        [String(slow.id)],
      );
      const failed = (await deliveriesOf(server, slow.id)).filter(one => one.attempt_count > 0);
      expect(jobs.length).toBeLessThanOrEqual(8 + failed.length);
    });
  });

  test('after a webhook endpoint recovers, the worker immediately sends its waiting deliveries', async () => {
    const receiver = await startReceiverForTest(500);
    const world = await createWorld(server);
    const { token } = await issueToken(server, world, 'write');
    const { id } = await addWebhook(server, world, { url: receiver.url });
    await startWorkerForTest(server);
    const submit = () => request(server, 'POST /api/v1/ideas', { token, json: { title: 'One', body: 'Two' } });
    await Promise.all(Array.from({ length: 8 }, submit));
    await receiver.waitForRequests(1);
    await Promise.all(Array.from({ length: 40 }, submit));
    await delay(300);
    // Moves all retries three hours into the future. So the deliveries that this test awaits can only start because the
    // endpoint has recovered.
    await server.sql(
      `update graphile_worker._private_jobs set run_at = now() + interval '3 hours' where run_at > now()`,
    );
    const untried = async () => (await deliveriesOf(server, id)).filter(one => one.attempt_count === 0).length;
    expect(await untried()).toBeGreaterThan(8);
    receiver.respondWith(204);
    await administer(server, admin => sendTestEvent(admin, world.accountId, id));
    await eventually(async () => expect(await untried()).toBe(0));
  });
});
