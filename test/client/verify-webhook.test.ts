import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import {
  ConfigurationError,
  IdeaBoardError,
  signWebhook,
  verifyWebhook,
  type WebhookErrorKey,
  WebhookVerificationError,
} from '../../client/main.ts';
import { requireWebhook, rotateWebhookSecret } from '../../server/domain/webhooks/edit-webhook.ts';
import { sendTestEvent } from '../../server/domain/webhooks/queue-deliveries.ts';
import { createTag, createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { runJobs } from '../helpers/jobs.ts';
import { type Received, startReceiverForTest } from '../helpers/receiver.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { addWebhook, administer, testSecretBox } from '../helpers/webhooks.ts';

const server = await startServerForFile({ environment: { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' } });
const world = await createWorld(server);

describe('webhooks of the server', () => {
  test('verifyWebhook() accepts every event type that the server sends, and TypeScript accepts a `switch` over all event types', async () => {
    const receiver = await startReceiverForTest();
    const { id, secret } = await addWebhook(server, world, { url: receiver.url });
    const { token } = await issueToken(server, world, 'moderate');
    const target = await insertIdea(server, world);
    const ask = async (line: string, json?: unknown) => (await request(server, line, { token, json })).body;
    const idea = await ask('POST /api/v1/ideas', { title: 'Ünïcödé ☾', body: '\n\\ and </script>' });
    await ask(`POST /api/v1/ideas/${idea.id}/vote`, { value: 'up' });
    await ask(`POST /api/v1/ideas/${idea.id}/comments`, { body: 'We too.' });
    await ask(`POST /api/v1/ideas/${idea.id}/status`, { status: 'planned' });
    await ask(`POST /api/v1/ideas/${idea.id}/merge`, { target_id: target });
    await ask(`POST /api/v1/ideas/${idea.id}/unmerge`);
    const [comment] = (await ask(`GET /api/v1/ideas/${idea.id}/comments`)).data;
    await ask(`PATCH /api/v1/ideas/${idea.id}/comments/${comment.id}`, { body: 'We also.', reason: 'Language' });
    await ask(`DELETE /api/v1/ideas/${idea.id}/comments/${comment.id}`);
    const tagId = await createTag(server, world.accountId, world.boardId);
    await ask(`POST /api/v1/ideas/${idea.id}/tags`, { tag_id: tagId });
    const spam = await insertIdea(server, world);
    await ask(`PATCH /api/v1/ideas/${spam}`, { title: 'Was spam' });
    await ask(`DELETE /api/v1/ideas/${spam}`);
    await administer(server, admin => sendTestEvent(admin, world.accountId, id));
    await runJobs(server);

    const seen = new Set<string>();
    for (const { body, headers } of await receiver.waitForRequests(12)) {
      const event = await verifyWebhook(body, headers, secret);
      expect(event.id).toBe(headers['webhook-id']);
      seen.add(event.type);
      switch (event.type) {
        case 'idea.voted':
          expect(event.data.vote).toEqual({ value: 'up', previous: 'none' });
          break;
        case 'comment.created':
          expect(event.data.comment.author.name).toBe(event.data.actor?.name);
          break;
        case 'comment.updated':
          expect(event.data.reason).toBe('Language');
          break;
        case 'comment.deleted':
          expect(event.data.comment.id).toBe(comment.id);
          break;
        case 'idea.tagged':
          expect(event.data.changes).toEqual([{ field: 'tags', from: null, to: tagId }]);
          break;
        case 'idea.updated':
          expect(event.data.changes).toEqual([{ field: 'title', from: null, to: null }]);
          break;
        case 'idea.deleted':
          expect(event.data.idea).toMatchObject({ id: spam, title: 'Was spam', body: '(deleted)' });
          break;
        case 'idea.merged':
        case 'idea.unmerged':
          expect(event.data.target.id).toBe(target);
          break;
        case 'idea.created':
        case 'idea.status_changed':
          expect(event.data.idea.title).toBe('Ünïcödé ☾');
          break;
        case 'webhook.test':
          expect(event.data.endpoint_id).toBe(id);
          break;
        default:
          expect.fail(`${event.type satisfies 'unknown'} was sent`);
      }
    }
    expect(seen.size).toBe(12);
  });

  test('verifyWebhook() accepts the old and the new secret during a rotation', async () => {
    const receiver = await startReceiverForTest();
    const { id, secret: old } = await addWebhook(server, world, { url: receiver.url });
    const fresh = await administer(server, async admin =>
      rotateWebhookSecret(admin, testSecretBox, await requireWebhook(admin, world.accountId, id)),
    );
    await administer(server, admin => sendTestEvent(admin, world.accountId, id));
    await runJobs(server);
    const [{ body, headers } = {} as Received] = await receiver.waitForRequests(1);
    const other = makeSecret(9);
    for (const secrets of [old, fresh, [other, fresh], [old, other]]) {
      expect(await verifyWebhook(body, headers, secrets)).toMatchObject({ type: 'webhook.test' });
    }
    await expect(verifyWebhook(body, headers, other)).rejects.toMatchObject({ key: 'signature_mismatch' });
  });
});

function makeSecret(byte: number): string {
  return `whsec_${Buffer.alloc(32, byte).toString('base64')}`;
}

const secret = makeSecret(1);

/** Signs a webhook with an independent library. */
function sign(body: string, { at = new Date(), by = secret }: { at?: Date; by?: string } = {}) {
  return {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(by).sign('evt_1', at, body),
  };
}

const body = JSON.stringify({ type: 'webhook.test', timestamp: '2026-03-14T09:26:53.589Z', data: { endpoint_id: 3 } });

async function keyOf(verified: Promise<unknown>): Promise<WebhookErrorKey> {
  try {
    await verified;
  } catch (error) {
    expect(error).toBeInstanceOf(IdeaBoardError);
    if (error instanceof WebhookVerificationError) return error.key;
  }
  throw new Error('It was verified');
}

describe('verifyWebhook', () => {
  test('verifyWebhook() accepts the body as text or bytes and the headers as an object or a Headers instance', async () => {
    const signed = sign(body);
    const bytes = new TextEncoder().encode(body);
    const [shouted, listed] = [
      Object.fromEntries(Object.entries(signed).map(([name, value]) => [name.toUpperCase(), value])),
      Object.fromEntries(Object.entries(signed).map(([name, value]) => [name, [value]])),
    ];
    const verified = await Promise.all([
      verifyWebhook(body, signed, secret),
      verifyWebhook(bytes, new Headers(signed), secret),
      verifyWebhook(Buffer.from(`..${body}`).subarray(2), shouted, secret),
      verifyWebhook(bytes.buffer, listed, secret),
      verifyWebhook(body, signed, secret.slice('whsec_'.length)),
    ]);
    for (const event of verified) expect(event).toEqual({ id: 'evt_1', ...JSON.parse(body) });
  });

  test('if verifyWebhook() does not know the type of an event, it returns the event with the type "unknown" and its whole body', async () => {
    const newer = JSON.stringify({ type: 'idea.archived', timestamp: '2030-01-01T00:00:00Z', data: { idea: 7 } });
    expect(await verifyWebhook(newer, sign(newer), secret)).toEqual({
      type: 'unknown',
      id: 'evt_1',
      body: JSON.parse(newer),
    });
  });

  test('verifyWebhook() rejects a webhook whose body, id, timestamp or secret does not match its signature', async () => {
    const signed = sign(body);
    expect(await keyOf(verifyWebhook(body.replace('3', '4'), signed, secret))).toBe('signature_mismatch');
    expect(await keyOf(verifyWebhook(body, { ...signed, 'webhook-id': 'evt_2' }, secret))).toBe('signature_mismatch');
    const later = String(Number(signed['webhook-timestamp']) + 1);
    expect(await keyOf(verifyWebhook(body, { ...signed, 'webhook-timestamp': later }, secret))).toBe(
      'signature_mismatch',
    );
    expect(await keyOf(verifyWebhook(body, signed, makeSecret(2)))).toBe('signature_mismatch');
  });

  test.each(['v1,', 'v1,AAAA', 'v1,%%%', 'v2,AAAA', ', ,', 'v1a,AAAA'])(
    'verifyWebhook() rejects the invalid signature %j',
    async bad => {
      const signed = { ...sign(body), 'webhook-signature': bad };
      expect(await keyOf(verifyWebhook(body, signed, secret))).toBe('signature_mismatch');
    },
  );

  test('verifyWebhook() accepts a webhook if one of several signatures matches', async () => {
    const signed = sign(body);
    const several = `v2,AAAA v1,%%% v1,AAAA ${signed['webhook-signature']}`;
    expect(await verifyWebhook(body, { ...signed, 'webhook-signature': several }, secret)).toBeDefined();
  });

  test.each([-400, 400])(
    'verifyWebhook() rejects a timestamp that is %i seconds from now unless toleranceSeconds allows it',
    async seconds => {
      const signed = sign(body, { at: new Date(Date.now() + seconds * 1000) });
      expect(await keyOf(verifyWebhook(body, signed, secret))).toBe('timestamp_out_of_tolerance');
      expect(await verifyWebhook(body, signed, secret, { toleranceSeconds: 600 })).toBeDefined();
    },
  );

  test('verifyWebhook() rejects an invalid timestamp', async () => {
    for (const time of ['soon', '1e9', '-1', 'NaN', '0x1']) {
      const signed = { ...sign(body), 'webhook-timestamp': time };
      expect(await keyOf(verifyWebhook(body, signed, secret))).toBe('timestamp_out_of_tolerance');
    }
  });

  test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])(
    'verifyWebhook() rejects a webhook without the header %s',
    async name => {
      expect(await keyOf(verifyWebhook(body, { ...sign(body), [name]: undefined }, secret))).toBe('missing_header');
      expect(await keyOf(verifyWebhook(body, { ...sign(body), [name]: '' }, secret))).toBe('missing_header');
    },
  );

  test('verifyWebhook() rejects an already parsed body and a body that is not an event', async () => {
    expect(await keyOf(verifyWebhook(JSON.parse(body), sign(body), secret))).toBe('malformed_payload');
    for (const text of ['', '{', 'null', '[]', '{"type":3}']) {
      expect(await keyOf(verifyWebhook(text, sign(text), secret))).toBe('malformed_payload');
    }
  });

  test.each(['', 'whsec_', 'whsec_%%%', undefined, 7])(
    'verifyWebhook() and signWebhook() throw a ConfigurationError for the invalid secret %j',
    async wrong => {
      for (const secrets of [wrong, [secret, wrong]] as string[][]) {
        for (const work of [verifyWebhook(body, sign(body), secrets), signWebhook(body, secrets)]) {
          const error = await work.catch((reason: unknown) => reason);
          expect(error).toBeInstanceOf(ConfigurationError);
          expect(error).not.toBeInstanceOf(WebhookVerificationError);
          expect(error).toMatchObject({ key: 'invalid_configuration', message: expect.stringMatching(/secret/) });
          expect(String(error)).not.toContain('%%%');
        }
      }
    },
  );

  test('verifyWebhook() throws a ConfigurationError for an empty list of secrets', async () => {
    await expect(verifyWebhook(body, sign(body), [])).rejects.toThrow(ConfigurationError);
  });

  test('verifyWebhook() reports a missing secret even if the webhook is invalid', async () => {
    await expect(verifyWebhook({} as never, {}, undefined)).rejects.toThrow(/^The webhook secret is not set\. /);
  });
});

describe('signWebhook', () => {
  test('an independent library and verifyWebhook() accept a webhook that signWebhook() signed', async () => {
    const event = { type: 'webhook.test', timestamp: '2026-03-14T09:26:53Z', data: { endpoint_id: 3 } } as const;
    const signed = await signWebhook(event, secret);
    expect(new Webhook(secret).verify(signed.body, signed.headers)).toEqual(event);
    const { 'webhook-id': id, 'content-type': type } = signed.headers;
    expect(await verifyWebhook(signed.body, signed.headers, secret)).toEqual({ ...event, id });
    expect(type).toBe('application/json');
    expect((await signWebhook(event, secret)).headers['webhook-id']).not.toBe(id);
  });

  test('signWebhook() signs exactly the given text, with the given id and timestamp', async () => {
    const at = new Date('2026-03-14T09:26:53.589Z');
    const { headers, body: text } = await signWebhook('{"type": "ü"}', secret, { id: 'evt_1', timestamp: at });
    expect(text).toBe('{"type": "ü"}');
    expect(headers).toEqual({ 'content-type': 'application/json', ...sign(text, { at }) });
    await expect(verifyWebhook(text, headers, secret)).rejects.toMatchObject({ key: 'timestamp_out_of_tolerance' });
  });

  test('a webhook that signWebhook() signs with two secrets can be verified with each of the secrets', async () => {
    const [old, fresh] = [makeSecret(2), makeSecret(3)];
    const signed = await signWebhook(body, [old, fresh]);
    for (const one of [old, fresh]) expect(await verifyWebhook(body, signed.headers, one)).toBeDefined();
    await expect(verifyWebhook(body, signed.headers, secret)).rejects.toMatchObject({ key: 'signature_mismatch' });
  });
});
