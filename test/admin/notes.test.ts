import { parse } from 'node-html-parser';
import { beforeEach, expect, test } from 'vitest';
import { readAudit } from '../helpers/audit.ts';
import { createMember, createWorld, insertIdea, type World } from '../helpers/fixtures.ts';
import { startServerForFile } from '../helpers/server.ts';
import { type Seen, signedIn, type Visitor } from './visitor.ts';

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
    expect(parse(refused.html).querySelector('form[action$="/notes"] textarea')?.textContent).toBe(body);
  }
  expect(await stored()).toEqual([]);
});

test('if another moderator has changed the note meanwhile, an edit is refused once and keeps the text', async () => {
  const id = noteIdIn(await add(ada, 'Three customers.'));
  const form = pathOf(`/notes/${id}/edit`);
  const opened = await ben.get(form);
  const hidden = Object.fromEntries(
    parse(opened.html)
      .querySelectorAll('main input[type=hidden]')
      .map(input => [input.getAttribute('name') ?? '', input.getAttribute('value') ?? '']),
  );
  const edited = await ada.submit(form, form, { body: 'Four customers.' });
  expect(edited.location).toBe(`${pathOf()}?notice=note_edited#note-${id}`);
  const refused = await ben.post(form, { ...hidden, body: 'Five customers.' });
  expect([refused.status, problemIn(refused)]).toEqual([
    409,
    'Somebody else has changed the note. Compare your text with the note, then save it again.',
  ]);
  expect(await stored()).toMatchObject([{ body: 'Four customers.' }]);
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
  const formToken = /name="form_token" value="([^"]+)"/.exec(opened.html)?.[1] ?? '';
  await server.sql('update boards set is_frozen = true where id = $1', [world.boardId]);
  for (const action of ['/notes', `/notes/${id}/edit`]) {
    const refused = await ada.post(pathOf(action), { form_token: formToken, body: 'Another.' });
    expect([action, refused.status, problemIn(refused)]).toEqual([action, 423, expect.stringMatching(/frozen/)]);
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
});
