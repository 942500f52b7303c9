import { beforeEach, describe, expect, test } from 'vitest';
import { createIdea } from '../../../server/domain/ideas/create-idea.ts';
import { mergeIdea } from '../../../server/domain/merging/merge-idea.ts';
import { followIdea } from '../../../server/domain/notifications/followers.ts';
import { buildUnsubscribeTokens } from '../../../server/domain/notifications/unsubscribe-token.ts';
import { setIdeaStatus } from '../../../server/domain/statuses/set-idea-status.ts';
import { readAudit } from '../../helpers/audit.ts';
import { testClock } from '../../helpers/clock.ts';
import { createMember, createWorld, insertIdea, type World } from '../../helpers/fixtures.ts';
import { closeAfterAll } from '../../helpers/for-file.ts';
import { runJobs } from '../../helpers/jobs.ts';
import { rawRequest } from '../../helpers/raw-request.ts';
import { request } from '../../helpers/request.ts';
import { runAsUser } from '../../helpers/run-as-user.ts';
import { startServerForFile, startServerForTest, testAppKey } from '../../helpers/server.ts';
import { startSmtpReceiver } from '../../helpers/smtp-receiver.ts';
import { snapshot } from '../../helpers/snapshot.ts';
import { administer } from '../../helpers/webhooks.ts';

let world: World;
let ideaId: number;
let userId: number;

const smtp = closeAfterAll(await startSmtpReceiver());
const server = await startServerForFile({ environment: { SMTP_URL: smtp.url, BASE_URL: 'https://ideas.example.com' } });

beforeEach(async () => {
  smtp.received.length = 0;
  world = await createWorld(server);
  ideaId = await insertIdea(server, world, { title: 'Dark mode' });
  userId = await createMember(server, world.accountId, 'member', 'Grace');
  await server.sql(`update users set notification_email = 'grace@example.com' where id = $1`, [userId]);
  await follow(ideaId);
});

const follow = (id: number) => administer(server, admin => followIdea(admin, world.accountId, { ideaId: id, userId }));

const setStatus = (key: string) => runAsUser(server, world, world.ownerId, op => setIdeaStatus(op, ideaId, key));

async function followed() {
  const rows = await server.sql<{ idea_id: number }>(
    'select idea_id from followers where user_id = $1 order by idea_id',
    [userId],
  );
  return rows.map(({ idea_id }) => idea_id);
}

async function addressOf(id: number) {
  const [row] = await server.sql<{ notification_email: string | null }>(
    'select notification_email from users where id = $1',
    [id],
  );
  return row?.notification_email;
}

/** Returns the path of the URL in the header List-Unsubscribe of the last mail. */
function pathInMail(): string {
  const header = smtp.received.at(-1)?.mail.headers.find(({ key }) => key === 'list-unsubscribe')?.value ?? '';
  return header.replace(/^<https:\/\/ideas\.example\.com|>$/g, '');
}

const oneClick = (path: string, headers = {}, raw: RequestInit['body'] = 'List-Unsubscribe=One-Click') =>
  request(server, `POST ${path}`, {
    raw,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });

describe('a one-click unsubscription', () => {
  test('a one-click unsubscription from a mail about an idea unfollows only this idea', async () => {
    const other = await insertIdea(server, world, { title: 'Another' });
    await follow(other);
    await setStatus('planned');
    await runJobs(server);
    const answer = await oneClick(pathInMail());

    expect(answer.status).toBe(200);
    expect(await followed()).toEqual([other]);
    expect(await addressOf(userId)).toBe('grace@example.com');
    await setStatus('done');
    await runJobs(server);
    expect(smtp.received).toHaveLength(1);
  });

  test.each([
    [
      'a multipart form',
      () => {
        const form = new FormData();
        form.set('List-Unsubscribe', 'One-Click');
        return { raw: form };
      },
    ],
    ['JSON', () => ({ json: { 'List-Unsubscribe': 'One-Click' } })],
    ['no body', () => ({})],
  ])('a one-click unsubscription succeeds if the request has %s', async (_, options) => {
    await setStatus('planned');
    await runJobs(server);

    expect((await request(server, `POST ${pathInMail()}`, options())).status).toBe(200);
    expect(await followed()).toEqual([]);
  });

  test('a one-click unsubscription can be repeated without an error', async () => {
    await setStatus('planned');
    await runJobs(server);
    for (let time = 0; time < 3; time++) expect((await oneClick(pathInMail())).status).toBe(200);
    expect(await followed()).toEqual([]);
  });

  test('a one-click unsubscription from the mail about a merge unfollows the target if the user follows the target', async () => {
    const targetId = await insertIdea(server, world, { title: 'Themes' });
    await server.sql('delete from followers where user_id = $1', [userId]);
    await follow(targetId);
    await runAsUser(server, world, world.ownerId, op => mergeIdea(op, ideaId, targetId));
    await runJobs(server);
    await oneClick(pathInMail());

    expect(await followed()).toEqual([]);
  });

  test("a one-click unsubscription from a moderator's mail about a pending idea removes only that moderator's notification e-mail address", async () => {
    await server.sql('update boards set pre_moderation = true where id = $1', [world.boardId]);
    const moderator = await createMember(server, world.accountId, 'moderator');
    await server.sql(`update users set notification_email = 'moderator@example.com' where id = $1`, [moderator]);
    await runAsUser(server, world, userId, op => createIdea(op, { title: 'Export', body: 'CSV' }), false);
    await runJobs(server);
    expect(smtp.received.map(({ to }) => to)).toEqual(['moderator@example.com']);
    expect((await oneClick(pathInMail())).status).toBe(200);

    expect(await addressOf(moderator)).toBeNull();
    expect(await addressOf(userId)).toBe('grace@example.com');
    expect(await followed()).toContain(ideaId);
    const updates = readAudit(server.auditLines).filter(({ event }) => event === 'user.updated');
    expect(updates.at(-1)).toMatchObject({ user_id: moderator, changed: ['notification_email'] });
  });

  test('a one-click unsubscription with a body that is too large gets 413', async () => {
    await setStatus('planned');
    await runJobs(server);
    expect((await oneClick(pathInMail(), {}, 'x'.repeat(20_000))).status).toBe(413);
    expect(await followed()).toEqual([ideaId]);
  });
});

describe('the unsubscribe page', () => {
  test('a GET request for the unsubscribe page shows a confirmation button and changes nothing', async () => {
    await setStatus('planned');
    await runJobs(server);
    const before = await snapshot(server);
    const page = await request(server, `GET ${pathInMail()}`);
    const head = await rawRequest(server, 'HEAD', pathInMail());

    expect([page.status, head.status]).toEqual([200, 200]);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.text).toContain('<form method="post"><button>Unfollow</button></form>');
    expect(await snapshot(server)).toEqual(before);
  });

  test('the button of the unsubscribe page unfollows the idea', async () => {
    await setStatus('planned');
    await runJobs(server);
    // The HTML form of the page has no action and no fields. So a browser sends an empty POST request to the URL of the
    // page.
    const answer = await oneClick(pathInMail(), {}, '');

    expect(answer.status).toBe(200);
    expect(answer.text).toContain('<h1>Unfollowed</h1>');
    expect(await followed()).toEqual([]);
  });

  test('the headers of the unsubscribe page forbid frames, caching, indexing, referrers and scripts', async () => {
    const token = buildUnsubscribeTokens(testAppKey).make({ userId, ideaId: 'all' });
    for (const path of [`/unsubscribe?token=${token}`, '/unsubscribe']) {
      const { headers } = await request(server, `GET ${path}`);
      expect(headers.get('content-security-policy')).toMatch(
        /^default-src 'none';style-src 'self';img-src 'self';form-action 'self';base-uri 'none';frame-ancestors 'none'$/,
      );
      expect(Object.fromEntries(headers)).toMatchObject({
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        'x-robots-tag': 'noindex',
      });
    }
  });
});

describe('an invalid unsubscribe token', () => {
  test('a request with an invalid unsubscribe token always gets the same 404 response and changes nothing', async () => {
    const tokens = buildUnsubscribeTokens(testAppKey);
    const ours = tokens.make({ userId, ideaId });
    const mac = ours.split('.')[2];
    const others = buildUnsubscribeTokens(Buffer.alloc(32, 9)).make({ userId, ideaId });
    const forged = [
      '',
      'x',
      others,
      `${userId}.${ideaId}.`,
      `${userId}.${ideaId}.${'A'.repeat(43)}`,
      `${userId}.all.${mac}`,
      `${userId + 1}.${ideaId}.${mac}`,
      `${userId}.${ideaId + 1}.${mac}`,
      `0${ours}`,
      `${ours}A`,
      ours.slice(0, -1),
    ];
    const before = await snapshot(server);
    const answers = new Set<string>();
    for (const token of forged) {
      for (const method of ['GET', 'POST']) {
        const { status, text } = await request(server, `${method} /unsubscribe?token=${token}`);
        expect([status, token]).toEqual([404, token]);
        answers.add(text);
      }
    }
    const twice = await request(server, `GET /unsubscribe?token=${ours}&token=${ours}`);
    expect(twice.status).toBe(404);
    expect((await request(server, 'POST /unsubscribe')).status).toBe(404);
    expect(answers.size).toBe(1);
    expect(await snapshot(server)).toEqual(before);
  });

  test('an unsubscribe request with a valid token gets 200 even if the user and the idea do not exist', async () => {
    const tokens = buildUnsubscribeTokens(testAppKey);
    const answer = await request(
      server,
      `POST /unsubscribe?token=${tokens.make({ userId: 999_999, ideaId: 999_999 })}`,
    );
    expect(answer.status).toBe(200);
  });
});

test('no log line contains an unsubscribe token', async () => {
  const token = buildUnsubscribeTokens(testAppKey).make({ userId, ideaId });
  await request(server, `GET /unsubscribe?token=${token}`);
  await oneClick(`/unsubscribe?token=${token}`);

  expect(server.logLines.some(line => line.includes('/unsubscribe'))).toBe(true);
  expect(server.logLines.filter(line => line.includes(token))).toEqual([]);
});

test('the unsubscribe page answers 405 to a DELETE request, with GET, HEAD and POST in the Allow header', async () => {
  const answer = await request(server, 'DELETE /unsubscribe');
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST']);
});

test('too many unsubscribe requests from one IP address get 429', async () => {
  const strict = await startServerForTest({ clock: testClock(), environment: { RATE_LIMIT_IP: '2' } });
  const statuses = [];
  for (let time = 0; time < 3; time++) statuses.push((await request(strict, 'POST /unsubscribe')).status);
  expect(statuses).toEqual([404, 404, 429]);
});
