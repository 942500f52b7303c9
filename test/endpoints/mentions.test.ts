import { parse } from 'node-html-parser';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { maxMentions, maxNamesakes } from '../../server/domain/mentions/find-mentions.ts';
import { approveIdea } from '../../server/domain/moderation/moderate-idea.ts';
import { followIdea } from '../../server/domain/notifications/followers.ts';
import { clearOld } from '../../server/jobs/clear-expired.ts';
import { signedIn, type Visitor } from '../admin/visitor.ts';
import { asUser } from '../helpers/administration.ts';
import { readAudit } from '../helpers/audit.ts';
import { createMember, createUser, createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { closeAfterAll } from '../helpers/for-file.ts';
import { makeJobsDue, runJobs } from '../helpers/jobs.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { startSmtpReceiver } from '../helpers/smtp-receiver.ts';
import { logStatements } from '../helpers/statement-log.ts';
import { administer } from '../helpers/webhooks.ts';

let world: World;
let ideaId: number;
let token: string;
let authorId: number;

const smtp = closeAfterAll(await startSmtpReceiver());
const server = await startServerForFile({
  environment: {
    SMTP_URL: smtp.url,
    MAIL_FROM: 'feedback@example.com',
    RATE_LIMIT_WRITE: '1000',
    RATE_LIMIT_SIGN_IN_IP: '1000000',
  },
});
beforeEach(async () => {
  world = await createWorld(server);
  ideaId = await insertIdea(server, world, { title: 'Dark mode' });
  authorId = await member('Ada Osei');
  ({ token } = await issueToken(server, world, 'write', { issuerId: authorId }));
});
afterEach(() => {
  smtp.received.length = 0;
});

const member = (name: string, role: 'member' | 'moderator' = 'member') =>
  createMember(server, world.accountId, role, name);
const comment = (body: string, id = ideaId, by = token) =>
  request(server, `POST /api/v1/ideas/${id}/comments`, { token: by, json: { body } });
const submit = (body: string, by = token) =>
  request(server, 'POST /api/v1/ideas', { token: by, json: { title: 'Export', body } });
const follow = (userId: number) => administer(server, admin => followIdea(admin, world.accountId, { ideaId, userId }));
const ideaPath = (id = ideaId) => `/b/${world.boardSlug}/ideas/${id}`;

/** Runs the jobs. Returns the ids of the notified users, grouped by the kind of the notification. */
async function told(): Promise<Record<string, number[]>> {
  expect(await runJobs(server)).toEqual([]);
  const rows = await server.sql<{ kind: string; user_ids: number[] }>(
    `select kind, array_agg(user_id order by user_id) as user_ids from notifications where account_id = $1 group by kind`,
    [world.accountId],
  );
  return Object.fromEntries(rows.map(({ kind, user_ids }) => [kind, user_ids.map(Number)]));
}

/**
 * Opens the only notification of a user, which has the given sentence and leads to the given path. Returns the page of
 * notifications.
 */
async function openMention(userId: number, sentence: string, path: string) {
  const visitor = await signedIn(server, userId);
  const listPath = '/admin/profile/notifications';
  const page = parse((await visitor.get(listPath)).html);
  const form = page.querySelector('.card form');
  expect(form?.textContent.trim()).toBe(sentence);
  expect((await visitor.submit(listPath, form?.getAttribute('action') ?? '')).location).toBe(path);
  return page;
}

/** Returns the texts that the page of an idea highlights as mentions. */
async function highlighted(by?: Visitor, id = ideaId) {
  const visitor = by ?? (await signedIn(server, world.ownerId));
  return parse((await visitor.get(ideaPath(id))).html)
    .querySelectorAll('.mention')
    .map(({ textContent }) => textContent);
}

describe('a name after @', () => {
  test.each([
    ['Hello @Mona Member, look', 'before a comma'],
    ['@mona MEMBER', 'in upper and lower case'],
    ['(@Mona Member)', 'in brackets'],
    ['@Mona Member’s idea', 'before an apostrophe'],
    ['first line\n@Mona Member\nlast line', 'on a separate line'],
  ])('the comment %j mentions the member Mona Member (position or spelling of the name: %s)', async body => {
    const mona = await member('Mona Member');
    expect((await comment(body)).body.body).toBe(body);
    expect(await told()).toEqual({ 'user.mentioned': [mona] });
    expect(await highlighted()).toEqual([/@mona member/i.exec(body)?.[0]]);
  });

  test.each([
    'Mona Member',
    'mail@Mona Member',
    'https://example.com/@Mona Member',
    '@ Mona Member',
    '@Mona Members',
    '@Mona\nMember',
    '@Mona Member-Smith',
  ])('the comment %j mentions no member', async body => {
    await member('Mona Member');
    await comment(body);
    expect(await told()).toEqual({});
    expect(await highlighted()).toEqual([]);
  });

  test('a name after @ means the member with the longest matching name, even if that member is blocked', async () => {
    const [ann, annLee, blocked] = [await member('Ann'), await member('Ann Lee'), await member('Ann Lee Roy')];
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, blocked]);
    await comment('@Ann Lee and @Ann, and not @Ann Lee Roy');
    expect(await told()).toEqual({ 'user.mentioned': [ann, annLee] });
  });

  test(`a name after @ mentions all members with this name, but mentions nobody if more than ${maxNamesakes} members have it`, async () => {
    const people = [];
    for (let n = 0; n < maxNamesakes; n++) people.push(await member('Sam'));
    await comment('@Sam');
    expect(await told()).toEqual({ 'user.mentioned': people });
    await member('Sam');
    await comment('@Sam', await insertIdea(server, world));
    expect(await told()).toEqual({ 'user.mentioned': people });
  });

  test('a name after @ mentions nobody if the person with this name is not a member of the account', async () => {
    await createUser(server, 'Olga Outside');
    const elsewhere = await createWorld(server);
    await createMember(server, elsewhere.accountId, 'member', 'Eve Elsewhere');
    await comment('@Olga Outside @Eve Elsewhere');
    expect(await told()).toEqual({});
    expect(await server.sql('select from mentions where account_id = $1', [world.accountId])).toEqual([]);
  });

  test(`the server looks for the names of members only after the first ${maxMentions} @ characters of a text`, async () => {
    const mona = await member('Mona');
    await comment(`${'@x '.repeat(maxMentions)}@Mona`);
    expect(await told()).toEqual({});
    await comment(`${'@x '.repeat(maxMentions - 1)}@Mona`, await insertIdea(server, world));
    expect(await told()).toEqual({ 'user.mentioned': [mona] });
  });
});

describe('the notification of a mention', () => {
  test('a member who is mentioned twice in one comment gets one notification, and the author of the comment gets none', async () => {
    const mona = await member('Mona');
    await comment('@Mona @mona @Ada Osei');
    expect(await told()).toEqual({ 'user.mentioned': [mona] });
  });

  test('a follower who is mentioned in a comment gets only one notification, which is about the mention', async () => {
    const [mona, other] = [await member('Mona'), await member('Other')];
    for (const userId of [mona, other]) await follow(userId);
    await comment('@Mona, what do you think?');
    expect(await told()).toEqual({ 'user.mentioned': [mona], 'comment.created': [other] });
  });

  test('a mentioned member who is blocked or removed before the worker runs gets no notification', async () => {
    const [mona, otto] = [await member('Mona'), await member('Otto')];
    await comment('@Mona @Otto');
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, mona]);
    await server.sql('delete from memberships where user_id = $1', [otto]);
    expect(await told()).toEqual({});
  });

  test('a member who is mentioned in a pending idea is notified only after a moderator has approved the idea', async () => {
    await server.sql('update boards set pre_moderation = true where id = $1', [world.boardId]);
    const [mona, moderator] = [await member('Mona'), await member('Max Moderator', 'moderator')];
    const { body: idea } = await submit('As @Mona and @Max Moderator said.');
    expect(idea.moderation_state).toBe('pending');
    expect(await told()).toEqual({ 'idea.pending': [world.ownerId, moderator] });
    await administer(server, admin => approveIdea(asUser(admin, moderator), world.accountId, idea.id));
    expect(await told()).toEqual({
      'idea.pending': [world.ownerId, moderator],
      'idea.approved': [authorId],
      'user.mentioned': [mona, moderator],
    });
    const visitor = await signedIn(server, mona);
    const { html } = await visitor.get('/admin/profile/notifications');
    expect(parse(html).textContent).toContain('Ada Osei mentioned you in “Export”:');
    expect(await highlighted(visitor, idea.id)).toEqual(['@Mona', '@Max Moderator']);
  });

  test('the notification of a mention links to the comment and quotes the text, both on the page of notifications and in the mail', async () => {
    const mona = await member('Mona');
    await server.sql(`update users set notification_email = 'mona@example.com' where id = $1`, [mona]);
    const { id } = (await comment('What do you\nthink, @Mona?')).body;
    const path = `${ideaPath()}?comment=${id}#comment-${id}`;
    await told();
    const page = await openMention(mona, 'Ada Osei mentioned you in “Dark mode”:', path);
    expect(page.textContent).toContain('What do you think, @Mona?');

    expect(smtp.received.map(({ to }) => to)).toEqual(['mona@example.com']);
    const { mail } = smtp.received[0] ?? {};
    expect(mail?.subject).toBe('Ada Osei mentioned you in “Dark mode”');
    expect(mail?.text).toContain('> What do you\n> think, @Mona?');
    expect(mail?.text).toContain(path);
    expect(mail?.text).toContain('You get this because somebody mentioned you on the board A board.');
  });

  test('a follower who turned off notifications of mentions gets the usual notification of a new comment that mentions them', async () => {
    const mona = await member('Mona');
    await follow(mona);
    const visitor = await signedIn(server, mona);
    await visitor.submit('/admin/profile', '/admin/profile/mentions', { wanted: 'no' });
    expect((await visitor.get('/admin/profile')).html).toContain('You get no notification when a member writes @');
    expect(readAudit(server.auditLines).at(-1)).toMatchObject({ event: 'user.updated', changed: ['wants_mentions'] });
    await comment('@Mona');
    expect(await told()).toEqual({ 'comment.created': [mona] });
    await visitor.submit('/admin/profile', '/admin/profile/mentions', { wanted: 'yes' });
    await comment('@Mona', await insertIdea(server, world));
    expect(await told()).toEqual({ 'comment.created': [mona], 'user.mentioned': [mona] });
  });

  test('a mentioned member who turns off notifications of mentions before the mail is sent gets no mail', async () => {
    const mona = await member('Mona');
    await server.sql(`update users set notification_email = 'mona@example.com' where id = $1`, [mona]);
    smtp.refuse('mona@example.com', 451);
    await comment('@Mona');
    expect((await runJobs(server)).map(({ task }) => task)).toEqual(['mail_people']);
    smtp.accept();
    await server.sql('update users set wants_mentions = false where id = $1', [mona]);
    await makeJobsDue(server);
    await told();
    expect(smtp.received).toEqual([]);
  });

  test('the unsubscribe link in the mail about a mention turns off only notifications of mentions', async () => {
    const mona = await member('Mona');
    await server.sql(`update users set notification_email = 'mona@example.com' where id = $1`, [mona]);
    await comment('@Mona');
    await told();
    const header = smtp.received[0]?.mail.headers.find(({ key }) => key === 'list-unsubscribe')?.value ?? '';
    const path = new URL(header.slice(1, -1)).pathname + new URL(header.slice(1, -1)).search;
    expect((await request(server, `GET ${path}`)).text).toContain('Get no more notifications of mentions?');
    expect((await request(server, `POST ${path}`)).text).toContain('No more mentions');
    const [user] = await server.sql('select wants_mentions, notification_email from users where id = $1', [mona]);
    expect(user).toEqual({ wants_mentions: false, notification_email: 'mona@example.com' });
  });
});

describe('the edit of a comment', () => {
  test('after a comment is edited, the server notifies only mentioned members whom this comment has never mentioned before', async () => {
    const [mona, otto, later] = [await member('Mona'), await member('Otto'), await member('Later')];
    const visitor = await signedIn(server, authorId);
    const { body } = await comment('@Mona');
    expect(await told()).toEqual({ 'user.mentioned': [mona] });
    await follow(later);
    const edit = (text: string) => {
      const path = `${ideaPath()}/comments/${body.id}/edit`;
      return visitor.submit(path, path, { body: text });
    };
    await edit('@Otto and @Mona');
    expect(await told()).toEqual({ 'user.mentioned': [mona, otto] });
    await edit('@Otto');
    expect(await highlighted()).toEqual(['@Otto']);
    expect(await server.sql('select user_id from mentions where idea_id = $1', [ideaId])).toEqual([{ user_id: otto }]);
    await edit('@Mona and @Otto again');
    expect(await told()).toEqual({ 'user.mentioned': [mona, otto] });
    expect(await highlighted()).toEqual(['@Mona', '@Otto']);
  });

  test('the deletion of a comment also deletes the stored mentions of members in this comment', async () => {
    await member('Mona');
    const visitor = await signedIn(server, authorId);
    const { body } = await comment('@Mona');
    const path = `${ideaPath()}/comments/${body.id}/delete`;
    await visitor.submit(path, path);
    expect(await server.sql('select from mentions where idea_id = $1', [ideaId])).toEqual([]);
  });
});

describe('a mention that an edit adds', () => {
  let moderation: string;
  beforeEach(async () => {
    const issuerId = await member('Mo Derator', 'moderator');
    ({ token: moderation } = await issueToken(server, world, 'moderate', { issuerId }));
  });

  const editIdea = (body: string) =>
    request(server, `PATCH /api/v1/ideas/${ideaId}`, { token: moderation, json: { body } });
  const editComment = (commentId: number, body: string) =>
    request(server, `PATCH /api/v1/ideas/${ideaId}/comments/${commentId}`, { token: moderation, json: { body } });
  /** Adds a comment in the way of an import, which records no event. */
  async function insertComment(body: string): Promise<number> {
    const [row] = await server.sql<{ id: number }>(
      `with counted as (update ideas set comment_count = 1 where id = $2)
      insert into comments (account_id, idea_id, author_id, body) values ($1, $2, $3, $4) returning id`,
      [world.accountId, ideaId, authorId, body],
    );
    return row?.id ?? 0;
  }
  const ageEvents = (days: number) =>
    server.sql(`update events set occurred_at = occurred_at - $2 * interval '1 day' where account_id = $1`, [
      world.accountId,
      days,
    ]);
  const deleteOld = () => clearOld(server.database, new AbortController().signal);

  test('the notification of a mention in an edited idea or comment names the editor and quotes the new text, even if the text was imported', async () => {
    ideaId = await insertIdea(server, world, { authorId, title: 'Dark mode', body: 'As @Otto said.' });
    const [mona, nina] = [await member('Mona'), await member('Nina')];
    await member('Otto');
    await server.sql(`update users set notification_email = 'people@example.com' where id in ($1, $2)`, [mona, nina]);
    const commentId = await insertComment('As @Otto wrote.');
    expect((await editIdea('As @Otto and @Mona said.')).status).toBe(200);
    expect((await editComment(commentId, 'As @Otto and @Nina wrote.')).status).toBe(200);
    expect(await told()).toEqual({ 'user.mentioned': [mona, nina] });
    const mails = smtp.received.filter(({ to }) => to === 'people@example.com').map(({ mail }) => mail);
    expect(mails.map(({ subject }) => subject)).toEqual(Array(2).fill('Mo Derator mentioned you in “Dark mode”'));
    expect(mails.map(({ text }) => /^> (.*)$/m.exec(text ?? '')?.[1]).sort()).toEqual([
      'As @Otto and @Mona said.',
      'As @Otto and @Nina wrote.',
    ]);
    for (const [userId, quote, path] of [
      [mona, 'As @Otto and @Mona said.', ideaPath()],
      [nina, 'As @Otto and @Nina wrote.', `${ideaPath()}?comment=${commentId}#comment-${commentId}`],
    ] as const) {
      const page = await openMention(userId, 'Mo Derator mentioned you in “Dark mode”:', path);
      expect(page.textContent).toContain(quote);
    }
  });

  test('a mention that an edit adds notifies the member even if the server has already deleted the old event of the text', async () => {
    const [mona, nina] = [await member('Mona'), await member('Nina')];
    ({ id: ideaId } = (await submit('Text')).body);
    const { id: commentId } = (await comment('Text')).body;
    await told();
    await ageEvents(31);
    await deleteOld();
    expect(await server.sql('select from events where account_id = $1', [world.accountId])).toEqual([]);
    await editIdea('What do you think, @Mona?');
    await editComment(commentId, 'And you, @Nina?');
    expect(await told()).toEqual({ 'user.mentioned': [mona, nina] });
  });

  test('the notification of a mention that an edit adds is as old as the edit, and not as old as the idea', async () => {
    const mona = await member('Mona');
    ({ id: ideaId } = (await submit('Text')).body);
    await told();
    await ageEvents(29);
    await editIdea('What do you think, @Mona?');
    await told();
    await ageEvents(2);
    await deleteOld();
    expect(await told()).toEqual({ 'user.mentioned': [mona] });
  });

  test('each member gets one notification of a mention if a text is edited twice before the worker runs', async () => {
    const people = [await member('Mona'), await member('Nina'), await member('Otto'), await member('Pia')];
    ({ id: ideaId } = (await submit('@Mona')).body);
    const { id: commentId } = (await comment('@Otto')).body;
    await editIdea('@Mona and @Nina');
    await editComment(commentId, '@Otto and @Pia');
    await editIdea('@Nina and @Mona again');
    await editComment(commentId, '@Pia and @Otto again');
    expect(await told()).toEqual({ 'user.mentioned': people });
  });

  test('a follower who was notified of a mention in an edited comment gets no notification of the comment from a late job', async () => {
    const mona = await member('Mona');
    await follow(mona);
    const { id: commentId } = (await comment('Text')).body;
    await server.sql(`update graphile_worker._private_jobs set run_at = now() + interval '1 hour'`);
    await editComment(commentId, 'What do you think, @Mona?');
    expect(await told()).toEqual({ 'user.mentioned': [mona] });
    await makeJobsDue(server);
    expect(await told()).toEqual({ 'user.mentioned': [mona] });
  });

  test('a moderator who adds their own name to a text of another person gets no notification', async () => {
    ideaId = await insertIdea(server, world, { authorId });
    await editIdea('As @Mo Derator said.');
    expect(await told()).toEqual({});
    expect(await highlighted()).toEqual(['@Mo Derator']);
  });

  test('after the deletion of an edited comment, the notification of a mention no longer quotes the comment', async () => {
    const mona = await member('Mona');
    const { id: commentId } = (await comment('Text')).body;
    await told();
    await editComment(commentId, 'The password is hunter2, @Mona.');
    await told();
    await request(server, `DELETE /api/v1/ideas/${ideaId}/comments/${commentId}`, { token: moderation });
    const { html } = await (await signedIn(server, mona)).get('/admin/profile/notifications');
    expect(html).toContain('Mo Derator mentioned you');
    expect(html).toContain('(deleted)');
    expect(html).not.toContain('hunter2');
  });
});

test('a text with four mentions needs exactly the same SQL statements as a text with one mention, and a text without @ needs fewer', async () => {
  const people = ['Mona', 'Otto', 'Nina', 'Paul'];
  for (const name of people) await member(name);
  const statementsOf = async (body: string) => {
    const id = await insertIdea(server, world);
    const { statements } = await logStatements(() => comment(body, id));
    return statements.map(({ text }) => text);
  };
  const one = await statementsOf('@Mona');
  expect(await statementsOf(people.map(name => `@${name}`).join(' '))).toEqual(one);
  expect((await statementsOf('Mona')).length).toBe(one.length - 2);
});

test('the comment form suggests only names of members who have written on the page, and suggests no names to visitors', async () => {
  await server.sql('update boards set is_public = true where id = $1', [world.boardId]);
  await member('Silent Sue');
  const gone = await member('Gone Gus');
  const { token: ofGone } = await issueToken(server, world, 'write', { issuerId: gone });
  await comment('First.');
  await comment('Second.', ideaId, ofGone);
  await server.sql('delete from memberships where user_id = $1', [gone]);
  const mona = await member('Mona');
  const page = parse((await (await signedIn(server, mona)).get(ideaPath())).html);
  expect(page.querySelectorAll('#mentionable button').map(one => one.getAttribute('value'))).toEqual([
    'The owner',
    'Ada Osei',
  ]);
  expect(page.querySelector('#body-hint')?.textContent).toContain('Write @ and the name of a member');
  const { text } = await request(server, `GET ${ideaPath()}`);
  expect(text).not.toContain('mentionable');
});
