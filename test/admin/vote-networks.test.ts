import { parse } from 'node-html-parser';
import { beforeEach, expect, test } from 'vitest';
import { createMember, createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { signedIn, type Visitor } from './visitor.ts';

let world: World;
let moderator: Visitor;
let ideaId: number;

const server = await startServerForFile({ environment: { TRUST_PROXY: 'true', RATE_LIMIT_IP: '1000000' } });
beforeEach(async () => {
  world = await createWorld(server);
  moderator = await signedIn(server, await createMember(server, world.accountId, 'moderator'));
  ideaId = await insertIdea(server, world);
});

async function voteFrom(ip: string, name: string, value = 'up') {
  const voter = await signedIn(server, await createMember(server, world.accountId, 'member', name));
  return castFrom(ip, voter, value);
}

async function castFrom(ip: string, voter: Visitor, value: string) {
  const page = `/b/${world.boardSlug}/ideas/${ideaId}`;
  const { html } = await voter.get(page);
  const form_token = parse(html).querySelector('input[name=form_token]')?.getAttribute('value') ?? '';
  const headers = { 'x-forwarded-for': ip };
  const { status } = await voter.post(`${page}/vote`, { value, form_token }, { headers });
  expect(status).toBe(303);
  return voter;
}

/** Returns the lines of the page's section about votes from the same network. */
async function networksOn(by = moderator) {
  const { html } = await by.get(`/admin/ideas/${ideaId}`);
  return parse(html)
    .querySelectorAll('section[aria-labelledby=networks] li')
    .map(line => line.textContent);
}

test("a moderator sees which people voted on an idea from the same IP network, but does not see the network's address", async () => {
  await voteFrom('203.0.113.7', 'Ada');
  await voteFrom('203.0.113.8', 'Alone');
  expect(await networksOn()).toEqual([]);
  await voteFrom('203.0.113.7', 'Bert', 'down');
  await voteFrom('2001:db8:1:2::1', 'Cora');
  await voteFrom('2001:db8:1:2:ffff::9', 'Dan');
  await voteFrom('203.0.113.7', '<b>Eve</b>');
  expect(await networksOn()).toEqual(['3 people: Ada, Bert, <b>Eve</b>', '2 people: Cora, Dan']);
  const { html } = await moderator.get(`/admin/ideas/${ideaId}`);
  expect(html).not.toContain('203.0.113');
  const [stored] = await server.sql<{ text: string }>('select string_agg(v::text, $1) as text from vote_networks v', [
    ' ',
  ]);
  expect(stored?.text).not.toContain('203.0.113');
});

test('if 31 people voted on an idea from one IP network, a moderator sees 20 names and the number of the other people', async () => {
  await voteFrom('203.0.113.7', 'Voter');
  await server.sql(
    `with people as (insert into users (name, email) select 'Voter', 'voter' || n || '@example.com' from generate_series(1, 30) n returning id),
      v as (insert into voters (account_id, user_id) select $1, id from people returning *),
      cast_votes as (
        insert into votes (account_id, idea_id, voter_id, value) select $1, $2, id, 1 from v returning *
      )
    insert into vote_networks (account_id, idea_id, voter_id, network, expires_at)
      select v.account_id, v.idea_id, v.voter_id, (select network from vote_networks where idea_id = $2), now()
      from cast_votes v`,
    [world.accountId, ideaId],
  );
  expect(await networksOn()).toEqual([`31 people: ${'Voter, '.repeat(20)}and 11 more`]);
});

test("the server remembers the IP network of a person's latest vote, but no network for a withdrawn vote or for a vote through a token", async () => {
  const ada = await voteFrom('203.0.113.7', 'Ada');
  const bert = await voteFrom('203.0.113.7', 'Bert');
  await castFrom('203.0.113.7', ada, 'none');
  expect(await networksOn()).toEqual([]);
  await castFrom('203.0.113.7', ada, 'down');
  expect(await networksOn()).toEqual(['2 people: Ada, Bert']);
  await castFrom('198.51.100.1', bert, 'down');
  expect(await networksOn()).toEqual([]);
  const { token } = await issueToken(server, world, 'write');
  await request(server, `POST /api/v1/ideas/${ideaId}/vote`, { token, json: { value: 'up' } });
  expect(await server.sql('select from vote_networks where idea_id = $1', [ideaId])).toHaveLength(2);
});
