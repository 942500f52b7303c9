import { parse } from 'node-html-parser';
import { beforeEach, expect, test } from 'vitest';
import { signedIn, type Visitor } from '../admin/visitor.ts';
import { readAudit } from '../helpers/audit.ts';
import { testClock } from '../helpers/clock.ts';
import { createMember, createWorld, insertComment, insertIdea, type World } from '../helpers/fixtures.ts';
import { runJobs } from '../helpers/jobs.ts';
import { startServerForFile } from '../helpers/server.ts';

const start = new Date('2026-03-02T09:00:00Z');
const clock = testClock(start);
let world: World;
let memberId: number;
let member: Visitor;
let moderator: Visitor;

const server = await startServerForFile({ clock, environment: { RATE_LIMIT_SIGN_IN_IP: '1000000' } });
beforeEach(async () => {
  clock.set(start);
  world = await createWorld(server);
  memberId = await createMember(server, world.accountId, 'member', 'Mona Member');
  member = await signedIn(server, memberId);
  moderator = await signedIn(server, await createMember(server, world.accountId, 'moderator'));
});

const pathOf = (id: number, form = '') => `/b/${world.boardSlug}/ideas/${id}${form}`;
const insert = (input = {}) =>
  insertIdea(server, world, { title: 'The one', authorId: memberId, createdAt: start, ...input });
const linksOn = async (id: number, by: Visitor) =>
  parse((await by.get(pathOf(id))).html)
    .querySelectorAll('article a')
    .map(link => link.getAttribute('href'))
    .filter(href => /\/(edit|delete)$/.test(href ?? ''));
const problemIn = (html: string) => parse(html).querySelector('#problem')?.textContent.trim();
const submit = (by: Visitor, id: number, verb: 'edit' | 'delete', fields = {}) =>
  by.submit(pathOf(id, `/${verb}`), pathOf(id, `/${verb}`), fields);
const rowOf = async (id: number) => {
  const [row] = await server.sql<{ title: string; moderation_state: string }>(
    'select title, moderation_state from ideas where id = $1',
    [id],
  );
  return row;
};

test("on an idea's page, its author sees links to the edit and delete forms for 15 minutes, and moderators see these links at any time", async () => {
  const id = await insert();
  const both = [pathOf(id, '/edit'), pathOf(id, '/delete')];
  const stranger = await signedIn(server, await createMember(server, world.accountId, 'member'));
  expect([await linksOn(id, member), await linksOn(id, moderator), await linksOn(id, stranger)]).toEqual([
    both,
    both,
    [],
  ]);
  for (const verb of ['/edit', '/delete']) expect((await stranger.get(pathOf(id, verb))).status).toBe(403);
  clock.set(new Date(start.getTime() + 15 * 60_000));
  expect([await linksOn(id, member), await linksOn(id, moderator)]).toEqual([[], both]);
  for (const verb of ['/edit', '/delete']) expect((await member.get(pathOf(id, verb))).status).toBe(422);
});

test('an author can edit an idea with a form, and after an invalid input the form still has the entered values', async () => {
  const id = await insert();
  const form = parse((await member.get(pathOf(id, '/edit'))).html);
  expect(form.querySelector('[name=title]')?.getAttribute('value')).toBe('The one');
  expect(form.querySelector('[name=reason]')).toBeNull();
  const refused = await submit(member, id, 'edit', { title: ' ', body: 'New body' });
  expect([refused.status, problemIn(refused.html)]).toEqual([422, 'Enter a title of 1 to 200 characters.']);
  expect(parse(refused.html).querySelector('[name=body]')?.textContent).toBe('New body');
  const sent = await submit(member, id, 'edit', { title: 'Better', body: 'New body' });
  expect(sent.location).toBe(`${pathOf(id)}?notice=idea_edited`);
  expect(await rowOf(id)).toMatchObject({ title: 'Better' });
});

test("if a moderator changes an idea during the author's edit, the refused form shows the moderator's text beside the author's text, and can be resent", async () => {
  const id = await insert();
  const page = parse((await member.get(pathOf(id, '/edit'))).html);
  const fieldOf = (name: string) => page.querySelector(`[name=${name}]`)?.getAttribute('value') ?? '';
  const stale = {
    form_token: fieldOf('form_token'),
    if_updated_at: fieldOf('if_updated_at'),
    title: 'Mine',
    body: 'Mine',
  };
  expect((await submit(moderator, id, 'edit', { title: 'Theirs', body: 'Their body', reason: 'Typing' })).status).toBe(
    303,
  );
  const invalid = await member.post(pathOf(id, '/edit'), { ...stale, title: ' ' });
  expect(parse(invalid.html).querySelector('[aria-labelledby=current]')).toBeNull();
  const kept = parse(invalid.html).querySelector('[name=if_updated_at]')?.getAttribute('value');
  expect([invalid.status, kept]).toEqual([422, stale.if_updated_at]);
  const conflict = await member.post(pathOf(id, '/edit'), stale);
  expect([conflict.status, problemIn(conflict.html)]).toEqual([
    409,
    expect.stringContaining('Somebody else has changed'),
  ]);
  expect(await rowOf(id)).toMatchObject({ title: 'Theirs' });
  const again = parse(conflict.html);
  const current = again.querySelector('[aria-labelledby=current]');
  expect([current?.querySelector('bdi')?.textContent, current?.querySelector('.prose')?.textContent]).toEqual([
    'Theirs',
    'Their body',
  ]);
  expect(again.querySelector('[name=title]')?.getAttribute('value')).toBe('Mine');
  const if_updated_at = again.querySelector('[name=if_updated_at]')?.getAttribute('value') ?? '';
  expect((await member.post(pathOf(id, '/edit'), { ...stale, if_updated_at })).status).toBe(303);
  expect(await rowOf(id)).toMatchObject({ title: 'Mine' });
});

test('an author can delete an idea after a confirmation, and the idea disappears from the board and from the list "My ideas"', async () => {
  const id = await insert();
  const asked = await member.get(pathOf(id, '/delete'));
  expect(asked.html).toContain('Nobody can restore the idea');
  expect(asked.html).toContain(`href="/b/${world.boardSlug}/roadmap"`);
  const sent = await submit(member, id, 'delete');
  expect(sent.location).toBe(`/b/${world.boardSlug}?notice=idea_deleted`);
  expect(await rowOf(id)).toEqual({ title: '(deleted)', moderation_state: 'deleted' });
  for (const page of [`/b/${world.boardSlug}`, `/b/${world.boardSlug}/mine`]) {
    expect((await member.get(page)).html).not.toMatch(/The one|\(deleted\)/);
  }
  for (const by of [member, moderator]) expect((await by.get(pathOf(id))).status).toBe(404);
  expect((await moderator.get(`/admin/ideas/${id}`)).status).toBe(404);
});

test('if other people have voted or commented on an idea, its author gets the reason for the refusal instead of the question, but a moderator is asked', async () => {
  for (const use of ['comment', 'vote']) {
    const id = await insert();
    if (use === 'comment') await insertComment(server, world, id);
    else await moderator.submit(pathOf(id), pathOf(id, '/vote'), { value: 'up' });
    const refused = await member.get(pathOf(id, '/delete'));
    expect([use, refused.status]).toEqual([use, 422]);
    expect(refused.html).toContain('Other people have voted or commented on the idea. Ask a moderator to delete it.');
    expect(refused.html).not.toContain('are also deleted');
    expect((await moderator.get(pathOf(id, '/delete'))).status).toBe(200);
  }
});

test('if other ideas are merged into an idea, a moderator who wants to delete it gets the reason for the refusal instead of the question', async () => {
  const id = await insert();
  const merged = await insert({ title: 'The other' });
  await server.sql('update ideas set merged_into_id = $1 where id = $2', [id, merged]);
  const refused = await moderator.get(pathOf(id, '/delete'));
  expect([refused.status, refused.html.includes('Undo these merges first')]).toEqual([422, true]);
});

test('the question about the deletion of an idea has the right plurals in English and German', async () => {
  const questions = [
    [1, 0, 'Its 1 comment and 0 votes are also deleted.', 'werden 1 Kommentar und 0 Stimmen gelöscht.'],
    [0, 1, 'Its 0 comments and 1 vote are also deleted.', 'werden 0 Kommentare und 1 Stimme gelöscht.'],
  ] as const;
  const id = await insert();
  for (const [comments, votes, english, german] of questions) {
    await server.sql('update ideas set comment_count = $1, up_count = $2 where id = $3', [comments, votes, id]);
    for (const [language, text] of [
      ['en', english],
      ['de', german],
    ] as const) {
      const { html } = await member.get(pathOf(id, '/delete'), { headers: { 'accept-language': language } });
      expect(html).toContain(text);
    }
  }
});

test('after a moderator deletes an idea, its author gets a notification with the title and the reason, without a link to the idea', async () => {
  const id = await insert();
  await submit(moderator, id, 'delete', { reason: 'Not about this product' });
  await runJobs(server);
  const page = parse((await member.get('/admin/profile/notifications')).html);
  const shown = page.querySelectorAll('li').find(one => one.textContent.includes('The one'));
  expect(shown?.textContent).toContain('The moderator deleted your idea “The one” from the board');
  expect(shown?.textContent).toContain('Not about this product');
  expect(shown?.querySelectorAll('a').map(link => link.getAttribute('href'))).toEqual([]);
});

test("a moderator can delete an idea with a reason on a frozen board, and the audit entry names the idea's author but not the reason", async () => {
  const id = await insert();
  await server.sql('update boards set is_frozen = true where id = $1', [world.boardId]);
  expect(await linksOn(id, moderator)).toEqual([pathOf(id, '/delete')]);
  expect((await submit(moderator, id, 'delete', { reason: 'x'.repeat(501) })).status).toBe(422);
  expect((await submit(moderator, id, 'delete', { reason: 'A password' })).status).toBe(303);
  const [event] = await server.sql<{ reason: string }>(
    `select data ->> 'reason' as reason from events where idea_id = $1 and type = 'idea.deleted'`,
    [id],
  );
  expect(event).toEqual({ reason: 'A password' });
  const [entry] = readAudit(server.auditLines).slice(-1);
  expect(entry).toMatchObject({ event: 'idea.deleted', by: 'user', idea_id: id, user_id: memberId });
  expect(JSON.stringify(entry)).not.toContain('password');
});
