import { beforeEach, describe, expect, test } from 'vitest';
import { readAudit } from '../helpers/audit.ts';
import { createTag, createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { type Seen, signedIn, type Visitor } from './visitor.ts';

let world: World;
let visitor: Visitor;

const server = await startServerForFile();
beforeEach(async () => {
  world = await createWorld(server);
  visitor = await signedIn(server, world.ownerId);
  server.auditLines.length = 0;
});

const pathOf = (page: string) => `/admin/boards/${world.boardSlug}/${page}`;
const submit = (page: string, fields: Record<string, string> = {}) =>
  visitor.submit(pathOf(page), pathOf(page), fields);
const formTokenIn = (html: string) => /name="form_token" value="([^"]+)"/.exec(html)?.[1] ?? '';
const audited = () => readAudit(server.auditLines).map(({ event, by }) => [event, by]);

/** Returns the board as the Agent API returns it. */
const board = async () => {
  const { token } = await issueToken(server, world, 'read');
  return (await request(server, 'GET /api/v1/board', { token })).body;
};
const keys = async () => ((await board()).statuses as { key: string }[]).map(({ key }) => key);
const defaults = ['open', 'planned', 'in_progress', 'done', 'declined', 'archived'];

describe('the statuses of a board', () => {
  const allowed = { allow_votes: 'yes', allow_comments: 'yes' };

  test('an owner can add, edit and remove a status of a board, and the next API response shows the edit and the removal', async () => {
    const added = await submit('statuses', { key: 'in_review', label: 'In <review>', category: 'active', ...allowed });
    expect([added.status, added.location]).toEqual([303, pathOf('statuses?notice=added')]);
    const { html } = await visitor.get(pathOf('statuses'));
    expect(html).toContain(
      '<span class="chip chip-active"><span class="visually-hidden">Status: </span><bdi>In &lt;review&gt;</bdi>',
    );
    const edited = { key: 'reviewed', label: 'Reviewed', category: 'completed', is_hidden: 'yes', allow_votes: 'yes' };
    expect((await submit('statuses/in_review', edited)).location).toBe(pathOf('statuses?notice=saved'));
    expect((await board()).statuses.at(-1)).toEqual({
      key: 'reviewed',
      category: 'completed',
      label: 'Reviewed',
      is_hidden: true,
      allow_votes: true,
      allow_comments: false,
    });
    expect((await visitor.get(pathOf('statuses/in_review'))).status).toBe(404);
    const page = pathOf('statuses/reviewed/remove');
    expect((await visitor.get(page)).html).toContain('Remove <bdi>Reviewed</bdi>?');
    expect((await visitor.submit(page, page)).location).toBe(pathOf('statuses?notice=removed'));
    expect(await keys()).toEqual(defaults);
    expect(audited().filter(([, by]) => by === 'user')).toEqual([
      ['status.added', 'user'],
      ['status.updated', 'user'],
      ['status.removed', 'user'],
    ]);
  });

  test("an owner can move a status in a board's list of statuses, and a double click moves the status only once", async () => {
    const { html } = await visitor.get(pathOf('statuses'));
    const form = html.split(`action="${pathOf('statuses/done/move')}"`)[1]?.split('</form>')[0] ?? '';
    expect([...form.matchAll(/name="position" value="(\d+)"/g)].map(([, position]) => position)).toEqual(['3', '5']);
    const fields = { form_token: formTokenIn(html), position: '3' };
    for (const _press of ['first', 'second']) {
      const answer = await visitor.post(pathOf('statuses/done/move'), fields);
      expect(answer.location).toBe(pathOf('statuses?notice=moved#status-done'));
      expect(await keys()).toEqual(['open', 'planned', 'done', 'in_progress', 'declined', 'archived']);
    }
    for (const position of ['99', '-1', 'x']) await visitor.post(pathOf('statuses/done/move'), { ...fields, position });
    expect((await keys())[0]).toBe('done');
  });

  test.each([
    ['a taken key', 409, { key: 'open' }, 'Another status of the board has the key open'],
    ['an invalid key', 422, { key: 'In review' }, 'The key &quot;In review&quot; must be'],
    ['no label', 422, { label: ' ' }, 'The label must not be empty'],
    ['no category', 422, { category: '' }, 'Choose a category'],
    ['an unknown category', 422, { category: 'open' }, 'Choose a category'],
  ])('an idea status with %s is refused, and the form keeps the entered values', async (_what, status, given, why) => {
    const fields = { key: 'in_review', label: 'In "review"', category: 'active', is_hidden: 'yes', ...given };
    for (const page of ['statuses', 'statuses/done']) {
      const answer = await submit(page, fields);
      expect([answer.status, answer.html.includes(why)]).toEqual([status, true]);
      expect(answer.html).toContain('name="is_hidden" value="yes" checked');
      if (fields.label !== ' ') expect(answer.html).toContain('value="In &quot;review&quot;"');
      if (fields.category === 'active') expect(answer.html).toContain('<option value="active" selected>');
    }
    expect(await keys()).toEqual(defaults);
    expect(audited().filter(([, by]) => by === 'user')).toEqual([]);
  });

  test('an owner cannot remove a status that has ideas, and the page of statuses shows the numbers of published and pending ideas in this status', async () => {
    const remove = async (key: string): Promise<Seen> => {
      const form_token = formTokenIn((await visitor.get(pathOf('statuses'))).html);
      return visitor.post(pathOf(`statuses/${key}/remove`), { form_token });
    };
    for (const moderationState of ['published', 'published', 'pending'] as const) {
      await insertIdea(server, world, { status: 'planned', moderationState });
    }
    const { html } = await visitor.get(pathOf('statuses'));
    expect(html).toContain('2 ideas, and 1 more awaiting approval');
    const question = await visitor.get(pathOf('statuses/planned/remove'));
    expect([question.status, question.html.includes('The status planned has 3 ideas')]).toEqual([409, true]);
    const answer = await remove('planned');
    expect([answer.status, answer.html.includes('3 ideas have the status planned')]).toEqual([409, true]);

    // The page that removes a status does not count rejected ideas. But the server refuses to remove a status of a
    // rejected idea.
    await insertIdea(server, world, { status: 'done', moderationState: 'rejected' });
    expect((await visitor.get(pathOf('statuses/done/remove'))).status).toBe(200);
    expect((await remove('done')).html).toContain('1 idea has the status done');
    expect((await remove('open')).html).toContain('last status of the category inbox');
    expect(await keys()).toEqual(defaults);
  });

  test('a list of 21 statuses of a board has two pages, and a status with 1,002 ideas shows "more than 1,000 ideas"', async () => {
    await server.sql(
      `insert into ideas (account_id, board_id, author_id, status_id, title, body, moderation_state)
      select s.account_id, s.board_id, $2, s.id, 'An idea', 'Of what', 'published'
      from statuses s, generate_series(1, 1002) where s.board_id = $1 and s.key = 'planned'`,
      [world.boardId, world.ownerId],
    );
    await server.sql(
      `insert into statuses (account_id, board_id, key, category, label, position)
      select $1, $2, rpad('status-' || n || '-', 50, 'x'), 'active', repeat('W', 60), 100 + n from generate_series(1, 15) n`,
      [world.accountId, world.boardId],
    );
    const first = await visitor.get(pathOf('statuses'));
    expect(first.html).toContain('more than 1,000 ideas');
    expect(first.html.match(/<li class="card/g)).toHaveLength(20);
    expect(first.html.length).toBeLessThan(35_000);
    const second = await visitor.get(pathOf('statuses?page=2'));
    expect(second.html.match(/<li class="card/g)).toHaveLength(1);
    const fields = { form_token: formTokenIn(second.html), position: '21' };
    const moved = await visitor.post(pathOf('statuses/open/move'), fields);
    expect(moved.location).toBe(pathOf('statuses?notice=moved&page=2#status-open'));
  });
});

describe('the tags of a board', () => {
  const tags = async () => (await board()).tags as { id: number; name: string; color: string }[];

  test('after an owner adds, edits or removes a tag of a board, the API immediately returns the new list of tags', async () => {
    const added = await submit('tags', { name: ' Billing ', color: '#AB12CD' });
    expect([added.status, added.location]).toEqual([303, pathOf('tags?notice=added')]);
    const [tag] = await tags();
    expect(tag).toMatchObject({ name: 'Billing', color: '#ab12cd' });
    expect((await visitor.get(pathOf('tags'))).html).toContain('fill="#ab12cd"/></svg><bdi>Billing</bdi>');
    await submit(`tags/${tag?.id}`, { name: 'Invoices', color: '#000000' });
    expect(await tags()).toEqual([{ id: tag?.id, name: 'Invoices', color: '#000000' }]);

    const ideaId = await insertIdea(server, world);
    await server.sql('insert into idea_tags values ($1, $2, $3)', [ideaId, tag?.id, world.accountId]);
    const page = pathOf(`tags/${tag?.id}/remove`);
    expect((await visitor.get(page)).html).toContain('The tag is removed from 1 idea');
    expect((await visitor.submit(page, page)).location).toBe(pathOf('tags?notice=removed'));
    expect(await tags()).toEqual([]);
    expect(await server.sql('select title from ideas where id = $1', [ideaId])).toHaveLength(1);
    expect((await visitor.get(page)).status).toBe(404);
    expect(audited().filter(([, by]) => by === 'user')).toEqual([
      ['tag.added', 'user'],
      ['tag.updated', 'user'],
      ['tag.removed', 'user'],
    ]);
  });

  test.each([
    ['a taken name', 409, { name: 'TAKEN' }, 'Another tag of the board has the name'],
    ['no name', 422, { name: '' }, 'The name must not be empty'],
    ['an invalid color', 422, { color: 'red' }, 'must be # and six hexadecimal digits'],
  ])('a tag with %s is refused, and the form still shows the entered values', async (_what, status, given, why) => {
    await createTag(server, world.accountId, world.boardId, 'Taken');
    const id = await createTag(server, world.accountId, world.boardId, 'Other');
    const before = await tags();
    for (const page of ['tags', `tags/${id}`]) {
      const fields = { name: 'New one', color: '#123456', ...given };
      const answer = await submit(page, fields);
      expect([answer.status, answer.html.includes(why)]).toEqual([status, true]);
      expect(answer.html).toContain(`value="${fields.name}"`);
      expect(answer.html).toContain(`value="${fields.color}"`);
    }
    expect(await tags()).toEqual(before);
    expect(audited().filter(([, by]) => by === 'user')).toEqual([]);
  });

  test('a list of 51 tags of a board has two pages, with 50 tags on the first page', async () => {
    await server.sql(
      `insert into tags (account_id, board_id, name, color)
      select $1, $2, rpad('tag ' || n, 40, 'W'), '#0f766e' from generate_series(1, 51) n`,
      [world.accountId, world.boardId],
    );
    const { html } = await visitor.get(pathOf('tags'));
    expect(html.match(/<li class="card/g)).toHaveLength(50);
    expect(html.length).toBeLessThan(35_000);
    expect((await visitor.get(pathOf('tags?page=2'))).html.match(/<li class="card/g)).toHaveLength(1);
    expect((await visitor.get(pathOf('tags?page=9'))).html).toContain('There are no more tags');
  });
});
