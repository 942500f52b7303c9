import { parse } from 'node-html-parser';
import { beforeEach, expect, test } from 'vitest';
import { signedIn, type Visitor } from '../admin/visitor.ts';
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
