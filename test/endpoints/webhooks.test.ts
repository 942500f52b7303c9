import { describe, expect, test } from 'vitest';
import { verifyWebhook } from '../../client/main.ts';
import { defaultEventTypes } from '../../contract/events.ts';
import type { Grant } from '../../contract/grants.ts';
import { maxWebhooks } from '../../contract/limits.ts';
import { recordEvent } from '../../server/domain/events/record-event.ts';
import { readAudit } from '../helpers/audit.ts';
import { createBoard, createMember, createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { waitForLockWaits } from '../helpers/lock-waits.ts';
import { createTargets, operations, requestOf } from '../helpers/operations.ts';
import { type Received, startReceiverForTest } from '../helpers/receiver.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { snapshot } from '../helpers/snapshot.ts';
import { addWebhook, eventually } from '../helpers/webhooks.ts';
import { startWorkerForTest } from '../helpers/worker.ts';

const server = await startServerForFile({ environment: { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' } });
const url = 'https://hooks.example.com/ideas';
const managing = operations.filter(({ capability }) => capability === 'manage_webhooks');

/**
 * Issues a token with the capability manage_webhooks. Returns the token's account, and a function that sends requests
 * with the token.
 */
async function tokenForWebhooks(grant: Grant = 'read', on?: World) {
  const world = on ?? (await createWorld(server));
  const { token, id } = await issueToken(server, world, grant, { capabilities: ['manage_webhooks'] });
  const ask = (line: string, json?: unknown, headers: Record<string, string> = {}) =>
    request(server, line.replace('/', '/api/v1/'), { token, json, headers });
  return { world, token, tokenId: id, ask };
}

const rowOf = async (id: number) => (await server.sql('select * from webhook_endpoints where id = $1', [id]))[0];

describe('a new webhook', () => {
  test('a token with the capability manage_webhooks and the grant read can create a webhook, and only the response to the creation shows its secret', async () => {
    const { world, tokenId, ask } = await tokenForWebhooks();
    const told = server.auditLines.length;
    const answer = await ask('POST /webhooks', {
      url,
      description: 'Notes',
      event_types: ['idea.merged', 'idea.voted'],
    });
    expect(answer.status).toBe(201);
    const { secret, ...webhook } = answer.body;
    expect(secret).toMatch(/^whsec_[\w+/]{43}=$/);
    expect(webhook).toEqual({
      id: expect.any(Number),
      url,
      description: 'Notes',
      event_types: ['idea.merged', 'idea.voted'],
      state: 'enabled',
      disabled_reason: null,
      failing_since: null,
      previous_secret_expires_at: null,
      pending_count: 0,
      token_id: tokenId,
      created_at: expect.any(String),
    });
    expect((await ask(`GET /webhooks/${webhook.id}`)).body).toEqual(webhook);
    expect((await ask('GET /webhooks')).body).toMatchObject({ data: [webhook], has_more: false, next_cursor: null });
    expect(await rowOf(webhook.id)).toMatchObject({ board_id: world.boardId, token_id: tokenId });
    const [entry] = readAudit(server.auditLines.slice(told));
    expect(entry).toMatchObject({
      event: 'webhook.created',
      by: 'token',
      by_user_id: world.ownerId,
      by_token_id: tokenId,
      webhook_id: webhook.id,
      board_id: world.boardId,
    });
    expect([...server.auditLines, ...server.logLines].join('')).not.toContain(secret);
  });

  test('a webhook that a token creates without event types is subscribed to all current event types except idea.voted', async () => {
    const { ask } = await tokenForWebhooks();
    const { body } = await ask('POST /webhooks', { url });
    expect(body.event_types).toEqual(defaultEventTypes);
    expect(await rowOf(body.id)).toMatchObject({ event_types: defaultEventTypes });
    expect((await ask('POST /webhooks', { url, event_types: [] })).key).toBe('validation_failed');
  });

  test('a repeated request with the same Idempotency-Key creates no second webhook and returns no secret, and the database has no plain-text secret', async () => {
    const { ask } = await tokenForWebhooks();
    const key = { 'idempotency-key': 'only-once' };
    const first = (await ask('POST /webhooks', { url }, key)).body;
    const again = await ask('POST /webhooks', { url }, key);
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    expect(again.body).toEqual({ ...first, secret: null });
    const rotated = (await ask(`POST /webhooks/${first.id}/rotate-secret`, undefined, key)).body;
    const rotatedAgain = await ask(`POST /webhooks/${first.id}/rotate-secret`, undefined, key);
    expect(rotatedAgain.body).toEqual({ ...rotated, secret: null });
    expect((await ask('GET /webhooks')).body.data).toHaveLength(1);
    const stored = JSON.stringify(await snapshot(server));
    for (const { secret } of [first, rotated]) expect(stored).not.toContain(secret.slice('whsec_'.length));
  });

  test('parallel requests for new webhooks cannot exceed the maximum number of webhooks in an account', async () => {
    const { world, ask } = await tokenForWebhooks();
    await server.sql(
      `insert into webhook_endpoints (account_id, url, secret) select $1, $2, 'sealed' from generate_series(1, $3::int)`,
      [world.accountId, url, maxWebhooks - 2],
    );
    const answers = await Promise.all(Array.from({ length: 6 }, () => ask('POST /webhooks', { url })));
    expect(answers.map(({ status, key }) => key ?? status).sort()).toEqual([
      201,
      201,
      ...Array(4).fill('too_many_webhooks'),
    ]);
    const [count] = await server.sql<{ n: number }>(
      'select count(*)::int as n from webhook_endpoints where account_id = $1',
      [world.accountId],
    );
    expect(count?.n).toBe(maxWebhooks);
  });
});

describe('the permission to manage webhooks', () => {
  test('a token without the capability manage_webhooks gets missing_capability for every operation on webhooks, and nothing changes', async () => {
    const world = await createWorld(server);
    const targets = await createTargets(server, world);
    const plain = await issueToken(server, world, 'moderate', { capabilities: [] });
    const issuerId = await createMember(server, world.accountId, 'admin');
    const demoted = await issueToken(server, world, 'moderate', { issuerId });
    expect((await request(server, 'GET /api/v1/token', demoted)).body.capabilities).toEqual(['manage_webhooks']);
    await server.sql(`update memberships set role = 'moderator' where user_id = $1`, [issuerId]);
    const before = await snapshot(server);
    for (const { token } of [plain, demoted]) {
      expect((await request(server, 'GET /api/v1/token', { token })).body.capabilities).toEqual([]);
      for (const operation of managing) {
        const { line, json } = requestOf(operation, targets);
        const { status, key, body } = await request(server, line, { token, json });
        expect([operation.id, status, key]).toEqual([operation.id, 403, 'missing_capability']);
        expect(body.error.details).toEqual({ needed: 'manage_webhooks' });
      }
    }
    expect(await snapshot(server)).toEqual(before);
  });

  test("if a webhook does not belong to the token's board, every operation on this webhook gets 404 and changes nothing, as for an unknown webhook", async () => {
    const { world, ask } = await tokenForWebhooks('moderate');
    const sibling = await createBoard(server, world.accountId);
    const places = [{ ...world, boardId: sibling.id, boardSlug: sibling.slug }, await createWorld(server), world];
    const elsewhere = await Promise.all(places.map(place => createTargets(server, place)));
    await server.sql('update webhook_endpoints set board_id = null where id = any ($1)', [
      [elsewhere[2]?.webhookId, elsewhere[2]?.spareWebhookId],
    ]);
    const missing = { ...elsewhere[0], webhookId: 999_999, spareWebhookId: 999_999, deliveryId: 999_999 };
    const before = await snapshot(server);
    for (const operation of managing.filter(({ path }) => path.includes(':webhookId'))) {
      for (const targets of [...elsewhere, missing]) {
        const { line, json } = requestOf(operation, targets as (typeof elsewhere)[number]);
        const { status, key } = await ask(line.replace('/api/v1', ''), json);
        expect([operation.id, status, key]).toEqual([operation.id, 404, 'not_found']);
      }
    }
    expect(await snapshot(server)).toEqual(before);
    expect((await ask('GET /webhooks')).body.data).toEqual([]);
  });

  test("a request to redeliver a webhook's delivery gets 404 and changes nothing if its path names another webhook", async () => {
    const { world, ask } = await tokenForWebhooks();
    const { deliveryId, spareWebhookId } = await createTargets(server, world);
    const before = await snapshot(server);
    expect((await ask(`POST /webhooks/${spareWebhookId}/deliveries/${deliveryId}/redeliver`)).status).toBe(404);
    expect(await snapshot(server)).toEqual(before);
  });

  test('an MCP client that uses the read-only URL cannot manage webhooks', async () => {
    const { token } = await tokenForWebhooks();
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_webhooks', arguments: {} } };
    const { body } = await request(server, 'POST /api/v1/mcp?readonly=true', { token, json: call });
    expect(JSON.parse(body.result.content[0].text).error.key).toBe('missing_capability');
  });

  test('the server sends events about pending ideas to no webhook, because only tokens with the moderate grant may read these events', async () => {
    const { world } = await tokenForWebhooks();
    const { id } = await addWebhook(server, world, { url, boardId: world.boardId });
    const published = await insertIdea(server, world);
    const pending = await insertIdea(server, world, { moderationState: 'pending' });
    const actor = { accountId: world.accountId, userId: world.ownerId, tokenId: null };
    for (const ideaId of [published, pending]) {
      await server.database.transaction(({ query }) =>
        recordEvent({ query, actor, now: new Date() }, 'idea.tagged', ideaId, { changes: [] }),
      );
    }
    const delivered = await server.sql(
      'select e.idea_id from webhook_deliveries d join events e on e.id = d.event_id where d.endpoint_id = $1',
      [id],
    );
    expect(delivered).toEqual([{ idea_id: published }]);
  });
});

describe('a change of a webhook', () => {
  test('a PATCH of a webhook changes only the given fields, and an empty PATCH changes nothing', async () => {
    const { ask } = await tokenForWebhooks();
    const { secret: _, ...made } = (await ask('POST /webhooks', { url, description: 'Notes' })).body;
    const patch = async (json: object) => (await ask(`PATCH /webhooks/${made.id}`, json)).body;
    expect(await patch({})).toEqual(made);
    expect(await patch({ description: '' })).toEqual({ ...made, description: '' });
    const moved = { url: `${url}/2`, event_types: ['idea.voted'] };
    expect(await patch(moved)).toEqual({ ...made, description: '', ...moved });
    expect((await ask(`GET /webhooks/${made.id}`)).body).toEqual({ ...made, description: '', ...moved });
  });

  test.each([
    ['a URL with a private address', { url: 'https://192.168.1.1/' }],
    ['a metadata address', { url: 'http://169.254.169.254/' }],
    ['no URL', { url: 'hooks' }],
    ['a URL that is too long', { url: `https://hooks.example.com/${'x'.repeat(1_975)}` }],
    ['an unknown event type', { event_types: ['idea.nothing'] }],
    ['no event type', { event_types: [] }],
    ['a description that is too long', { description: 'x'.repeat(201) }],
  ])('a PATCH of a webhook with %s gets 422, names the field and changes nothing', async (_what, edit) => {
    const { ask } = await tokenForWebhooks();
    const { id } = (await ask('POST /webhooks', { url })).body;
    const before = await rowOf(id);
    const { status, key, body } = await ask(`PATCH /webhooks/${id}`, { enabled: false, ...edit });
    expect([status, key]).toEqual([422, 'validation_failed']);
    expect(body.error.issues[0].path.slice(0, 2)).toEqual(['body', Object.keys(edit)[0]]);
    expect(await rowOf(id)).toEqual(before);
  });

  test('a disabled webhook loses its pending deliveries, and refuses test deliveries and redeliveries until the webhook is enabled again', async () => {
    const { world, ask } = await tokenForWebhooks();
    const { webhookId: id, deliveryId } = await createTargets(server, world);
    expect((await ask(`POST /webhooks/${id}/test`)).body).toMatchObject({ type: 'webhook.test', state: 'pending' });
    const disabled = { state: 'disabled', disabled_reason: 'Disabled with an API token', pending_count: 0 };
    expect((await ask(`PATCH /webhooks/${id}`, { enabled: false })).body).toMatchObject(disabled);
    expect((await ask(`GET /webhooks/${id}/deliveries?state=pending`)).body.data).toEqual([]);
    for (const line of [`POST /webhooks/${id}/test`, `POST /webhooks/${id}/deliveries/${deliveryId}/redeliver`]) {
      const { status, key } = await ask(line);
      expect([line, status, key]).toEqual([line, 422, 'webhook_disabled']);
    }
    const enabled = { state: 'enabled', disabled_reason: null };
    expect((await ask(`PATCH /webhooks/${id}`, { enabled: true })).body).toMatchObject(enabled);
    expect((await ask(`POST /webhooks/${id}/deliveries/${deliveryId}/redeliver`)).body).toMatchObject({
      id: deliveryId,
      state: 'pending',
      attempt_count: 0,
      finished_at: null,
    });
  });

  test('one of several parallel deletions of a webhook succeeds, and the others get 404', async () => {
    const { world, ask } = await tokenForWebhooks();
    const { webhookId: id } = await createTargets(server, world);
    const told = server.auditLines.length;
    const answers = await Promise.all(Array.from({ length: 4 }, () => ask(`DELETE /webhooks/${id}`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404, 404, 404]);
    expect(answers.find(({ status }) => status === 200)?.body).toEqual({ id, deleted: true });
    expect(await rowOf(id)).toBeUndefined();
    expect(readAudit(server.auditLines.slice(told)).filter(({ event }) => event === 'webhook.deleted')).toHaveLength(1);
  });

  test('a request for a new idea waits while a webhook of the board is being deleted, and then succeeds without a delivery to this webhook', async () => {
    const { world, ask } = await tokenForWebhooks('write');
    const { id } = await addWebhook(server, world, { url, boardId: world.boardId });
    const deleted = Promise.withResolvers<void>();
    const waiting = Promise.withResolvers<void>();
    const deletion = server.database.transaction(async ({ db }) => {
      await db.deleteFrom('webhook_endpoints').where('id', '=', id).execute();
      deleted.resolve();
      await waiting.promise;
    });
    await deleted.promise;
    const creation = ask('POST /ideas', { title: 'Dark mode', body: 'For late evenings.' });
    await waitForLockWaits(server, 1);
    waiting.resolve();
    await deletion;
    expect((await creation).status).toBe(201);
    expect(await server.sql('select from webhook_deliveries where endpoint_id = $1', [id])).toEqual([]);
  });

  test('a webhook stays enabled after the token that created the webhook is revoked, and another token of the board can manage it', async () => {
    const { world, token, tokenId, ask } = await tokenForWebhooks();
    const { id } = (await ask('POST /webhooks', { url })).body;
    await server.sql('update api_tokens set revoked_at = now() where id = $1', [tokenId]);
    expect((await request(server, `GET /api/v1/webhooks/${id}`, { token })).status).toBe(401);
    const other = await tokenForWebhooks('read', world);
    expect((await other.ask(`GET /webhooks/${id}`)).body).toMatchObject({ state: 'enabled', token_id: tokenId });
    expect((await other.ask(`DELETE /webhooks/${id}`)).status).toBe(200);
  });
});

describe('the lists of webhooks and deliveries', () => {
  test('the list of webhooks contains each webhook of the board once, newest first, whether the pages are read by number or by cursor', async () => {
    const { ask } = await tokenForWebhooks();
    const ids: number[] = [];
    for (let n = 0; n < 5; n++) ids.unshift((await ask('POST /webhooks', { url })).body.id);
    const idsOf = ({ body }: Awaited<ReturnType<typeof ask>>) => body.data.map(({ id }: { id: number }) => id);
    expect(idsOf(await ask('GET /webhooks?per_page=2&page=2'))).toEqual(ids.slice(2, 4));
    const first = await ask('GET /webhooks?per_page=3');
    expect([idsOf(first), first.body.page, first.body.has_more]).toEqual([ids.slice(0, 3), 1, true]);
    const second = await ask(`GET /webhooks?per_page=3&cursor=${first.body.next_cursor}`);
    expect([idsOf(second), second.body.page, second.body.has_more]).toEqual([ids.slice(3), null, false]);
    const foreign = await ask(`GET /webhooks/${ids[0]}/deliveries?cursor=${first.body.next_cursor}`);
    expect(foreign.key).toBe('validation_failed');
  });

  test("the list of a webhook's deliveries has pages and can be filtered by state", async () => {
    const { world, ask } = await tokenForWebhooks();
    const { webhookId: id, deliveryId } = await createTargets(server, world);
    const tests: number[] = [];
    for (let n = 0; n < 3; n++) tests.unshift((await ask(`POST /webhooks/${id}/test`)).body.id);
    const list = async (query: string) => {
      const { data, next_cursor } = (await ask(`GET /webhooks/${id}/deliveries?${query}`)).body;
      return { ids: data.map((one: { id: number }) => one.id), next: next_cursor };
    };
    const first = await list('per_page=2');
    expect(first).toEqual({ ids: tests.slice(0, 2), next: expect.any(String) });
    expect(await list(`per_page=2&cursor=${first.next}`)).toEqual({ ids: [tests[2], deliveryId], next: null });
    expect(await list('state=dead')).toEqual({ ids: [deliveryId], next: null });
    expect(await list('state=pending')).toEqual({ ids: tests, next: null });
    expect((await ask(`GET /webhooks/${id}/deliveries?state=dead&cursor=${first.next}`)).key).toBe('validation_failed');
  });
});

test("a receiver can verify deliveries of a webhook created with a token, even after two parallel rotations of the webhook's secret", async () => {
  const receiver = await startReceiverForTest();
  const { ask } = await tokenForWebhooks('write');
  const made = (await ask('POST /webhooks', { url: receiver.url, event_types: ['idea.created'] })).body;
  await startWorkerForTest(server);
  const verify = ({ body, headers }: Received, secret: string) => verifyWebhook(body, headers, secret);

  const idea = (await ask('POST /ideas', { title: 'Dark mode', body: 'For late evenings.' })).body;
  const [created] = await receiver.waitForRequests(1);
  expect(await verify(created as Received, made.secret)).toMatchObject({
    type: 'idea.created',
    data: { idea: { id: idea.id } },
  });

  const rotations = await Promise.all([1, 2].map(() => ask(`POST /webhooks/${made.id}/rotate-secret?overlap_hours=1`)));
  const secrets = rotations.map(({ body }) => body.secret);
  expect(new Set([made.secret, ...secrets]).size).toBe(3);
  const tested = (await ask(`POST /webhooks/${made.id}/test`)).body;
  const [, test] = await receiver.waitForRequests(2);
  // The webhook request is signed with both new secrets, because the second rotation kept the secret of the first
  // rotation.
  for (const secret of secrets) expect((await verify(test as Received, secret)).type).toBe('webhook.test');
  await expect(verify(test as Received, made.secret)).rejects.toThrow();

  await eventually(async () => {
    const { data } = (await ask(`GET /webhooks/${made.id}/deliveries?state=delivered`)).body;
    expect(data.map(({ id }: { id: number }) => id)).toEqual([tested.id, expect.any(Number)]);
    expect(data[1]).toMatchObject({
      event_id: created?.headers['webhook-id'],
      type: 'idea.created',
      attempt_count: 1,
      next_attempt_at: null,
      last_attempt: { status: 204, error: null },
    });
  });
  const [, { id }] = (await ask(`GET /webhooks/${made.id}/deliveries`)).body.data;
  expect((await ask(`POST /webhooks/${made.id}/deliveries/${id}/redeliver`)).body).toMatchObject({
    id,
    state: 'pending',
  });
  const [, , again] = await receiver.waitForRequests(3);
  expect(again?.headers['webhook-id']).toBe(created?.headers['webhook-id']);
});
