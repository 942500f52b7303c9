import { parse } from 'node-html-parser';
import { beforeEach, expect, test } from 'vitest';
import { readAudit } from '../helpers/audit.ts';
import { createMember, createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { hiddenFields, type Seen, signedIn, type Visitor } from './visitor.ts';

let world: World;
let adaId: number;
let ada: Visitor;
let ben: Visitor;
let ideaId: number;

const server = await startServerForFile();
beforeEach(async () => {
  world = await createWorld(server);
  adaId = await createMember(server, world.accountId, 'moderator', 'Ada <i>Osei</i>');
  ada = await signedIn(server, adaId);
  ben = await signedIn(server, await createMember(server, world.accountId, 'moderator', 'Ben'));
  ideaId = await insertIdea(server, world, { title: 'Dark theme' });
  server.auditLines.length = 0;
});

const pathOf = (rest = '') => `/admin/ideas/${ideaId}${rest}`;
const add = (visitor: Visitor, body: string) => visitor.submit(pathOf(), pathOf('/notes'), { body });
const stored = () =>
  server.sql<{ id: number; author_id: number; body: string }>(
    'select id, author_id, body from idea_notes where account_id = $1 order by id',
    [world.accountId],
  );
const noteIdIn = ({ location }: Seen) => Number(/#note-(\d+)$/.exec(location ?? '')?.[1]);
const problemIn = ({ html }: Seen) => parse(html).querySelector('#problem')?.textContent.trim();

/** Returns the texts of the notes on an idea's page, and the path of the next page of notes. */
function readNotes({ html }: Seen) {
  const page = parse(html);
  const section = page.querySelector('section[aria-labelledby=notes]');
  return {
    notes: section?.querySelectorAll('li').map(note => note.querySelector('.prose')?.textContent),
    next: section?.querySelector('a[rel=next]')?.getAttribute('href'),
  };
}

test('a note of a moderator is on the page of the idea for other moderators, with its author, its line breaks and a safe link', async () => {
  const added = await add(ada, 'See https://crm.example.com/42\n<b>Three</b> customers.');
  expect(added.location).toBe(`${pathOf()}?notice=note_added#note-${noteIdIn(added)}`);
  const seen = await ben.get(pathOf('?notice=note_added'));
  expect(seen.html).toContain('The note is added.');
  expect(readNotes(seen).notes).toEqual(['See https://crm.example.com/42\n<b>Three</b> customers.']);
  const note = parse(seen.html).querySelector(`#note-${noteIdIn(added)}`);
  expect(note?.querySelector('strong')?.textContent).toBe('Ada <i>Osei</i>');
  expect(note?.querySelector('.prose a')?.getAttribute('rel')).toContain('nofollow');
  expect(await stored()).toMatchObject([{ author_id: adaId }]);
});

test('members see neither notes nor a link to them, and cannot add, edit or delete one', async () => {
  await add(ada, 'A secret customer.');
  const [note] = await stored();
  const member = await signedIn(server, await createMember(server, world.accountId, 'member'));
  const onBoard = `/b/${world.boardSlug}/ideas/${ideaId}`;
  expect((await ada.get(onBoard)).html).toContain(`href="${pathOf()}#notes"`);
  const { html } = await member.get(onBoard);
  expect(html).not.toMatch(/secret customer|#notes/);
  const formToken = /name="form_token" value="([^"]+)"/.exec(html)?.[1] ?? '';
  for (const action of ['/notes', `/notes/${note?.id}/edit`, `/notes/${note?.id}/delete`]) {
    const { status } = await member.post(pathOf(action), { form_token: formToken, body: 'Mine.' });
    expect([action, status]).toEqual([action, 403]);
  }
  expect((await member.get(pathOf(`/notes/${note?.id}/edit`))).status).toBe(403);
  expect(await stored()).toEqual([note]);
});

test('an empty or too long note is refused, the form keeps the text, and nothing is written', async () => {
  for (const body of [' ', 'x'.repeat(2_001)]) {
    const refused = await add(ada, body);
    expect([refused.status, problemIn(refused)]).toEqual([422, 'Enter a note of 1 to 2,000 characters.']);
    const field = parse(refused.html).querySelector('form[action$="/notes"] textarea');
    expect([field?.textContent, field?.getAttribute('aria-invalid')]).toEqual([body, 'true']);
    expect(field?.getAttribute('aria-describedby')).toContain('problem');
  }
  expect(await stored()).toEqual([]);
});

test('if another moderator has changed the note meanwhile, an edit is refused once and keeps the text', async () => {
  const id = noteIdIn(await add(ada, 'Three customers.'));
  const form = pathOf(`/notes/${id}/edit`);
  const opened = await ben.get(form);
  const hidden = hiddenFields(opened.html, form);
  const edited = await ada.submit(form, form, { body: 'Four customers.' });
  expect(edited.location).toBe(`${pathOf()}?notice=note_edited#note-${id}`);
  const refused = await ben.post(form, { ...hidden, body: 'Five customers.' });
  expect([refused.status, problemIn(refused)]).toEqual([
    409,
    'Somebody else has changed the note. Compare the two texts, then save yours again.',
  ]);
  expect(await stored()).toMatchObject([{ body: 'Four customers.' }]);
  expect(parse(refused.html).querySelector('[aria-labelledby=current] .prose')?.textContent).toBe('Four customers.');
  const field = parse(refused.html).querySelector('textarea')?.textContent;
  const updatedAt = parse(refused.html).querySelector('input[name=if_updated_at]')?.getAttribute('value') ?? '';
  const saved = await ben.post(form, { ...hidden, if_updated_at: updatedAt, body: field ?? '' });
  expect(saved.status).toBe(303);
  expect(await stored()).toMatchObject([{ author_id: adaId, body: 'Five customers.' }]);
  expect((await ada.get(pathOf())).html).toContain('edited');
});

test('a moderator confirms the deletion of a note of another moderator, and the audit log records the deletion without the text', async () => {
  const id = noteIdIn(await add(ada, 'A customer name.'));
  const form = pathOf(`/notes/${id}/delete`);
  expect((await ben.get(form)).html).toContain('“A customer name.” Nobody can restore the note.');
  const { location } = await ben.submit(form, form);
  expect(location).toBe(`${pathOf()}?notice=note_deleted#notes`);
  expect(await stored()).toEqual([]);
  expect(readAudit(server.auditLines)).toMatchObject([
    { event: 'note.deleted', account_id: world.accountId, idea_id: ideaId, note_id: id, user_id: adaId },
  ]);
  expect(server.auditLines.join()).not.toContain('customer');
  expect((await ben.get(form)).status).toBe(404);
});

test('on a frozen board, people can delete notes, but cannot add or edit them', async () => {
  const id = noteIdIn(await add(ada, 'A customer name.'));
  const opened = await ada.get(pathOf());
  const hidden = hiddenFields(opened.html, pathOf('/notes'));
  await server.sql('update boards set is_frozen = true where id = $1', [world.boardId]);
  for (const action of ['/notes', `/notes/${id}/edit`]) {
    const refused = await ada.post(pathOf(action), { ...hidden, body: 'Another.' });
    expect([action, refused.status, problemIn(refused)]).toEqual([action, 423, expect.stringMatching(/frozen/)]);
    expect(parse(refused.html).querySelector('textarea')?.textContent).toBe('Another.');
  }
  const { html } = await ada.get(pathOf());
  expect(html).not.toContain(`action="${pathOf('/notes')}"`);
  expect(html).not.toContain(pathOf(`/notes/${id}/edit`));
  const form = pathOf(`/notes/${id}/delete`);
  expect((await ada.submit(form, form)).status).toBe(303);
  expect(await stored()).toEqual([]);
});

test('the page of an idea shows 20 notes, oldest first, and links to the next ones', async () => {
  await server.sql(
    `insert into idea_notes (account_id, idea_id, author_id, body)
    select $1, $2, $3, 'Note ' || n from generate_series(1, 21) n order by n`,
    [world.accountId, ideaId, adaId],
  );
  const first = readNotes(await ada.get(pathOf()));
  expect(first.notes).toEqual(Array.from({ length: 20 }, (_, n) => `Note ${n + 1}`));
  expect(readNotes(await ada.get(first.next ?? ''))).toEqual({ notes: ['Note 21'], next: undefined });
  const { location } = await add(ada, 'Note 22');
  const page = await ada.get((location ?? '').replace(/#.*/, ''));
  expect(readNotes(page).notes).toEqual(['Note 22']);
  expect(page.html).toContain(`id="${location?.split('#')[1]}"`);
});

test('if the server refuses an edit for another reason than a conflict, the form still notices a change by another moderator', async () => {
  const id = noteIdIn(await add(ada, 'Three customers.'));
  const form = pathOf(`/notes/${id}/edit`);
  const hidden = hiddenFields((await ben.get(form)).html, form);
  await ada.submit(form, form, { body: 'Four customers.' });
  const refused = await ben.post(form, { ...hidden, body: ' ' });
  expect(refused.status).toBe(422);
  expect((await ben.post(form, { ...hiddenFields(refused.html, form), body: 'Five.' })).status).toBe(409);
  expect(await stored()).toMatchObject([{ body: 'Four customers.' }]);
});

test('a line break of a browser is one character, and a note that is saved without a change stays unchanged', async () => {
  const lines = Array(200).fill('123456789');
  const id = noteIdIn(await add(ada, `${lines.join('\n')}!`));
  expect(await stored()).toMatchObject([{ body: `${lines.join('\n')}!` }]);
  const form = pathOf(`/notes/${id}/edit`);
  await ben.submit(form, form, { body: `${lines.join('\n')}!` });
  expect((await ben.get(pathOf())).html).not.toContain('edited');
});

test('moderators read and delete the notes about a rejected idea on its page, but cannot edit them, and the API does not show them', async () => {
  ideaId = await insertIdea(server, world, { title: 'Spam?', moderationState: 'pending' });
  const id = noteIdIn(await add(ada, 'The password is hunter2.'));
  await ada.submit(pathOf('/reject'), pathOf('/reject'), { reason: 'No.' });
  const seen = await ben.get(pathOf());
  expect(readNotes(seen).notes).toEqual(['The password is hunter2.']);
  expect(parse(seen.html).querySelector('section[aria-labelledby=notes] textarea')).toBeNull();
  const edit = pathOf(`/notes/${id}/edit`);
  expect(seen.html).not.toContain(edit);
  expect((await ben.get(edit)).status).toBe(404);
  const { token } = await issueToken(server, world, 'moderate');
  for (const line of [`GET /api/v1/ideas/${ideaId}/notes`, `DELETE /api/v1/ideas/${ideaId}/notes/${id}`]) {
    expect((await request(server, line, { token })).key).toBe('not_found');
  }
  const form = pathOf(`/notes/${id}/delete`);
  const { location } = await ben.submit(form, form);
  expect(location).toBe(`${pathOf()}?notice=note_deleted#notes`);
  expect(await stored()).toEqual([]);
  expect((await ben.get(pathOf())).html).not.toContain('id="notes"');
});
