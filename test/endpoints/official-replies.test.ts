import { parse } from 'node-html-parser';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { chatUrlPurpose } from '../../server/domain/chat/chat-url.ts';
import { followIdea } from '../../server/domain/notifications/followers.ts';
import { signedIn, type Visitor } from '../admin/visitor.ts';
import { createMember, createWorld, insertIdea, issueToken, setUpdatedAt, type World } from '../helpers/fixtures.ts';
import { expectInvariants } from '../helpers/invariants.ts';
import { runJobs } from '../helpers/jobs.ts';
import { startReceiver } from '../helpers/receiver.ts';
import { request } from '../helpers/request.ts';
import { startServer } from '../helpers/server.ts';
import { startSmtpReceiver } from '../helpers/smtp-receiver.ts';
import { snapshot } from '../helpers/snapshot.ts';
import { administer, testSecretBox } from '../helpers/webhooks.ts';

let world: World;
let ideaId: number;
let token: string;
let moderatorId: number;

const smtp = await startSmtpReceiver();
const chat = await startReceiver(200);
const server = await startServer({
  environment: {
    SMTP_URL: smtp.url,
    MAIL_FROM: 'feedback@example.com',
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.1/32',
    RATE_LIMIT_SIGN_IN_IP: '1000000',
  },
});
beforeEach(async () => {
  world = await createWorld(server, {
    isPublic: true,
    statuses: [
      { key: 'new', category: 'inbox', label: 'New' },
      { key: 'planned', category: 'planned', label: 'Planned' },
      { key: 'no', category: 'declined', label: 'Not for us', allowComments: false },
    ],
  });
  ideaId = await insertIdea(server, world, { title: 'Dark mode', status: 'new' });
  moderatorId = await createMember(server, world.accountId, 'moderator', 'Mo Derator');
  ({ token } = await issueToken(server, world, 'moderate', { issuerId: moderatorId }));
});
afterEach(async () => {
  smtp.received.length = 0;
  chat.received.length = 0;
  await expectInvariants(server);
});
afterAll(async () => {
  await server.close();
  await smtp.close();
  await chat.close();
});

const setStatus = (status: string, reply?: unknown, headers = {}) =>
  request(server, `POST /api/v1/ideas/${ideaId}/status`, { token, json: { status, reply }, headers });
const comment = (body: string, by = token) =>
  request(server, `POST /api/v1/ideas/${ideaId}/comments`, { token: by, json: { body } });
const comments = async () => (await request(server, `GET /api/v1/ideas/${ideaId}/comments`, { token })).body.data;
type EventData = Record<string, { [field: string]: unknown }>;
const eventsOf = () =>
  server.sql<{ type: string; data: EventData; body: { data: EventData } }>(
    'select type, data, body from events where idea_id = $1 order by type',
    [ideaId],
  );
const boardPath = () => `/b/${world.boardSlug}`;
const ideaPath = () => `${boardPath()}/ideas/${ideaId}`;
const pinnedOn = (html: string) => {
  const reply = parse(html).querySelector('.official');
  return reply && [reply.querySelector('.prose')?.textContent, reply.querySelector('strong')?.textContent];
};
const read = async (path: string) => (await request(server, `GET ${path}`)).text;

async function createFollower(name: string) {
  const userId = await createMember(server, world.accountId, 'member', name);
  await server.sql('update users set notification_email = $2 where id = $1', [userId, `${name}@example.com`]);
  await administer(server, admin => followIdea(admin, world.accountId, { ideaId, userId }));
  return userId;
}

async function told() {
  expect(await runJobs(server)).toEqual([]);
  return server.sql<{ kind: string; user_id: number }>(
    'select kind, user_id from notifications where account_id = $1 order by id',
    [world.accountId],
  );
}

describe('the official reply of a status change', () => {
  test("an official reply is a comment with the field `official`, increases the comment count, and has the token's issuer as its author", async () => {
    const answer = await setStatus('planned', '  In spring.\n');
    expect([answer.status, answer.body.status_key, answer.body.comment_count]).toEqual([200, 'planned', 1]);
    expect(await comments()).toEqual([
      {
        id: expect.any(Number),
        idea_id: ideaId,
        body: 'In spring.',
        author: { id: moderatorId, name: 'Mo Derator' },
        created_at: expect.any(String),
        updated_at: expect.any(String),
        official: true,
      },
    ]);
    const [row] = await server.sql('select is_official from comments where idea_id = $1', [ideaId]);
    expect(row).toEqual({ is_official: true });
  });

  test('for an official reply, the server records an event comment.created, and the event of the status change also contains the reply', async () => {
    await setStatus('planned', 'In spring.');
    const [reply] = await comments();
    const events = Object.fromEntries((await eventsOf()).map(({ type, body }) => [type, body.data]));
    expect(events).toMatchObject({
      'comment.created': { comment: reply, idea: { status_key: 'new', comment_count: 1 } },
      'idea.status_changed': { reply, idea: { status_key: 'planned', comment_count: 1 } },
    });
  });

  test.each([
    ['an empty text', ''],
    ['only white space', ' \n'],
    ['501 characters', 'x'.repeat(501)],
    ['a number', 7],
    ['null', null],
  ])("an official reply with %s gets validation_failed, and the idea's status does not change", async (_, reply) => {
    const before = await snapshot(server);
    expect(await setStatus('planned', reply)).toMatchObject({ status: 422, key: 'validation_failed' });
    expect(await snapshot(server)).toEqual(before);
  });

  test('an official reply is not stored if the status does not exist, the board is frozen, or the idea is pending or merged', async () => {
    const expectRefusal = async (status: string, code: number, key: string) => {
      const before = await snapshot(server);
      expect(await setStatus(status, 'Never.')).toMatchObject({ status: code, key });
      expect(await snapshot(server)).toEqual(before);
    };
    await expectRefusal('unknown', 422, 'invalid_status');
    await server.sql('update boards set is_frozen = true where id = $1', [world.boardId]);
    await expectRefusal('planned', 423, 'board_frozen');
    await server.sql('update boards set is_frozen = false where id = $1', [world.boardId]);
    await server.sql(`update ideas set moderation_state = 'pending' where id = $1`, [ideaId]);
    await expectRefusal('planned', 422, 'idea_not_published');
    const targetId = await insertIdea(server, world, { status: 'new' });
    await server.sql(`update ideas set moderation_state = 'published' where id = $1`, [ideaId]);
    await request(server, `POST /api/v1/ideas/${ideaId}/merge`, { token, json: { target_id: targetId } });
    await expectRefusal('planned', 422, 'idea_already_merged');
  });

  test('an official reply needs a token with the moderate grant', async () => {
    const { token: writer } = await issueToken(server, world, 'write');
    const answer = await request(server, `POST /api/v1/ideas/${ideaId}/status`, {
      token: writer,
      json: { status: 'planned', reply: 'In spring.' },
    });
    expect(answer.key).toBe('insufficient_scope');
  });

  test('a user can give an official reply directly after their own comment, but cannot add a comment directly after their own official reply', async () => {
    await comment('We look into it.');
    expect((await setStatus('planned', 'In spring.')).status).toBe(200);
    expect(await comment('One more thing.')).toMatchObject({ status: 422, key: 'consecutive_comment' });
  });

  test("a request can set a status that is closed for comments together with an official reply, and the reply's author can edit the reply", async () => {
    expect((await setStatus('no', 'It does not fit our gaols.')).status).toBe(200);
    expect(await comment('Why?', (await issueToken(server, world, 'write')).token)).toMatchObject({
      key: 'status_comments_closed',
    });
    const [{ id }] = await comments();
    const visitor = await signedIn(server, moderatorId);
    const path = `${ideaPath()}/comments/${id}/edit`;
    await visitor.submit(path, path, { body: 'It does not fit our goals.' });
    expect((await comments()).map(({ body }: { body: string }) => body)).toEqual(['It does not fit our goals.']);
    for (const { body, data } of await eventsOf()) {
      for (const { comment, reply } of [data, body.data]) {
        expect((comment ?? reply)?.body).toBe('It does not fit our goals.');
      }
    }
  });

  test('a repeated request with the same official reply adds the reply only once, with or without an Idempotency-Key', async () => {
    const key = { 'idempotency-key': 'one' };
    await setStatus('planned', 'In spring.', key);
    expect((await setStatus('planned', 'In spring.', key)).headers.get('idempotency-replayed')).toBe('true');
    const before = await snapshot(server);
    expect((await setStatus('planned', 'In spring.')).status).toBe(200);
    expect(await snapshot(server)).toEqual(before);
  });

  test('an official reply can be added without a status change, and then the server records only the event comment.created', async () => {
    await setStatus('planned', 'In spring.');
    expect((await setStatus('planned', 'In summer.')).body.comment_count).toBe(2);
    const types = (await eventsOf()).map(({ type }) => type).sort();
    expect(types).toEqual(['comment.created', 'comment.created', 'idea.status_changed']);
  });

  test('an official reply with the same text as an earlier reply is added again if the request also changes the status', async () => {
    await setStatus('planned', 'Thank you.');
    await setStatus('no', 'Thank you.');
    expect(await comments()).toHaveLength(2);
  });
});

describe('the message about an official reply', () => {
  test('a follower gets one notification and one mail about a status change with an official reply, and each of them quotes the reply', async () => {
    const follower = await createFollower('grace');
    await setStatus('planned', 'In spring.\nPromised.');
    expect(await told()).toEqual([{ kind: 'idea.status_changed', user_id: follower }]);
    expect(smtp.received).toHaveLength(1);
    const { mail } = smtp.received[0] ?? {};
    expect(mail?.subject).toBe('“Dark mode” is now Planned');
    expect(mail?.text).toContain('Mo Derator moved “Dark mode” to Planned with an official reply:');
    expect(mail?.text).toContain('> In spring.\n> Promised.');
    const { html } = await (await signedIn(server, follower)).get('/admin/profile/notifications');
    expect(parse(html).querySelectorAll('.card')).toHaveLength(1);
    expect(html).toContain('In spring. Promised.');
  });

  test('an official reply without a status change notifies followers of a new comment', async () => {
    const follower = await createFollower('grace');
    await setStatus('new', 'We look into it.');
    expect(await told()).toEqual([{ kind: 'comment.created', user_id: follower }]);
  });

  test('a mentioned member gets one notification of an official reply: about the new status if they follow the idea, otherwise about the mention', async () => {
    const follower = await createFollower('Grace');
    const other = await createMember(server, world.accountId, 'member', 'Otto');
    await setStatus('planned', 'Thanks @Grace and @Otto.');
    expect(await told()).toEqual([
      { kind: 'idea.status_changed', user_id: follower },
      { kind: 'user.mentioned', user_id: other },
    ]);
  });

  test('after an official reply is edited, the server notifies newly mentioned members, but notifies no follower a second time', async () => {
    const follower = await createFollower('Grace');
    const other = await createMember(server, world.accountId, 'member', 'Otto');
    await setStatus('planned', 'Thanks.');
    await told();
    const [{ id }] = await comments();
    const path = `${ideaPath()}/comments/${id}/edit`;
    await (await signedIn(server, moderatorId)).submit(path, path, { body: 'Thanks @Grace and @Otto.' });
    expect(await told()).toEqual([
      { kind: 'idea.status_changed', user_id: follower },
      { kind: 'user.mentioned', user_id: other },
    ]);
  });

  test('if a chat channel receives posts about status changes, comments or both, the channel gets one post about a status change with an official reply', async () => {
    const add = (path: string, eventTypes: string[]) =>
      server.sql(
        `insert into chat_channels (account_id, board_id, kind, url, event_types) values ($1, $2, 'slack', $3, $4)`,
        [world.accountId, world.boardId, testSecretBox.seal(`${chat.url}${path}`, chatUrlPurpose), eventTypes],
      );
    await add('/all', []);
    await add('/both', ['comment.created', 'idea.status_changed']);
    await add('/comments', ['comment.created']);
    await setStatus('planned', 'In spring.');
    expect(await runJobs(server)).toEqual([]);
    const posts = chat.received.map(({ path, body }) => [path, JSON.parse(body).text]).sort();
    expect(posts).toEqual([
      ['/all', 'Mo Derator moved Dark mode to Planned · A board'],
      ['/both', 'Mo Derator moved Dark mode to Planned · A board'],
      ['/comments', 'Mo Derator commented on Dark mode · A board'],
    ]);
    for (const { body } of chat.received) expect(body).toContain('In spring.');
  });
});

describe('the pages with an official reply', () => {
  let moderator: Visitor;
  const statusForm = () => `/admin/ideas/${ideaId}/status`;
  const onBoard = () => `${statusForm()}?on=${world.boardSlug}`;
  beforeEach(async () => {
    moderator = await signedIn(server, moderatorId);
  });

  test("a moderator can give an official reply on an idea's page, and everybody sees the reply on this page above the comments", async () => {
    const { location } = await moderator.submit(ideaPath(), onBoard(), { status: 'planned', reply: ' In spring.\n' });
    expect(location).toBe(`${ideaPath()}?notice=status_set`);
    const html = await read(ideaPath());
    expect(pinnedOn(html)).toEqual(['In spring.', 'Mo Derator']);
    expect(html.indexOf('class="card official')).toBeLessThan(html.indexOf('id="comments"'));
    expect(parse(html).querySelector('.comments li .chip')?.textContent).toBe('Official reply');
  });

  test('the page of an idea shows the newest official reply above the comments, on each page of comments, until the reply is deleted', async () => {
    await setStatus('planned', 'In spring.');
    await setStatus('new', 'Not yet.');
    await server.sql(
      `insert into comments (account_id, idea_id, author_id, body) select $1, $2, $3, 'Comment ' || n from generate_series(1, 25) n`,
      [world.accountId, ideaId, world.ownerId],
    );
    await server.sql('update ideas set comment_count = 27 where id = $1', [ideaId]);
    const first = await read(ideaPath());
    expect(pinnedOn(first)).toEqual(['Not yet.', 'Mo Derator']);
    const next = parse(first).querySelector('.pagination a')?.getAttribute('href') ?? '';
    expect(pinnedOn(await read(next.replace(/#.*/, '')))).toEqual(['Not yet.', 'Mo Derator']);
    const [, { id }] = await comments();
    const path = `${ideaPath()}/comments/${id}/delete`;
    await moderator.submit(path, path);
    expect(pinnedOn(await read(ideaPath()))).toEqual(['In spring.', 'Mo Derator']);
    await server.sql('delete from comments where idea_id = $1', [ideaId]);
    await server.sql('update ideas set comment_count = 0 where id = $1', [ideaId]);
  });

  test('a moderator can give an official reply in the admin area, and an empty reply adds no comment', async () => {
    await moderator.submit(statusForm().replace('/status', ''), statusForm(), { status: 'planned', reply: ' ' });
    expect(await comments()).toEqual([]);
    await moderator.submit(statusForm().replace('/status', ''), statusForm(), { status: 'new', reply: 'Not yet.' });
    const { html } = await moderator.get(statusForm().replace('/status', ''));
    expect(pinnedOn(html)).toEqual(['Not yet.', 'Mo Derator']);
  });

  test('if the form for a status change is refused, nothing changes, and the form keeps the entered official reply and status', async () => {
    const reply = 'x'.repeat(501);
    const { status, html } = await moderator.submit(ideaPath(), onBoard(), { status: 'planned', reply });
    expect(status).toBe(422);
    const page = parse(html);
    expect(page.querySelector('#problem')?.textContent).toContain('Enter an official reply of at most 500 characters');
    expect(page.querySelector('[name=reply]')?.textContent).toBe(reply);
    expect(page.querySelector('#status option[selected]')?.getAttribute('value')).toBe('planned');
    expect(await comments()).toEqual([]);
  });

  test("an entry of the Atom feed has the newest official reply after the idea's text, and the reply's time as the update time", async () => {
    await setStatus('planned', 'In spring <soon>.');
    await setUpdatedAt(server, ideaId, '2026-01-01');
    const [{ created_at }] = await comments();
    const feed = await read(`${boardPath()}/feed.atom`);
    expect(feed).toContain('Its description.\n\nOfficial reply by Mo Derator:\nIn spring &lt;soon&gt;.</content>');
    expect(feed).toContain(`<updated>${created_at}</updated>`);
  });
});
