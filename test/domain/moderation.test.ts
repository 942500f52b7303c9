import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Administration, AdministrationError } from '../../server/domain/administration.ts';
import { approveIdea, rejectIdea } from '../../server/domain/moderation/moderate-idea.ts';
import { operatorIn } from '../helpers/administration.ts';
import { createMember, createWorld, issueToken, type World } from '../helpers/fixtures.ts';
import { expectInvariants } from '../helpers/invariants.ts';
import { boardOperations, createTargets, requestOf } from '../helpers/operations.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { snapshot } from '../helpers/snapshot.ts';

// The Agent API cannot approve or reject ideas. So these tests call the domain functions, and then check the API's
// responses to tokens.
let world: World;
let tokens: { read: string; write: string; moderate: string };
let authorToken: string;

const server = await startServerForFile();
beforeEach(async () => {
  world = await createWorld(server, { preModeration: true });
  const authorId = await createMember(server, world.accountId, 'admin');
  authorToken = (await issueToken(server, world, 'write', { issuerId: authorId })).token;
  const issue = async (grant: 'read' | 'write' | 'moderate') => (await issueToken(server, world, grant)).token;
  tokens = { read: await issue('read'), write: await issue('write'), moderate: await issue('moderate') };
});
afterEach(() => expectInvariants(server));

const administer = <T>(work: (admin: Administration) => Promise<T>) =>
  server.database.transaction(transaction => work(operatorIn(transaction)));
const approve = (ideaId: number) => administer(admin => approveIdea(admin, world.accountId, ideaId));
const reject = (ideaId: number) => administer(admin => rejectIdea(admin, world.accountId, ideaId, 'Off topic.'));

async function submit(): Promise<number> {
  const answer = await request(server, 'POST /api/v1/ideas', {
    token: authorToken,
    json: { title: 'Awaiting approval', body: 'Please.' },
  });
  expect([answer.status, answer.body.moderation_state]).toEqual([201, 'pending']);
  return answer.body.id;
}

const read = (ideaId: number, token: string) => request(server, `GET /api/v1/ideas/${ideaId}`, { token });

async function listed(ideaId: number, token: string, query = ''): Promise<boolean> {
  const { body } = await request(server, `GET /api/v1/ideas?per_page=100${query}`, { token });
  return body.data.some(({ id }: { id: number }) => id === ideaId);
}

test('a token with any grant can read an idea as soon as the idea is approved', async () => {
  const ideaId = await submit();
  expect((await read(ideaId, authorToken)).status).toBe(404);
  expect(await listed(ideaId, tokens.moderate, '&moderation_state=pending')).toBe(true);
  expect(await approve(ideaId)).toBe(true);
  for (const token of Object.values(tokens)) {
    expect((await read(ideaId, token)).body.moderation_state).toBe('published');
    expect(await listed(ideaId, token)).toBe(true);
  }
  expect(await listed(ideaId, tokens.moderate, '&moderation_state=pending')).toBe(false);
  const vote = await request(server, `POST /api/v1/ideas/${ideaId}/vote`, {
    token: tokens.write,
    json: { value: 'up' },
  });
  expect(vote.body.score).toBe(1);
});

test('no token sees a rejected idea in the list of ideas, and even a token with the moderate grant can neither read nor change it', async () => {
  const ideaId = await submit();
  expect(await reject(ideaId)).toBe(true);
  const targets = await createTargets(server, world);
  const before = await snapshot(server);
  for (const token of [...Object.values(tokens), authorToken]) {
    for (const query of ['', '&status=open', '&status_key=open', '&q=awaiting', '&sort=top']) {
      expect(await listed(ideaId, token, query)).toBe(false);
    }
  }
  expect(await listed(ideaId, tokens.moderate, '&moderation_state=pending')).toBe(false);
  for (const operation of boardOperations.filter(({ hasIdeaId }) => hasIdeaId)) {
    const { line, json } = requestOf(operation, targets, { id: ideaId });
    const answer = await request(server, line, { token: tokens.moderate, json });
    expect([line, answer.status, answer.key]).toEqual([line, 404, 'not_found']);
  }
  const into = await request(server, `POST /api/v1/ideas/${targets.ideaId}/merge`, {
    token: tokens.moderate,
    json: { target_id: ideaId },
  });
  expect(into.key).toBe('not_found');
  expect(await snapshot(server)).toEqual(before);
  const [row] = await server.sql('select moderation_state, rejection_reason from ideas where id = $1', [ideaId]);
  expect(row).toEqual({ moderation_state: 'rejected', rejection_reason: 'Off topic.' });
});

test('when an approval and a rejection of one idea run at the same time, one succeeds and the other gets a conflict', async () => {
  const winners = new Set<string>();
  for (let round = 0; round < 12; round++) {
    const ideaId = await submit();
    // The order alternates: in some rounds the approval starts first, and in the other rounds the rejection starts
    // first.
    const [first, second] = round % 2 ? [approve, reject] : [reject, approve];
    const outcomes = await Promise.allSettled([first(ideaId), second(ideaId)]);
    const won = outcomes.filter(outcome => outcome.status === 'fulfilled');
    const [lost] = outcomes.filter(outcome => outcome.status === 'rejected');
    expect(won.map(({ value }) => value)).toEqual([true]);
    expect(lost?.reason).toBeInstanceOf(AdministrationError);
    expect(lost?.reason).toMatchObject({ reason: 'conflict' });
    const [row] = await server.sql<{ moderation_state: string }>('select moderation_state from ideas where id = $1', [
      ideaId,
    ]);
    const approved = (round % 2 ? outcomes[0] : outcomes[1])?.status === 'fulfilled';
    expect(row?.moderation_state).toBe(approved ? 'published' : 'rejected');
    expect((await read(ideaId, tokens.moderate)).status).toBe(approved ? 200 : 404);
    winners.add(row?.moderation_state ?? '');
  }
  expect(winners).toEqual(new Set(['published', 'rejected']));
});

test('an account can neither approve nor reject an idea of another account', async () => {
  const ideaId = await submit();
  const stranger = await createWorld(server);
  const before = await snapshot(server);
  const decisions = [
    (admin: Administration) => approveIdea(admin, stranger.accountId, ideaId),
    (admin: Administration) => rejectIdea(admin, stranger.accountId, ideaId, 'No.'),
  ];
  for (const decide of decisions) await expect(administer(decide)).rejects.toThrow(AdministrationError);
  expect(await snapshot(server)).toEqual(before);
  expect((await read(ideaId, tokens.moderate)).body.moderation_state).toBe('pending');
});

test("an idea by an admin's token with the moderate grant needs no approval, and an approval does not change the author of an idea", async () => {
  const ideaId = await submit();
  await approve(ideaId);
  const { author } = (await read(ideaId, tokens.read)).body;
  expect(author.name).toBe('The admin');
  const mine = await request(server, 'POST /api/v1/ideas', {
    token: tokens.moderate,
    json: { title: 'Published at once', body: 'By a moderator.' },
  });
  expect(mine.body.moderation_state).toBe('published');
});
