import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { chatUrlPurpose } from '../../../server/domain/chat/chat-url.ts';
import { commentOnIdea } from '../../../server/domain/comments/comments.ts';
import { createIdea } from '../../../server/domain/ideas/create-idea.ts';
import { mergeIdea, unmergeIdea } from '../../../server/domain/merging/merge-idea.ts';
import { approveIdea, rejectIdea } from '../../../server/domain/moderation/moderate-idea.ts';
import { buildSecretBox } from '../../../server/domain/secret-box.ts';
import { setIdeaStatus } from '../../../server/domain/statuses/set-idea-status.ts';
import { type ChatKind, chatKinds } from '../../../server/entities/chat-channel.ts';
import { readAudit } from '../../helpers/audit.ts';
import { createBoard, createMember, createWorld, insertIdea, issueToken, type World } from '../../helpers/fixtures.ts';
import { makeJobsDue, runJobs, waitingJobs } from '../../helpers/jobs.ts';
import { type Receiver, startReceiver } from '../../helpers/receiver.ts';
import { request } from '../../helpers/request.ts';
import { runAsUser } from '../../helpers/run-as-user.ts';
import { startServerForFile } from '../../helpers/server.ts';
import { addWebhook, administer, testSecretBox } from '../../helpers/webhooks.ts';

let chat: Receiver;
let world: World;
let ideaId: number;

const server = await startServerForFile({
  environment: { WEBHOOK_ALLOWED_CIDRS: '127.0.0.1/32', BASE_URL: 'https://ideas.example.com' },
});

beforeEach(async () => {
  chat = await startReceiver(200);
  world = await createWorld(server);
  ideaId = await insertIdea(server, world, { title: 'Dark mode' });
});

afterEach(async () => {
  await chat.close();
  await server.sql('delete from chat_channels');
  await server.sql('delete from graphile_worker._private_jobs');
});

/** Inserts a chat channel directly into the database, because the server would reject the URL of the test receiver. */
async function insertChannel(
  kind: ChatKind,
  { eventTypes = [], boardId = world.boardId, url = `${chat.url}/${kind}`, box = testSecretBox } = {},
): Promise<number> {
  const [row] = await server.sql<{ id: number }>(
    'insert into chat_channels (account_id, board_id, kind, url, event_types) values ($1, $2, $3, $4, $5) returning id',
    [world.accountId, boardId, kind, box.seal(url, chatUrlPurpose), eventTypes],
  );
  return row?.id ?? 0;
}

const setStatus = (status = 'planned') =>
  runAsUser(server, world, world.ownerId, op => setIdeaStatus(op, ideaId, status));
const bodies = () => chat.received.map(({ body }) => JSON.parse(body));
const texts = () => bodies().map(body => body.text);

async function stateOf(channelId: number) {
  const [row] = await server.sql<{ disabled_reason: string | null; is_disabled: boolean }>(
    'select disabled_reason, disabled_at is not null as is_disabled from chat_channels where id = $1',
    [channelId],
  );
  return row;
}

describe('a chat channel', () => {
  test('a chat channel gets its posts at its own URL, in the JSON format of its chat product', async () => {
    for (const kind of chatKinds) await insertChannel(kind);
    await setStatus();
    expect(await runJobs(server)).toEqual([]);

    const byPath = new Map(chat.received.map(({ path, headers, body }) => [path, { headers, body: JSON.parse(body) }]));
    expect([...byPath.keys()].sort()).toEqual(['/discord', '/mattermost', '/slack', '/teams']);
    for (const { headers } of byPath.values()) expect(headers['content-type']).toBe('application/json; charset=utf-8');
    const url = `https://ideas.example.com/b/${world.boardSlug}/ideas/${ideaId}`;
    expect(byPath.get('/slack')?.body.blocks[0].elements[0].elements[2]).toEqual({
      type: 'link',
      url,
      text: 'Dark mode',
    });
    expect(byPath.get('/discord')?.body).toMatchObject({ allowed_mentions: { parse: [] } });
    expect(byPath.get('/mattermost')?.body.text).toBe(
      `**The owner** moved [Dark mode](${url}) to **planned** · A board`,
    );
    expect(byPath.get('/teams')?.body.attachments[0].content.actions[0].url).toBe(url);
  });

  test('a chat channel gets posts for new ideas, status changes, comments, merges and unmerges in the order of the events, but not for votes', async () => {
    await insertChannel('slack');
    await addWebhook(server, world, { url: `${chat.url}/webhook`, eventTypes: ['idea.voted'] });
    const { token } = await issueToken(server, world, 'write');
    const targetId = await insertIdea(server, world, { title: 'Themes' });
    const created = await runAsUser(server, world, world.ownerId, op =>
      createIdea(op, { title: 'Export', body: 'CSV' }),
    );
    ideaId = created.id;
    await setStatus();
    await runAsUser(server, world, world.ownerId, op => commentOnIdea(op, ideaId, 'Soon.'));
    expect((await request(server, `POST /api/v1/ideas/${ideaId}/vote`, { token, json: { value: 'up' } })).status).toBe(
      200,
    );
    await runAsUser(server, world, world.ownerId, op => mergeIdea(op, ideaId, targetId));
    await runAsUser(server, world, world.ownerId, op => unmergeIdea(op, ideaId));
    expect(await server.sql(`select from events where type = 'idea.voted'`)).toHaveLength(1);
    await runJobs(server);

    const posts = chat.received.filter(({ path }) => path === '/slack').map(({ body }) => JSON.parse(body).text);
    expect(posts).toEqual([
      'The owner submitted Export · A board',
      'The owner moved Export to planned · A board',
      'The owner commented on Export · A board',
      'The owner merged Export into Themes · A board',
      'The owner took Export out of Themes again · A board',
    ]);
  });

  test('the links of a post about a comment show the comment on the page of the idea', async () => {
    await insertChannel('mattermost');
    await insertChannel('teams');
    const { id } = await runAsUser(server, world, world.ownerId, op => commentOnIdea(op, ideaId, 'Soon.'));
    expect(await runJobs(server)).toEqual([]);
    const [mattermost, teams] = ['/mattermost', '/teams'].map(one =>
      JSON.parse(chat.received.find(({ path }) => path === one)?.body ?? ''),
    );
    const url = `https://ideas.example.com/b/${world.boardSlug}/ideas/${ideaId}?comment=${id}#comment-${id}`;
    expect(mattermost.text).toContain(`commented on [Dark mode](${url})`);
    expect(teams.attachments[0].content.actions[0].url).toBe(url);
  });

  test('a chat job that an older server version queued without an account id still sends its post to the channel', async () => {
    const channelId = await insertChannel('slack');
    await setStatus();
    await server.sql('delete from graphile_worker._private_jobs');
    await server.sql(
      `select graphile_worker.add_job('post_to_chat', json_build_object('channel_id', $1::bigint, 'event_id', id))
      from events where idea_id = $2`,
      [channelId, ideaId],
    );
    expect(await runJobs(server)).toEqual([]);
    expect(texts()).toEqual(['The owner moved Dark mode to planned · A board']);
  });

  test('a chat channel with selected event types gets posts only for events of these types', async () => {
    await insertChannel('slack', { eventTypes: ['comment.created'] as never[] });
    await setStatus();
    await runAsUser(server, world, world.ownerId, op => commentOnIdea(op, ideaId, 'Soon.'));
    await runJobs(server);

    expect(texts()).toEqual(['The owner commented on Dark mode · A board']);
  });

  test('an event causes no post in a disabled chat channel or in a chat channel of another board', async () => {
    const { id: boardId } = await createBoard(server, world.accountId);
    await insertChannel('slack', { boardId });
    const disabled = await insertChannel('slack');
    await server.sql(`update chat_channels set disabled_at = now(), disabled_reason = 'x' where id = $1`, [disabled]);
    await setStatus();
    await runJobs(server);

    expect(chat.received).toEqual([]);
  });

  test('a chat channel gets a post about a pending idea only after a moderator has approved the idea, and no post about a rejected idea', async () => {
    const author = await createMember(server, world.accountId, 'member', 'Grace');
    await server.sql('update boards set pre_moderation = true where id = $1', [world.boardId]);
    await insertChannel('slack');
    const submit = (title: string) =>
      runAsUser(server, world, author, op => createIdea(op, { title, body: 'x' }), false);
    const [good, bad] = [await submit('Good'), await submit('Bad')];
    await runJobs(server);
    expect(chat.received).toEqual([]);

    await administer(server, admin => approveIdea(admin, world.accountId, good.id));
    await administer(server, admin => rejectIdea(admin, world.accountId, bad.id, 'No.'));
    await runJobs(server);
    expect(texts()).toEqual(['Grace submitted Good · A board']);
  });
});

describe('a failed chat post', () => {
  test.each([404, 410])(
    "after the HTTP status %i in the response to a chat post, the server disables the chat channel and removes the channel's waiting posts",
    async status => {
      const channelId = await insertChannel('slack');
      chat.respondWith(status);
      await setStatus('planned');
      await setStatus('done');
      expect(await runJobs(server)).toEqual([]);

      expect(chat.received).toHaveLength(1);
      expect(await stateOf(channelId)).toEqual({ is_disabled: true, disabled_reason: `The chat answered ${status}` });
      expect(readAudit(server.auditLines.splice(0))).toMatchObject([
        {
          event: 'chat_channel.disabled',
          by: 'server',
          account_id: world.accountId,
          channel_id: channelId,
          reason: 'gone',
        },
      ]);
      expect(await waitingJobs(server)).toEqual([]);
    },
  );

  test('a chat post that gets the HTTP status 429 is retried after the time in Retry-After', async () => {
    const channelId = await insertChannel('discord');
    chat.respondWith(response => response.writeHead(429, { 'retry-after': '2.5' }).end());
    await setStatus();
    const before = Date.now();
    await runJobs(server);

    const [job] = await waitingJobs(server);
    expect(job).toMatchObject({ task: 'post_to_chat', payload: { channel_id: channelId, retries: 1 } });
    const waitMs = new Date(job?.run_at ?? 0).getTime() - before;
    expect(waitMs).toBeGreaterThanOrEqual(2500);
    expect(waitMs).toBeLessThan(60_000);

    chat.respondWith(200);
    await makeJobsDue(server);
    await runJobs(server);
    expect(chat.received).toHaveLength(2);
    expect(await stateOf(channelId)).toMatchObject({ is_disabled: false });
  });

  test.each([400, 401, 500, 302])(
    'a chat post that gets the HTTP status %i is retried, and the channel stays enabled',
    async status => {
      const channelId = await insertChannel('slack');
      chat.respondWith(status);
      await setStatus();
      expect(await runJobs(server)).toEqual([]);
      await makeJobsDue(server);
      expect(await runJobs(server)).toEqual([]);

      expect(chat.received).toHaveLength(2);
      expect(await waitingJobs(server)).toMatchObject([{ task: 'post_to_chat', payload: { retries: 2 } }]);
      expect(await stateOf(channelId)).toMatchObject({ is_disabled: false });
    },
  );

  test('a failing post to one chat channel does not delay a post to another chat channel', async () => {
    await insertChannel('slack', { url: 'http://127.0.0.1:1/' });
    await insertChannel('slack');
    await setStatus();
    await runJobs(server);

    expect(chat.received).toHaveLength(1);
  });

  test('the server stops retrying a failing chat post when the event of the post is more than a day old', async () => {
    await insertChannel('slack');
    chat.respondWith(500);
    await setStatus();
    await runJobs(server);
    await server.sql(`update events set occurred_at = now() - interval '25 hours'`);
    await makeJobsDue(server);
    await runJobs(server);

    expect(chat.received).toHaveLength(2);
    expect(await waitingJobs(server)).toEqual([]);
    expect(server.logLines.some(line => line.includes('could not be posted to a chat'))).toBe(true);
  });

  test('the server opens no connection for a chat post to a loopback address outside WEBHOOK_ALLOWED_CIDRS', async () => {
    const inside = await startReceiver(200);
    const port = new URL(inside.url).port;
    await insertChannel('slack', { url: `http://[::1]:${port}/` });
    await insertChannel('slack', { url: `http://127.0.0.2:${port}/` });
    await setStatus();
    await runJobs(server);
    await inside.close();

    expect(inside.received).toEqual([]);
    expect(await waitingJobs(server)).toHaveLength(2);
  });

  test("a chat post waits for a retry if the channel's URL was encrypted with another APP_KEY", async () => {
    await insertChannel('slack', { box: buildSecretBox(Buffer.alloc(32, 9)) });
    await setStatus();
    expect(await runJobs(server)).toEqual([]);

    expect(chat.received).toEqual([]);
    expect(await waitingJobs(server)).toHaveLength(1);
  });
});

test('no log line contains the secret path in the URL of a chat channel', async () => {
  await insertChannel('slack', { url: `${chat.url}/services/T0/B0/secret` });
  chat.respondWith(410);
  await setStatus();
  await runJobs(server);

  expect(chat.received.map(({ path }) => path)).toEqual(['/services/T0/B0/secret']);
  expect(server.logLines.filter(line => line.includes('B0/secret'))).toEqual([]);
});
