import { parse } from 'node-html-parser';
import { beforeEach, describe, expect, test } from 'vitest';
import { givePassword, hiddenFields, signedIn, Visitor } from '../admin/visitor.ts';
import { readAudit } from '../helpers/audit.ts';
import { testClock } from '../helpers/clock.ts';
import { createMember, createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { expectInvariants } from '../helpers/invariants.ts';
import { runJobs } from '../helpers/jobs.ts';
import { startReceiver } from '../helpers/receiver.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile, startServerForTest } from '../helpers/server.ts';
import { addWebhook, fastForward } from '../helpers/webhooks.ts';

const start = new Date('2026-03-02T09:00:00Z');
const afterMinutes = (minutes: number) => new Date(start.getTime() + minutes * 60_000);
const clock = testClock(start);
let world: World;
let ideaId: number;
let memberId: number;
let member: Visitor;

const environment = { RATE_LIMIT_SIGN_IN_IP: '1000000', WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' };
const server = await startServerForFile({ clock, environment });
beforeEach(async () => {
  clock.set(start);
  world = await createWorld(server);
  memberId = await createMember(server, world.accountId, 'member', 'Mona Member');
  member = await signedIn(server, memberId);
  ideaId = await insertIdea(server, world, { title: 'The one' });
});

const ideaPath = () => `/b/${world.boardSlug}/ideas/${ideaId}`;
const commentPath = (id: number, verb: 'edit' | 'delete') => `${ideaPath()}/comments/${id}/${verb}`;
const problemIn = (html: string) => parse(html).querySelector('#problem')?.textContent.trim();
const commentsOf = () =>
  server.sql<{ id: number; body: string; edited_at: string | null }>(
    'select id, body, edited_at from comments where idea_id = $1 order by id',
    [ideaId],
  );
const countOf = async () => {
  const [idea] = await server.sql<{ comment_count: number }>('select comment_count from ideas where id = $1', [ideaId]);
  return idea?.comment_count;
};

async function comment(body: string, by = member): Promise<number> {
  const { location } = await by.submit(ideaPath(), `${ideaPath()}/comments`, { body });
  return Number(/#comment-(\d+)$/.exec(location ?? '')?.[1]);
}

/** Sends a form without opening the form's page first, like a browser that opened the page earlier. */
async function send(path: string, fields: Record<string, string> = {}, by = member) {
  const { html } = await by.get(`/b/${world.boardSlug}/new`);
  const form_token = parse(html).querySelector('[name=form_token]')?.getAttribute('value') ?? '';
  return by.post(path, { form_token, ...fields });
}

const linksOn = async (id: number, by = member) =>
  parse((await by.get(ideaPath())).html)
    .querySelectorAll(`#comment-${id} a`)
    .map(link => link.getAttribute('href'));

/**
 * Returns the stored copies of a comment's text. The event about the new comment has copies, and so does the stored
 * response to the request that created the comment.
 */
async function copiesOf(id: number) {
  const events = await server.sql(
    `select data -> 'comment' ->> 'body' as data, body -> 'data' -> 'comment' ->> 'body' as body from events
    where idea_id = $1 and type = 'comment.created' and body -> 'data' -> 'comment' ->> 'id' = $2::text`,
    [ideaId, id],
  );
  const answers = await server.sql<{ body: string }>('select body from idempotency_keys where account_id = $1', [
    world.accountId,
  ]);
  return { events, answers: answers.map(({ body }) => JSON.parse(body).body) };
}

describe('editing a comment', () => {
  test('an author can edit a comment for 15 minutes, and the comment keeps its position and is marked as edited', async () => {
    const id = await comment('Frist!');
    await comment('Second.', await signedIn(server, world.ownerId));
    clock.set(new Date(afterMinutes(15).getTime() - 1));
    expect(await linksOn(id)).toEqual([commentPath(id, 'edit'), commentPath(id, 'delete')]);
    const page = await member.get(commentPath(id, 'edit'));
    expect(parse(page.html).querySelector('textarea')?.textContent).toBe('Frist!');
    const sent = await member.submit(commentPath(id, 'edit'), commentPath(id, 'edit'), { body: ' First! ' });
    expect(sent.location).toBe(`${ideaPath()}?notice=comment_edited&comment=${id}#comment-${id}`);
    const shown = parse((await member.get(ideaPath())).html).querySelectorAll('.comments li');
    expect(shown.map(one => one.querySelector('.prose')?.textContent)).toEqual(['First!', 'Second.']);
    expect(shown.map(one => one.textContent.includes('edited'))).toEqual([true, false]);
    expect(await countOf()).toBe(2);
    await expectInvariants(server);
  });

  test('an author can no longer edit or delete a comment after 15 minutes, and the refused form keeps the entered text', async () => {
    const id = await comment('As it was');
    clock.set(afterMinutes(15));
    expect(await linksOn(id)).toEqual([]);
    expect((await member.get(commentPath(id, 'edit'))).status).toBe(422);
    expect((await member.get(commentPath(id, 'delete'))).status).toBe(422);
    const edit = await send(commentPath(id, 'edit'), { body: 'Too late' });
    const late =
      'You can change a text for only 15 minutes, and you cannot edit a published idea on a board where moderators approve ideas.';
    expect([edit.status, problemIn(edit.html)]).toEqual([422, late]);
    expect(parse(edit.html).querySelector('textarea')?.textContent).toBe('Too late');
    const deletion = await send(commentPath(id, 'delete'));
    expect([deletion.status, problemIn(deletion.html)]).toEqual([422, late]);
    expect(await commentsOf()).toEqual([{ id, body: 'As it was', edited_at: null }]);
  });

  test("a member can neither edit nor delete another person's comment, but a moderator can edit this comment and give a reason", async () => {
    const id = await comment('Mine');
    const other = await signedIn(server, await createMember(server, world.accountId, 'member'));
    const moderator = await signedIn(server, await createMember(server, world.accountId, 'moderator'));
    expect(await linksOn(id, other)).toEqual([]);
    expect(await linksOn(id, moderator)).toEqual([commentPath(id, 'edit'), commentPath(id, 'delete')]);
    for (const verb of ['edit', 'delete'] as const) {
      expect((await other.get(commentPath(id, verb))).status).toBe(403);
      expect((await send(commentPath(id, verb), { body: 'Hers' }, other)).status).toBe(403);
    }
    expect(await commentsOf()).toEqual([{ id, body: 'Mine', edited_at: null }]);
    expect((await member.get(commentPath(id, 'edit'))).html).not.toContain('name="reason"');
    const path = commentPath(id, 'edit');
    expect((await moderator.submit(path, path, { body: 'Kinder', reason: 'Tone' })).status).toBe(303);
    expect(await commentsOf()).toEqual([{ id, body: 'Kinder', edited_at: expect.any(String) }]);
    expect(
      await server.sql(
        `select data ->> 'reason' as reason from events where idea_id = $1 and type = 'comment.updated'`,
        [ideaId],
      ),
    ).toEqual([{ reason: 'Tone' }]);
  });

  test("if a moderator changes a comment during the author's edit, the refused form shows the moderator's text beside the author's text, and can be resent", async () => {
    const id = await comment('As it was');
    const path = commentPath(id, 'edit');
    const opened = hiddenFields((await member.get(path)).html, path);
    const moderator = await signedIn(server, await createMember(server, world.accountId, 'moderator'));
    expect((await moderator.submit(path, path, { body: 'Theirs' })).status).toBe(303);
    const conflict = await member.post(path, { ...opened, body: 'Mine' });
    const message = 'Somebody else has changed the comment. Compare the two texts, then save yours again.';
    expect([conflict.status, problemIn(conflict.html)]).toEqual([409, message]);
    expect(await commentsOf()).toMatchObject([{ id, body: 'Theirs' }]);
    const page = parse(conflict.html);
    expect(page.querySelector('[aria-labelledby=current] .prose')?.textContent).toBe('Theirs');
    expect(page.querySelector('textarea')?.textContent).toBe('Mine');
    const again = hiddenFields(conflict.html, path);
    expect((await member.post(path, { ...again, body: 'Mine' })).status).toBe(303);
    expect(await commentsOf()).toMatchObject([{ id, body: 'Mine' }]);
  });

  test('the edit of a comment needs a valid text, an unfrozen board and a status that accepts comments, but the deletion does not', async () => {
    const change = (text: string) => server.sql(text, [world.boardId]);
    const id = await comment('As it was');
    for (const body of [' ', 'x'.repeat(501)]) {
      expect(problemIn((await send(commentPath(id, 'edit'), { body })).html)).toContain('1 to 500 characters');
    }
    await change('update boards set is_frozen = true where id = $1');
    expect(await linksOn(id)).toEqual([commentPath(id, 'delete')]);
    const frozen = await send(commentPath(id, 'edit'), { body: 'Changed' });
    expect([frozen.status, problemIn(frozen.html)]).toEqual([423, expect.stringContaining('The board is frozen')]);
    await change('update boards set is_frozen = false where id = $1');
    await change('update statuses set allow_comments = false where board_id = $1');
    const closed = await send(commentPath(id, 'edit'), { body: 'Changed' });
    expect(problemIn(closed.html)).toBe('Ideas in this status accept no comments.');
    expect(await commentsOf()).toEqual([{ id, body: 'As it was', edited_at: null }]);
    await change('update boards set is_frozen = true where id = $1');
    expect((await send(commentPath(id, 'delete'))).status).toBe(303);
    expect([await commentsOf(), await countOf()]).toEqual([[], 0]);
  });
});

describe('deleting a comment', () => {
  test('after an author confirms the deletion of a comment, the comment count decreases, and the author can comment again', async () => {
    const id = await comment('By mistake');
    const page = await member.get(commentPath(id, 'delete'));
    expect(page.html).toContain('By mistake');
    const sent = await member.submit(commentPath(id, 'delete'), commentPath(id, 'delete'));
    expect(sent.location).toBe(`${ideaPath()}?notice=comment_deleted#comments`);
    expect([await commentsOf(), await countOf()]).toEqual([[], 0]);
    expect((await member.get(commentPath(id, 'delete'))).status).toBe(404);
    expect((await send(commentPath(id, 'edit'), { body: 'Again' })).status).toBe(404);
    await comment('On purpose');
    expect([await commentsOf(), await countOf()]).toEqual([[expect.objectContaining({ body: 'On purpose' })], 1]);
    await expectInvariants(server);
  });

  test("a moderator can delete an owner's comment after an hour, and the audit log names the moderator and the author", async () => {
    const first = await comment('One');
    const between = await comment('Two', await signedIn(server, world.ownerId));
    await comment('Three');
    clock.set(afterMinutes(60));
    const moderatorId = await createMember(server, world.accountId, 'moderator');
    const moderator = await signedIn(server, moderatorId);
    const { html } = await moderator.get(`/admin/ideas/${ideaId}`);
    expect(html).toContain(`href="${commentPath(between, 'delete')}"`);
    await moderator.submit(commentPath(between, 'delete'), commentPath(between, 'delete'));
    expect((await commentsOf()).map(({ body }) => body)).toEqual(['One', 'Three']);
    const [entry] = readAudit(server.auditLines)
      .filter(({ event }) => event === 'comment.deleted')
      .slice(-1);
    expect(entry).toMatchObject({
      by: 'user',
      by_user_id: moderatorId,
      account_id: world.accountId,
      idea_id: ideaId,
      comment_id: between,
      user_id: world.ownerId,
    });
    // A path with the id of another idea does not lead to the comment.
    ideaId = await insertIdea(server, world, { title: 'Another' });
    expect((await send(commentPath(first, 'delete'), {}, moderator)).status).toBe(404);
    await expectInvariants(server);
  });

  test("if six edits and six deletions of a comment run in parallel, exactly one deletion succeeds, and the idea's comment count is correct", async () => {
    const id = await comment('Contested');
    const moderator = await signedIn(server, world.ownerId);
    const sent = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        n % 2 === 0
          ? send(commentPath(id, 'edit'), { body: `Edit ${n}` })
          : send(commentPath(id, 'delete'), {}, n % 4 === 1 ? member : moderator),
      ),
    );
    const deletions = sent.filter((_, n) => n % 2 === 1).map(({ status }) => status);
    expect(deletions.sort()).toEqual([303, 404, 404, 404, 404, 404]);
    expect(sent.every(({ status }) => status === 303 || status === 404)).toBe(true);
    expect([await commentsOf(), await countOf()]).toEqual([[], 0]);
    expect((await copiesOf(id)).events).toEqual([{ data: '(deleted)', body: '(deleted)' }]);
    await expectInvariants(server);
  });
});

test('edits and deletions of comments count against RATE_LIMIT_MEMBER, and above the limit the form keeps the reason and says when to try again', async () => {
  const limited = await startServerForTest({ on: server, clock, environment: { RATE_LIMIT_MEMBER: '1' } });
  const id = await comment('As it was');
  const { email, password } = await givePassword(server, world.ownerId);
  const moderator = new Visitor(limited);
  await moderator.signIn(email, password);
  const change = (verb: 'edit' | 'delete', fields: Record<string, string>) =>
    moderator.submit(commentPath(id, verb), commentPath(id, verb), fields);
  expect((await change('edit', { body: 'Kinder' })).status).toBe(303);
  for (const verb of ['edit', 'delete'] as const) {
    const sent = await change(verb, { body: 'Changed', reason: 'Not our tone' });
    expect([sent.status, problemIn(sent.html)]).toEqual([429, expect.stringContaining('Try again in 60 minutes')]);
    expect(sent.html).toContain('>Not our tone</textarea>');
  }
  expect(await commentsOf()).toMatchObject([{ id, body: 'Kinder' }]);
});

describe('the copies of a comment', () => {
  test('editing or deleting a comment removes its old text from stored events and responses, and deleting a comment also removes the text from notifications', async () => {
    const { token } = await issueToken(server, world, 'write', { issuerId: memberId });
    const idempotencyKey = 'one-comment';
    const post = () =>
      request(server, `POST /api/v1/ideas/${ideaId}/comments`, {
        token,
        json: { body: 'The password is 1234' },
        headers: { 'idempotency-key': idempotencyKey },
      });
    const { body } = await post();
    const owner = await signedIn(server, world.ownerId);
    await server.sql('insert into followers (account_id, idea_id, user_id) values ($1, $2, $3)', [
      world.accountId,
      ideaId,
      world.ownerId,
    ]);
    await runJobs(server);
    const notifications = async () => (await owner.get('/admin/profile/notifications')).html;
    expect(await notifications()).toContain('The password is 1234');

    await send(commentPath(body.id, 'edit'), { body: 'The password is secret' });
    const edited = 'The password is secret';
    expect(await copiesOf(body.id)).toEqual({ events: [{ data: edited, body: edited }], answers: [edited] });
    await send(commentPath(body.id, 'delete'));
    expect(await copiesOf(body.id)).toEqual({
      events: [{ data: '(deleted)', body: '(deleted)' }],
      answers: ['(deleted)'],
    });
    expect((await post()).body).toMatchObject({ id: body.id, body: '(deleted)' });
    expect(await notifications()).toContain('(deleted)');
    expect(await notifications()).not.toContain('password');
  });

  test('the deletion of a comment also removes its text from an event that the previous server version stored without the column `data`', async () => {
    const id = await comment('Of old');
    await server.sql('update events set data = null where idea_id = $1', [ideaId]);
    await send(commentPath(id, 'delete'));
    expect((await copiesOf(id)).events).toEqual([{ data: null, body: '(deleted)' }]);
  });

  test("after the deletion of a comment, pending webhook deliveries and stored responses of webhook receivers no longer contain the comment's text", async () => {
    const receiver = await startReceiver((response, { body }) => response.writeHead(200).end(body));
    const failing = await startReceiver((response, { body }) => response.writeHead(500).end(body));
    await addWebhook(server, world, { url: receiver.url });
    await addWebhook(server, world, { url: failing.url });
    const id = await comment('Erase me');
    await runJobs(server);
    const responses = () =>
      server.sql<{ response: string | null }>(
        'select a.response from webhook_attempts a where a.account_id = $1 order by a.id',
        [world.accountId],
      );
    expect((await responses()).every(({ response }) => response?.includes('Erase me'))).toBe(true);
    await send(commentPath(id, 'delete'));
    expect(await responses()).toEqual([{ response: null }, { response: null }]);
    await fastForward(server);
    await runJobs(server);
    expect(failing.received.map(({ body }) => JSON.parse(body).data.comment.body)).toEqual([
      'Erase me',
      '(deleted)',
      undefined,
    ]);
    // Each webhook receiver repeats the received event in its response. So a stored response of a receiver could
    // contain the deleted text.
    expect((await responses()).filter(({ response }) => /Erase me/.test(response ?? ''))).toEqual([]);
    await receiver.close();
    await failing.close();
  });
});
