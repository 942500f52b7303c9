import { parse } from 'node-html-parser';
import { beforeEach, expect, test } from 'vitest';
import { hiddenFields, signedIn, Visitor } from '../admin/visitor.ts';
import { testClock } from '../helpers/clock.ts';
import { createMember, createWorld, insertIdea, type World } from '../helpers/fixtures.ts';
import { startServerForFile } from '../helpers/server.ts';

let world: World;
let ideaId: number;
let memberId: number;
let member: Visitor;

const server = await startServerForFile({
  clock: testClock(new Date('2026-03-02T09:00:00Z')),
  environment: { RATE_LIMIT_SIGN_IN_IP: '1000000' },
});
beforeEach(async () => {
  world = await createWorld(server);
  memberId = await createMember(server, world.accountId, 'member', 'Mona Member');
  member = await signedIn(server, memberId);
  ideaId = await insertIdea(server, world, { title: 'The one' });
});

const ideaPath = () => `/b/${world.boardSlug}/ideas/${ideaId}`;
const commentPath = (id: number, verb: 'edit' | 'delete') => `${ideaPath()}/comments/${id}/${verb}`;

/** Adds comments by the owner, or by another author. */
const addComments = (count: number, authorId = world.ownerId) =>
  server.sql<{ id: number }>(
    `insert into comments (account_id, idea_id, author_id, body)
    select $1, $2, $3, 'Comment ' || n from generate_series(1, $4::int) n returning id`,
    [world.accountId, ideaId, authorId, count],
  );

/** Returns the status of a page, the ids of its comments, and the texts of its links to other comments. */
const seeComments = async (path: string) => {
  const { status, html } = await member.get(path.replace(/#.*/, ''));
  const page = parse(html);
  return {
    status,
    ids: page.querySelectorAll('.comments li').map(one => Number(one.id.replace('comment-', ''))),
    links: page.querySelectorAll('.pagination a').map(one => one.textContent),
  };
};

const formIn = (html: string) => parse(html).querySelector(`form[action^="${ideaPath()}/comments"]`);
const noticesIn = (html: string) =>
  parse(html)
    .querySelectorAll('.notice')
    .map(one => one.textContent.trim());
const frozen = 'This board is frozen: it takes no ideas, votes or comments for now.';
const closed = 'Ideas in this status accept no comments.';
const ownIsLast = 'The last comment is yours. Wait until somebody else has commented.';

test('after a member sends or edits a comment, the next page shows this comment, even if the first page of comments does not', async () => {
  const ids = (await addComments(25)).map(({ id }) => id);
  const sent = await member.submit(ideaPath(), `${ideaPath()}/comments`, { body: 'The newest' });
  const newest = Number(/#comment-(\d+)$/.exec(sent.location ?? '')?.[1]);
  expect(sent.location).toBe(`${ideaPath()}?notice=commented&comment=${newest}#comment-${newest}`);
  const shown = { status: 200, ids: [...ids.slice(-19), newest], links: ['Back to the first comments'] };
  expect(await seeComments(sent.location ?? '')).toEqual(shown);
  const edit = commentPath(newest, 'edit');
  const edited = await member.submit(edit, edit, { body: 'The very newest' });
  expect(await seeComments(edited.location ?? '')).toEqual(shown);
  for (const verb of ['edit', 'delete'] as const) {
    const cancel = parse((await member.get(commentPath(newest, verb))).html)
      .querySelectorAll('main a')
      .find(one => one.textContent === 'Cancel');
    expect(await seeComments(cancel?.getAttribute('href') ?? '')).toEqual(shown);
  }
});

test('a link to one of the first 20 comments shows the first page of comments, and a link to a later comment shows a page that ends with it', async () => {
  const ids = (await addComments(45)).map(({ id }) => id);
  const at = (index: number) => seeComments(`${ideaPath()}?comment=${ids[index]}`);
  const first = { status: 200, ids: ids.slice(0, 20), links: ['More comments'] };
  expect([await at(0), await at(19)]).toEqual([first, first]);
  const links = ['Back to the first comments', 'More comments'];
  expect(await at(20)).toEqual({ status: 200, ids: ids.slice(1, 21), links });
  expect(await at(44)).toEqual({ status: 200, ids: ids.slice(25), links: links.slice(0, 1) });
});

test('a link to a missing comment or to a comment of another idea shows the first page of comments, and an invalid id gets 400', async () => {
  const [elsewhere] = await addComments(1);
  const other = ideaId;
  ideaId = await insertIdea(server, world, { title: 'Discussed' });
  const ids = (await addComments(25)).map(({ id }) => id);
  const late = Number(ids.at(-1)) + 1000;
  const first = { status: 200, ids: ids.slice(0, 20), links: ['More comments'] };
  for (const comment of [0, elsewhere?.id, late]) {
    expect(await seeComments(`${ideaPath()}?comment=${comment}`)).toEqual(first);
  }
  for (const comment of ['x', '-1', '1.5', '9'.repeat(30)]) {
    expect((await seeComments(`${ideaPath()}?comment=${comment}`)).status).toBe(400);
  }
  ideaId = other;
  expect((await seeComments(`${ideaPath()}?comment=${ids[24]}`)).ids).toEqual([elsewhere?.id]);
});

test('the page with a refused comment links to the form, keeps the text, and shows the same comments as before', async () => {
  await addComments(25);
  const [own] = await addComments(1, memberId);
  const first = await member.get(ideaPath());
  const next = parse(first.html).querySelector('.pagination a')?.getAttribute('href')?.replace(/#.*/, '') ?? '';
  const [after] = await addComments(1);
  for (const path of [ideaPath(), next, `${ideaPath()}?comment=${own?.id}`, `${ideaPath()}?comment=${after?.id}`]) {
    const action = formIn((await member.get(path)).html)?.getAttribute('action') ?? '';
    const body = 'x'.repeat(501);
    const { status, html } = await member.submit(path, action, { body });
    expect(status).toBe(422);
    const page = parse(html);
    const link = page.querySelector('#problem a');
    expect([link?.textContent, link?.getAttribute('href')]).toEqual(['Go to the form', `#${formIn(html)?.id}`]);
    expect(page.querySelector('textarea')?.textContent).toBe(body);
    const idsOn = (text: string) =>
      parse(text)
        .querySelectorAll('.comments li')
        .map(one => one.id);
    expect(idsOn(html)).toEqual(idsOn((await member.get(path)).html));
    // After a second refusal, the page again shows the same comments.
    expect(formIn(html)?.getAttribute('action')).toBe(action);
  }
});

test('the page of an idea explains why there is no comment form if the status accepts no comments or the newest comment is by the reader', async () => {
  const path = `${ideaPath()}/comments`;
  const hidden = hiddenFields((await member.get(ideaPath())).html, path);
  const other = await signedIn(server, await createMember(server, world.accountId, 'member'));
  const [own] = await addComments(1, memberId);
  const seen = await member.get(ideaPath());
  expect([formIn(seen.html), noticesIn(seen.html)]).toEqual([null, [ownIsLast]]);
  const ofOther = await other.get(ideaPath());
  expect([formIn(ofOther.html) !== null, noticesIn(ofOther.html)]).toEqual([true, []]);
  await server.sql('update comments set created_at = $2 where id = $1', [own?.id, '2026-03-02T09:00:00Z']);
  expect((await member.get(ideaPath())).html).toContain(commentPath(Number(own?.id), 'edit'));

  await server.sql('update statuses set allow_comments = false where board_id = $1', [world.boardId]);
  for (const by of [member, other]) {
    const { html } = await by.get(ideaPath());
    expect([formIn(html), noticesIn(html)]).toEqual([null, [closed]]);
    expect(html).not.toContain(commentPath(Number(own?.id), 'edit'));
  }
  const sent = await member.post(path, { ...hidden, body: 'Too late' });
  expect([sent.status, formIn(sent.html)?.querySelector('textarea')?.textContent]).toEqual([423, 'Too late']);
  expect(noticesIn(sent.html)).toEqual([expect.stringContaining('Ideas in this status accept no comments')]);
});

test("on a page before the last page of comments, the form is also there for the author of the idea's newest comment", async () => {
  await addComments(20);
  await addComments(1, memberId);
  expect(formIn((await member.get(ideaPath())).html)).not.toBeNull();
});

test('the page of an idea on a frozen board says that the board is frozen, as the page of the board does', async () => {
  expect(noticesIn((await member.get(ideaPath())).html)).toEqual([]);
  await server.sql('update boards set is_frozen = true, is_public = true where id = $1', [world.boardId]);
  for (const by of [member, new Visitor(server)]) {
    for (const path of [`/b/${world.boardSlug}`, ideaPath()]) {
      const { html } = await by.get(path);
      expect([noticesIn(html), formIn(html)]).toEqual([[frozen], null]);
    }
  }
});
