import { parse } from 'node-html-parser';
import { expect, test } from 'vitest';
import { castOwnVote } from '../../server/domain/votes/cast-vote.ts';
import { signedIn, Visitor } from '../admin/visitor.ts';
import { createBoard, createMember, createWorld, insertIdea } from '../helpers/fixtures.ts';
import { runAsUser } from '../helpers/run-as-user.ts';
import { startServerForFile } from '../helpers/server.ts';

const server = await startServerForFile({ environment: { RATE_LIMIT_SIGN_IN_IP: '1000000' } });
const world = await createWorld(server, { isPublic: true });
const memberId = await createMember(server, world.accountId, 'member');
const member = await signedIn(server, memberId);

const boardPath = () => `/b/${world.boardSlug}`;
const put = (title: string, input = {}) => insertIdea(server, world, { title, ...input });
const follow = (ideaId: number, accountId = world.accountId) =>
  server.sql('insert into followers (account_id, idea_id, user_id) values ($1, $2, $3)', [accountId, ideaId, memberId]);

/**
 * Returns the texts and the link of each card in a list. The texts are the title, the status, the reason, and the
 * card's gray text up to its first number.
 */
async function cardsOn(path: string, by = member) {
  const { html, status } = await by.get(boardPath() + path);
  expect(status).toBe(200);
  return parse(html)
    .querySelectorAll('.card-list > li')
    .map(card => ({
      title: card.querySelector('h2')?.textContent,
      chip: card.querySelector('.chip')?.textContent,
      reason: card.querySelector('.prose')?.textContent,
      words: card.querySelector('.muted')?.textContent.replace(/ \d.*$/s, ''),
      href: card.querySelector('h2 a')?.getAttribute('href'),
    }));
}

test('the page "My ideas" lists the ideas that the member submitted to the board, without links to pending and rejected ideas', async () => {
  const published = await put('Published', { authorId: memberId });
  await put('Pending', { authorId: memberId, moderationState: 'pending' });
  const rejected = await put('Rejected', { authorId: memberId, moderationState: 'rejected' });
  await server.sql(`update ideas set rejection_reason = 'We have this.' where id = $1`, [rejected]);
  await put('Of somebody else');
  const other = await createBoard(server, world.accountId);
  await insertIdea(server, { ...world, boardId: other.id }, { title: 'Elsewhere', authorId: memberId });
  expect(await cardsOn('/mine')).toEqual([
    { title: 'Rejected', chip: 'Not accepted', reason: 'We have this.', words: 'submitted' },
    { title: 'Pending', chip: 'Awaits approval', words: 'submitted' },
    { title: 'Published', chip: 'Status: open', words: 'submitted', href: `${boardPath()}/ideas/${published}` },
  ]);
});

test('the page "My votes" lists the member\'s votes for and against ideas, but no withdrawn votes and no votes copied by a merge', async () => {
  const [up, down, withdrawn, target] = [
    await put('Up'),
    await put('Down'),
    await put('Withdrawn'),
    await put('Target'),
  ];
  const vote = (ideaId: number, value: 'up' | 'down' | 'none') =>
    runAsUser(server, world, memberId, op => castOwnVote(op, ideaId, value, Buffer.alloc(16)));
  await vote(up, 'up');
  await vote(down, 'down');
  await vote(withdrawn, 'up');
  await vote(withdrawn, 'none');
  await member.submit(`${boardPath()}/ideas/${up}`, `${boardPath()}/ideas/${up}/vote`, { value: 'up' });
  const moderator = await signedIn(server, world.ownerId);
  await moderator.submit(`/admin/ideas/${up}/merge?target=${target}`, `/admin/ideas/${up}/merge`, {
    target_id: String(target),
  });
  expect((await cardsOn('/mine/votes')).map(({ title, words }) => [title, words])).toEqual([
    ['Down', 'you voted against it'],
    ['Up', 'you voted for it'],
  ]);
  expect(await cardsOn('/mine/votes', moderator)).toEqual([]);
});

test('the page "Followed ideas" lists the board\'s ideas that the member follows, and the member can unfollow them there', async () => {
  const [kept, left] = [await put('Kept'), await put('Left')];
  for (const id of [kept, left]) await follow(id);
  await follow(await put('Pending, of somebody else', { moderationState: 'pending' }));
  const other = await createWorld(server);
  await follow(await insertIdea(server, other), other.accountId);
  const titles = async () => (await cardsOn('/mine/following')).map(({ title }) => title);
  expect(await titles()).toEqual(['Left', 'Kept']);
  const path = `${boardPath()}/mine/following`;
  const sent = await member.submit(path, `${boardPath()}/ideas/${left}/follow`, { follow: 'no' });
  expect(sent.location).toBe(`${path}?notice=unfollowed`);
  expect(await titles()).toEqual(['Kept']);
});

test('the lists "My ideas", "My votes" and "Followed ideas" each show 41 ideas on several pages, each idea once, newest first', async () => {
  const reader = await createMember(server, world.accountId, 'member');
  await server.sql(
    `with made as (
      insert into ideas (account_id, board_id, author_id, status_id, title, body, moderation_state)
      select $1, $2, $3, s.id, 'Idea ' || n, 'Body', 'published'
      from generate_series(1, 41) n, statuses s where s.board_id = $2 and s.key = 'open' returning id
    ), voter as (
      insert into voters (account_id, user_id) values ($1, $3) returning id
    ), voted as (
      insert into votes (account_id, idea_id, voter_id, value) select $1, made.id, voter.id, 1 from made, voter
    )
    insert into followers (account_id, idea_id, user_id) select $1, id, $3 from made`,
    [world.accountId, world.boardId, reader],
  );
  await server.sql(`update ideas i set up_count = 1 from votes v where v.idea_id = i.id and i.author_id = $1`, [
    reader,
  ]);
  const by = await signedIn(server, reader);
  for (const list of ['/mine', '/mine/votes', '/mine/following']) {
    const titles: string[] = [];
    let path: string | undefined = boardPath() + list;
    for (let pages = 0; path && pages < 5; pages++) {
      const page = parse((await by.get(path)).html);
      titles.push(...page.querySelectorAll('.card-list h2').map(one => one.textContent));
      path = page.querySelector('[rel=next]')?.getAttribute('href');
    }
    expect(titles).toEqual(Array.from({ length: 41 }, (_, n) => `Idea ${41 - n}`));
  }
  expect((await by.get(`${boardPath()}/mine?cursor=none`)).status).toBe(400);
});

test('only members see a link to "My ideas" on the page of a board, and a visitor must sign in to open "My votes"', async () => {
  const link = async (by: Visitor) =>
    parse((await by.get(boardPath())).html).querySelector(`a[href="${boardPath()}/mine"]`);
  expect((await link(member))?.textContent).toBe('Mine');
  const visitor = new Visitor(server);
  expect(await link(visitor)).toBeNull();
  const asked = await visitor.get(`${boardPath()}/mine/votes`);
  expect(new URL(asked.location ?? '', server.baseUrl).searchParams.get('next')).toBe(`${boardPath()}/mine/votes`);
  expect((await member.get(`${boardPath()}/mine`)).headers.get('cache-control')).toBe('no-store');
});
