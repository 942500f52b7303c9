import { parse } from 'node-html-parser';
import { beforeEach, expect, test } from 'vitest';
import { createMember, createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { type Seen, signedIn, type Visitor } from './visitor.ts';

let world: World;
let moderator: Visitor;
let ideaId: number;

const server = await startServerForFile();
beforeEach(async () => {
  world = await createWorld(server);
  moderator = await signedIn(server, await createMember(server, world.accountId, 'moderator'));
  ideaId = await insertIdea(server, world, { title: 'Dark theme' });
});

const votesPath = (id = ideaId) => `/admin/ideas/${id}/votes`;

/** Casts the vote of a new member on the idea's page. */
async function voteAs(name: string, value: 'up' | 'down', id = ideaId) {
  const userId = await createMember(server, world.accountId, 'member', name);
  const path = `/b/${world.boardSlug}/ideas/${id}`;
  const { status } = await (await signedIn(server, userId)).submit(path, `${path}/vote`, { value });
  expect(status).toBe(303);
  return userId;
}

/** Returns the lines of the list of votes without their times, and the path of the next page. */
function readVotes({ html }: Seen) {
  const page = parse(html);
  const lines = page.querySelectorAll('.card-list li').map(line => {
    for (const hidden of line.querySelectorAll('time, .row-end')) hidden.remove();
    return line.textContent.replaceAll(/\s+/g, ' ').trim();
  });
  const next = page.querySelector('a[rel=next]')?.getAttribute('href');
  return { lines, next };
}

test('a moderator sees who voted on an idea in the order of the API: people, tokens with their issuers, and voters of merged ideas', async () => {
  await voteAs('Ada', 'up');
  const other = await insertIdea(server, world, { title: 'Black theme' });
  await voteAs('<b>Eve</b>', 'down', other);
  const { token } = await issueToken(server, world, 'moderate', { name: 'Support desk' });
  await request(server, `POST /api/v1/ideas/${ideaId}/vote`, { token, json: { value: 'up' } });
  await request(server, `POST /api/v1/ideas/${other}/merge`, { token, json: { target_id: ideaId } });
  const { body } = await request(server, `GET /api/v1/ideas/${ideaId}/votes`, { token });
  const lines: Record<string, string> = {
    Ada: 'for Ada',
    '<b>Eve</b>': `against <b>Eve</b> on idea #${other}, which is merged into this idea`,
    'Support desk': 'for Support desk token of The owner',
  };
  const seen = await moderator.get(votesPath());
  expect(seen.status).toBe(200);
  expect(body.data).toHaveLength(3);
  expect(readVotes(seen)).toEqual({
    lines: body.data.map((vote: { voter: { name: string } }) => lines[vote.voter.name]),
    next: undefined,
  });
  expect(seen.html).not.toContain('<b>Eve');
});

test('the pages of an idea link to its votes for moderators, and not for other members', async () => {
  const onBoard = `/b/${world.boardSlug}/ideas/${ideaId}`;
  const member = await signedIn(server, await createMember(server, world.accountId, 'member'));
  expect((await moderator.get(`/admin/ideas/${ideaId}`)).html).toContain(`href="${votesPath()}"`);
  expect((await moderator.get(onBoard)).html).toContain(`href="${votesPath()}"`);
  expect((await member.get(onBoard)).html).not.toContain('/votes"');
  expect((await member.get(votesPath())).status).toBe(403);
});

test('a moderator who blocks a voter returns to the idea, and the list of votes then marks the voter as blocked', async () => {
  const userId = await voteAs('Mallory', 'down');
  const blockPath = `/admin/blocks/${userId}?from=${ideaId}`;
  expect((await moderator.get(votesPath())).html).toContain(`href="${blockPath}"`);
  const { location } = await moderator.submit(blockPath, blockPath, { reason: 'Spam' });
  expect(location).toBe(`/admin/ideas/${ideaId}?notice=blocked`);
  expect(readVotes(await moderator.get(votesPath())).lines).toEqual(['against Mallory Blocked']);
  expect(await server.sql('select user_id from user_blocks where account_id = $1', [world.accountId])).toEqual([
    { user_id: userId },
  ]);
});

test('the list of votes has 50 votes on a page, and says that an idea has no votes', async () => {
  expect((await moderator.get(votesPath())).html).toContain('Nobody has voted on this idea.');
  await server.sql(
    `with people as (
      insert into users (name, email) select 'Voter ' || n, 'voter' || n || '@example.com' from generate_series(1, 53) n
      returning id
    ), voters as (
      insert into voters (account_id, user_id) select $1, id from people returning id
    )
    insert into votes (account_id, idea_id, voter_id, value) select $1, $2, id, 1 from voters`,
    [world.accountId, ideaId],
  );
  const first = readVotes(await moderator.get(votesPath()));
  const second = readVotes(await moderator.get(first.next ?? ''));
  expect([first.lines.length, second.lines.length, second.next]).toEqual([50, 3, undefined]);
  expect(new Set([...first.lines, ...second.lines]).size).toBe(53);
});

test('votes of a missing, rejected or foreign idea get the error page 404', async () => {
  const rejected = await insertIdea(server, world, { moderationState: 'rejected' });
  const foreign = await insertIdea(server, await createWorld(server));
  for (const id of [rejected, foreign, 999_999]) {
    expect([id, (await moderator.get(votesPath(id))).status]).toEqual([id, 404]);
  }
  expect((await moderator.get(`${votesPath()}?cursor=wrong`)).status).toBe(400);
});
