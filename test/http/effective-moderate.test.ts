import { beforeEach, describe, expect, test } from 'vitest';
import { testClock } from '../helpers/clock.ts';
import { createAccount, createBoard, createMember, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { createTargets, requestOf, writes } from '../helpers/operations.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { snapshot } from '../helpers/snapshot.ts';

const clock = testClock('2026-05-01T08:00:00Z');
let world: World;
let issuerId: number;
let tokenId: number;
let token: string;
let pendingId: number;

const server = await startServerForFile({ clock, environment: { PLANS_WITHOUT_AGENT_API: 'free,starter' } });
beforeEach(async () => {
  const { accountId } = await createAccount(server, 'business');
  const ownerId = await createMember(server, accountId, 'owner');
  const { id: boardId, slug: boardSlug } = await createBoard(server, accountId, { preModeration: true });
  world = { accountId, ownerId, boardId, boardSlug };
  issuerId = await createMember(server, accountId, 'admin');
  const expiresAt = new Date(Date.now() + 365 * 86_400_000);
  ({ id: tokenId, token } = await issueToken(server, world, 'moderate', { issuerId, expiresAt }));
  pendingId = await insertIdea(server, world, { moderationState: 'pending' });
});

const setRole = (role: string) =>
  server.sql('update memberships set role = $3 where account_id = $1 and user_id = $2', [
    world.accountId,
    issuerId,
    role,
  ]);

const moderating = writes.filter(({ grant }) => grant === 'moderate');

/**
 * Sends a request for each kind of action with the token. Returns the HTTP status or the error key of each response.
 */
async function abilities() {
  const targets = await createTargets(server, world);
  const untouchedId = await insertIdea(server, world);
  const outcome = async (line: string, json?: unknown) => {
    const answer = await request(server, line, { token, json });
    return answer.key ?? (answer.body.moderation_state === 'pending' ? 'pending' : answer.status);
  };
  const moderatorActions = new Set<unknown>();
  for (const operation of moderating) {
    const { line, json } = requestOf(operation, targets);
    const result = await outcome(line, json);
    moderatorActions.add(result === operation.successStatus ? 'succeeded' : result);
  }
  const ownToken = await request(server, 'GET /api/v1/token', { token });
  return {
    moderatorActions: [...moderatorActions],
    readsPending: (await outcome(`GET /api/v1/ideas/${pendingId}`)) === 'pending',
    readsCommentsOfPending: await outcome(`GET /api/v1/ideas/${pendingId}/comments`),
    listsPending: await outcome('GET /api/v1/ideas?moderation_state=pending'),
    lists: await outcome('GET /api/v1/ideas'),
    creates: await outcome('POST /api/v1/ideas', { title: 'Mine', body: 'It is.' }),
    votes: await outcome(`POST /api/v1/ideas/${untouchedId}/vote`, { value: 'up' }),
    comments: await outcome(`POST /api/v1/ideas/${untouchedId}/comments`, { body: 'Yes.' }),
    saysItModerates: ownToken.body.boards?.[0]?.is_moderate_effective,
  };
}

const everything = {
  moderatorActions: ['succeeded'],
  readsPending: true,
  readsCommentsOfPending: 200,
  listsPending: 200,
  lists: 200,
  creates: 201,
  votes: 200,
  comments: 201,
  saysItModerates: true,
};

/**
 * The responses to a token that has the moderate grant, but whose issuer is not a moderator. New ideas are pending, and
 * requests for pending ideas get not_found.
 */
const asMember = {
  moderatorActions: ['token_issuer_not_moderator'],
  readsPending: false,
  readsCommentsOfPending: 'not_found',
  listsPending: 'token_issuer_not_moderator',
  lists: 200,
  creates: 'pending',
  votes: 200,
  comments: 201,
  saysItModerates: false,
};

const refusedWith = (key: string) => ({
  moderatorActions: [key],
  readsPending: false,
  readsCommentsOfPending: key,
  listsPending: key,
  lists: key,
  creates: key,
  votes: key,
  comments: key,
  saysItModerates: undefined,
});

test('a token with the moderate grant can read, write and moderate if its issuer is an admin of the account', async () => {
  expect(await abilities()).toEqual(everything);
});

test.each(['owner', 'admin', 'moderator'])(
  'a token with the moderate grant can moderate if the issuer of the token has the role %s',
  async role => {
    await setRole(role);
    expect(await abilities()).toEqual(everything);
  },
);

test('if the issuer of a token gets the role member, the token cannot moderate until the issuer is a moderator again', async () => {
  expect(await abilities()).toEqual(everything);
  await setRole('member');
  expect(await abilities()).toEqual(asMember);
  await setRole('moderator');
  expect(await abilities()).toEqual(everything);
});

test('if the issuer of a token leaves the account, the token cannot moderate until the issuer joins the account again', async () => {
  expect(await abilities()).toEqual(everything);
  await server.sql('delete from memberships where account_id = $1 and user_id = $2', [world.accountId, issuerId]);
  expect(await abilities()).toEqual(asMember);
  await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'owner')`, [
    world.accountId,
    issuerId,
  ]);
  expect(await abilities()).toEqual(everything);
});

test("a token with the moderate grant cannot moderate if its issuer owns another account but is only a member of the token's account", async () => {
  const other = await createAccount(server);
  await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'owner')`, [
    other.accountId,
    issuerId,
  ]);
  await setRole('member');
  expect(await abilities()).toEqual(asMember);
});

test('after the issuer of a token is blocked, the token can read but not write from the next request on', async () => {
  expect(await abilities()).toEqual(everything);
  await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, issuerId]);
  expect(await abilities()).toEqual({
    ...everything,
    moderatorActions: ['user_blocked'],
    creates: 'user_blocked',
    votes: 'user_blocked',
    comments: 'user_blocked',
  });
  await server.sql('delete from user_blocks where account_id = $1 and user_id = $2', [world.accountId, issuerId]);
  expect(await abilities()).toEqual(everything);
});

test("a block of a token's issuer in another account does not affect the token", async () => {
  const other = await createAccount(server);
  await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [other.accountId, issuerId]);
  expect(await abilities()).toEqual(everything);
});

test('a plan change that removes or restores the Agent API takes effect at the next request by any token of the account', async () => {
  expect(await abilities()).toEqual(everything);
  const setPlan = (plan: string) => server.sql('update accounts set plan = $2 where id = $1', [world.accountId, plan]);
  await setPlan('starter');
  expect(await abilities()).toEqual(refusedWith('agent_api_unavailable'));
  await setPlan('community');
  expect(await abilities()).toEqual(everything);
});

test('after a token is revoked, its next request gets 401', async () => {
  expect(await abilities()).toEqual(everything);
  await server.sql('update api_tokens set revoked_at = now() where id = $1', [tokenId]);
  expect(await abilities()).toEqual(refusedWith('unauthorized'));
});

test('a token is valid until one millisecond before its expiry time, and gets 401 from the expiry time on', async () => {
  const expiry = new Date('2026-05-02T00:00:00Z');
  await server.sql('update api_tokens set expires_at = $2 where id = $1', [tokenId, expiry]);
  clock.set(new Date(expiry.getTime() - 1));
  expect(await abilities()).toEqual(everything);
  clock.set(expiry);
  expect(await abilities()).toEqual(refusedWith('unauthorized'));
  clock.set('2026-05-01T08:00:00Z');
});

describe("a change of a token's grant", () => {
  const setLevel = (level: string) =>
    server.sql('update api_token_boards set level = $2 where token_id = $1', [tokenId, level]);

  test("if a token's moderate grant is lowered to write, the token cannot moderate from the next request on", async () => {
    expect(await abilities()).toEqual(everything);
    await setLevel('write');
    expect(await abilities()).toEqual({
      ...asMember,
      moderatorActions: ['insufficient_scope'],
      listsPending: 'insufficient_scope',
    });
  });

  test("if a token's moderate grant is lowered to read, its next requests can only read the board", async () => {
    await setLevel('read');
    expect(await abilities()).toEqual({
      ...asMember,
      moderatorActions: ['insufficient_scope'],
      listsPending: 'insufficient_scope',
      creates: 'insufficient_scope',
      votes: 'insufficient_scope',
      comments: 'insufficient_scope',
    });
  });

  test("if a token's grant on a board is removed, all requests of the token to the board get 403 from the next request on", async () => {
    await server.sql('delete from api_token_boards where token_id = $1', [tokenId]);
    expect(await abilities()).toEqual(refusedWith('board_not_granted'));
  });
});

test('a token with the write grant cannot moderate, even if its issuer is an owner of the account', async () => {
  ({ token } = await issueToken(server, world, 'write'));
  expect(await abilities()).toMatchObject({
    moderatorActions: ['insufficient_scope'],
    listsPending: 'insufficient_scope',
    readsPending: false,
    creates: 'pending',
    saysItModerates: false,
  });
});

test('a token with the moderate grant on one board and the write grant on another board cannot moderate the other board', async () => {
  const { id: secondId, slug } = await createBoard(server, world.accountId, { preModeration: true });
  const second = { ...world, boardId: secondId };
  const pending = await insertIdea(server, second, { moderationState: 'pending' });
  const both = await issueToken(server, world, { [world.boardId]: 'moderate', [secondId]: 'write' });
  const on = (line: string, json?: unknown) => request(server, `${line}?board=${slug}`, { token: both.token, json });
  expect((await on(`GET /api/v1/ideas/${pending}`)).status).toBe(404);
  expect((await on(`POST /api/v1/ideas/${pending}/status`, { status: 'planned' })).key).toBe('insufficient_scope');
  expect((await on('POST /api/v1/ideas', { title: 'Mine', body: 'It is.' })).body.moderation_state).toBe('pending');
  const first = await request(server, `GET /api/v1/ideas/${pendingId}?board=${world.boardSlug}`, { token: both.token });
  expect(first.body.moderation_state).toBe('pending');
});

test("after a token's issuer has lost the moderator role, the token's moderator actions are refused and change nothing", async () => {
  await setRole('member');
  const targets = await createTargets(server, world);
  const before = await snapshot(server);
  for (const operation of moderating) {
    const { line, json } = requestOf(operation, targets);
    expect((await request(server, line, { token, json })).status).toBe(403);
  }
  expect(await snapshot(server)).toEqual(before);
});
