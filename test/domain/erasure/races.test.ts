import { hash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createToken } from '../../../server/domain/tokens/change-tokens.ts';
import { castOwnVote, castVote } from '../../../server/domain/votes/cast-vote.ts';
import { OauthRecord } from '../../../server/entities/oauth-record.ts';
import { signedIn } from '../../admin/visitor.ts';
import { cliOn } from '../../cli/run-cli.ts';
import { connect } from '../../helpers/database.ts';
import { createMember, createWorld, insertIdea, issueToken } from '../../helpers/fixtures.ts';
import { expectInvariants } from '../../helpers/invariants.ts';
import { countLockWaits } from '../../helpers/lock-waits.ts';
import { startPublicServer } from '../../helpers/public-server.ts';
import { startReceiverForTest } from '../../helpers/receiver.ts';
import { type Answer, request } from '../../helpers/request.ts';
import { startServerForFile } from '../../helpers/server.ts';
import { addWebhook, administer, eventually } from '../../helpers/webhooks.ts';
import { startWorkerForTest } from '../../helpers/worker.ts';
import { Program } from '../../oauth/program.ts';
import { makeDirectoryForFile } from '../../transfer/temporary-directory.ts';
import { dump, linesWith } from './dump.ts';
import { marker, person, requestDeletion, scheduleDeletion } from './populate.ts';
import { type CleanUpOutcome, runCleanUp } from './run.ts';

const directory = await makeDirectoryForFile();
const server = await startServerForFile();
const world = await createWorld(server);
const { token: ownToken } = await issueToken(server, world, 'moderate');

/** Creates a user with a token. The next clean-up will erase the user, because the grace period has ended. */
async function createLeaving() {
  const userId = await createMember(server, world.accountId, 'admin', person.name);
  const { token, id: tokenId } = await issueToken(server, world, 'write', { issuerId: userId });
  await requestDeletion(server, userId);
  return { userId, token, tokenId };
}

/**
 * Opens a transaction and runs an SQL statement in it. The transaction keeps its locks until the test commits the
 * transaction.
 */
async function holding(text: string, values: unknown[]): Promise<pg.Client> {
  const client = await connect(server.url);
  onTestFinished(() => client.end());
  await client.query('begin');
  await client.query(text, values);
  return client;
}

const isWaiting = (count = 1) =>
  eventually(async () => {
    expect(await countLockWaits(server)).toBeGreaterThanOrEqual(count);
  });

const isErased = async (userId: number) => (await server.sql('select from users where id = $1', [userId])).length === 0;

describe('a request that began before the erasure of its user', () => {
  /**
   * Erases a user while a request of the user waits for `lock`. Then releases the lock and returns the response to the
   * request.
   */
  async function overtake(lock: string, id: number, line: string, json: unknown): Promise<Answer> {
    const { userId, token } = await createLeaving();
    const holder = await holding(lock, [id]);
    const answer = request(server, line, { token, json });
    await isWaiting();
    expect(await runCleanUp(server)).toMatchObject({ users: [{ id: userId }], failed: [] });
    await holder.query('commit');
    return answer;
  }
  const lockBoard = 'select from boards where id = $1 for update';
  const lockIdea = 'select from ideas where id = $1 for update';

  test('a request to create an idea gets 401 and creates no idea if its user is erased while the request waits for a lock', async () => {
    const before = await server.sql('select id from ideas order by id');
    const answer = await overtake(lockBoard, world.boardId, 'POST /api/v1/ideas', { title: 'Late', body: 'Too late.' });
    expect([answer.status, answer.key]).toEqual([401, 'unauthorized']);
    expect(await server.sql('select id from ideas order by id')).toEqual(before);
  });

  test('a request to add a comment gets 401 and adds no comment if its user is erased while the request waits for a lock', async () => {
    const ideaId = await insertIdea(server, world);
    const answer = await overtake(lockIdea, ideaId, `POST /api/v1/ideas/${ideaId}/comments`, { body: 'Too late.' });
    expect([answer.status, answer.key]).toEqual([401, 'unauthorized']);
    expect(await server.sql('select comment_count from ideas where id = $1', [ideaId])).toEqual([{ comment_count: 0 }]);
  });

  test("a vote that waits for a lock while its user is erased counts if no webhook gets the vote's event, and otherwise gets 401", async () => {
    const ideaId = await insertIdea(server, world);
    const line = `POST /api/v1/ideas/${ideaId}/vote`;
    expect((await overtake(lockIdea, ideaId, line, { value: 'up' })).status).toBe(200);
    const { id: webhookId } = await addWebhook(server, world, { url: 'https://hooks.example.com/' });
    const answer = await overtake(lockIdea, ideaId, line, { value: 'up' });
    expect([answer.status, answer.key]).toEqual([401, 'unauthorized']);
    expect(await server.sql('select up_count from ideas where id = $1', [ideaId])).toEqual([{ up_count: 1 }]);
    await server.sql('delete from webhook_endpoints where id = $1', [webhookId]);
    await expectInvariants(server);
  });
});

describe('the votes of a person during the erasure of the person', () => {
  async function createVoter() {
    const { userId } = await createLeaving();
    const ideaId = await insertIdea(server, world);
    const [voter] = await server.sql<{ id: number }>(
      'insert into voters (account_id, user_id) values ($1, $2) returning id',
      [world.accountId, userId],
    );
    return { userId, ideaId, voterId: voter?.id ?? 0 };
  }
  const votesOn = (ideaId: number) => server.sql('select value from votes where idea_id = $1', [ideaId]);
  const networksOn = (ideaId: number) => server.sql('select from vote_networks where idea_id = $1', [ideaId]);

  test.each([
    { vote: 'a new vote', earlier: 'none' },
    { vote: 'a changed vote', earlier: 'down' },
  ] as const)(
    'the erasure of a user waits for $vote in progress, keeps the vote and removes its network',
    async ({ earlier }) => {
      const { userId, ideaId, voterId } = await createVoter();
      const actor = { ...world, userId, tokenId: null, voterId, isModerator: false };
      await castVote({ actor, now: new Date(), query: server.database.query }, ideaId, earlier);
      const outcome = await server.database.transaction(async ({ query }) => {
        await castOwnVote({ actor, now: new Date(), query }, ideaId, 'up', Buffer.alloc(16));
        const cleaned = runCleanUp(server);
        await isWaiting();
        return { cleaned };
      });
      expect(await outcome.cleaned).toMatchObject({
        users: [{ id: userId, counts: { vote_networks: 1 } }],
        failed: [],
      });
      expect(await votesOn(ideaId)).toEqual([{ value: 1 }]);
      expect(await networksOn(ideaId)).toEqual([]);
    },
  );

  test('if a person is erased while their vote waits for a lock, the vote counts, but the server does not store its network', async () => {
    const { userId, ideaId } = await createVoter();
    const page = `/b/${world.boardSlug}/ideas/${ideaId}`;
    const visitor = await signedIn(server, userId);
    const holder = await holding('select from ideas where id = $1 for update', [ideaId]);
    const vote = visitor.submit(page, `${page}/vote`, { value: 'up' });
    await isWaiting();
    expect(await runCleanUp(server)).toMatchObject({ users: [{ id: userId }], failed: [] });
    await holder.query('commit');
    expect((await vote).status).toBe(303);
    expect(await votesOn(ideaId)).toEqual([{ value: 1 }]);
    expect(await networksOn(ideaId)).toEqual([]);
  });

  test('the erasure of a user waits for an import that refers to the voter of the user, and then removes the id of the voter in the import', async () => {
    const { userId, voterId } = await createVoter();
    const [user] = await server.sql<{ email: string }>('select email from users where id = $1', [userId]);
    const [account] = await server.sql<{ slug: string }>('select slug from accounts where id = $1', [world.accountId]);
    const file = join(directory, 'voter.jsonl');
    const archive = [
      { type: 'archive', format: 'idea-board-archive', version: 1 },
      { type: 'person', id: 'p', name: person.name, email: user?.email },
      { type: 'voter', id: 'v', person: 'p' },
    ];
    await writeFile(file, archive.map(line => JSON.stringify(line)).join('\n'));
    // The import waits until the transaction with the same external id ends.
    const holder = await holding(
      `insert into external_ids (account_id, kind, external_id, row_id) values ($1, 'voter', 'v', 0)`,
      [world.accountId],
    );
    const imported = cliOn(server.url).json('import', file, '--account', account?.slug ?? '');
    await isWaiting();
    const outcome = runCleanUp(server);
    await isWaiting(2);
    await holder.query('rollback');
    expect(await imported).toMatchObject({ imported: { voter: 1 } });
    expect(await outcome).toMatchObject({ users: [{ id: userId, counts: { external_ids: 1 } }], failed: [] });
    expect(await server.sql('select from external_ids where row_id = $1', [voterId])).toEqual([]);
    expect(linesWith(await dump(server), marker)).toEqual([]);
  });
});

describe('uncommitted writes during an erasure', () => {
  test("the erasure of a user waits for an uncommitted comment of the user, and then replaces the comment's author with the placeholder for erased users", async () => {
    const { userId } = await createLeaving();
    const ideaId = await insertIdea(server, world);
    const writer = await holding(
      'insert into comments (account_id, idea_id, author_id, body) values ($1, $2, $3, $4)',
      [world.accountId, ideaId, userId, 'Just in time.'],
    );
    await writer.query('update ideas set comment_count = 1 where id = $1', [ideaId]);
    const outcome = runCleanUp(server);
    await isWaiting();
    await writer.query('commit');
    expect(await outcome).toMatchObject({ users: [{ id: userId, counts: { comments: 1 } }], failed: [] });
    const comments = await server.sql(
      `select c.body, u.name from comments c join users u on u.id = c.author_id where c.idea_id = $1`,
      [ideaId],
    );
    expect(comments).toEqual([{ body: 'Just in time.', name: 'Deleted user' }]);
  });

  test('the erasure of a user also replaces the author of a comment that the user writes after the erasure has begun', async () => {
    const { userId } = await createLeaving();
    const ownIdeaId = await insertIdea(server, world, { authorId: userId });
    const ideaId = await insertIdea(server, world);
    // The erasure first replaces the author of the user's comments. Then the erasure waits for this lock on an idea of
    // the user.
    const holder = await holding('select from ideas where id = $1 for update', [ownIdeaId]);
    const outcome = runCleanUp(server);
    await isWaiting();
    const writer = await holding(
      'insert into comments (account_id, idea_id, author_id, body) values ($1, $2, $3, $4)',
      [world.accountId, ideaId, userId, 'At the last moment.'],
    );
    await writer.query('update ideas set comment_count = 1 where id = $1', [ideaId]);
    await holder.query('commit');
    await isWaiting();
    await writer.query('commit');
    expect(await outcome).toMatchObject({ users: [{ id: userId, counts: { comments: 1, ideas: 1 } }], failed: [] });
    expect(await isErased(userId)).toBe(true);
    await expectInvariants(server);
  });

  test("if an event about a user's idea commits during the erasure of the user, the event afterwards shows the placeholder for erased users", async () => {
    const { userId } = await createLeaving();
    const ideaId = await insertIdea(server, world, { authorId: userId });
    const recorder = await holding('select from ideas where id = $1 for no key update', [ideaId]);
    const record = `select record_event($1, 'idea.status_changed', $2, null, $3, null, '{}', now())`;
    await recorder.query(record, [world.accountId, ideaId, world.ownerId]);
    const outcome = runCleanUp(server);
    await isWaiting();
    await recorder.query('commit');
    expect(await outcome).toMatchObject({ users: [{ id: userId }], failed: [] });
    const [event] = await server.sql<{ author: unknown }>(
      `select body #> '{data,idea,author}' as author from events where idea_id = $1`,
      [ideaId],
    );
    expect(event?.author).toEqual({ id: expect.any(Number), name: 'Deleted user' });
    expect(linesWith(await dump(server), marker)).toEqual([]);
  });
});

test('if a user is erased during a webhook request that names the user, the server does not store a response that repeats the name', async () => {
  const { userId } = await createLeaving();
  const ideaId = await insertIdea(server, world, { authorId: userId });
  const answers: (() => void)[] = [];
  const receiver = await startReceiverForTest((response, { body }) => {
    answers.push(() => response.writeHead(answers.length > 1 ? 200 : 500).end(body));
  });
  const { id: webhookId } = await addWebhook(server, world, { url: receiver.url });
  await startWorkerForTest(server);
  await request(server, `POST /api/v1/ideas/${ideaId}/status`, { token: ownToken, json: { status: 'planned' } });
  await receiver.waitForRequests(1);
  expect(receiver.received[0]?.body).toContain('Zabriskie');
  expect(await runCleanUp(server)).toMatchObject({ users: [{ id: userId }], failed: [] });
  const attempts = () =>
    server.sql<{ status: number; response: string | null }>(
      `select a.status, a.response from webhook_attempts a join webhook_deliveries d on d.id = a.delivery_id
      where d.endpoint_id = $1 order by a.id`,
      [webhookId],
    );

  answers[0]?.();
  await eventually(async () => expect(await attempts()).toEqual([{ status: 500, response: null }]));
  // Makes the next delivery attempt due. This attempt must send the event without the erased user's name.
  await server.sql(`update webhook_deliveries set next_attempt_at = now() where endpoint_id = $1`, [webhookId]);
  await server.sql(`update webhook_endpoints set failing_since = null, probed_until = null where id = $1`, [webhookId]);
  await server.sql(
    `select graphile_worker.add_job('deliver_webhooks', json_build_object('endpoint_id', endpoint_id, 'lane', lane))
    from webhook_deliveries where endpoint_id = $1`,
    [webhookId],
  );
  await receiver.waitForRequests(2);
  expect(receiver.received[1]?.body).toContain('Deleted user');
  expect(receiver.received[1]?.body).not.toContain('Zabriskie');
  answers[1]?.();
  await eventually(async () => expect(await attempts()).toHaveLength(2));
  expect(linesWith(await dump(server), marker)).toEqual([]);
  await server.sql('delete from webhook_endpoints where id = $1', [webhookId]);
});

test('if an OAuth token is refreshed while its user is erased, both operations finish, and no OAuth record of a token remains', async () => {
  const provider = await startPublicServer({ on: server });
  onTestFinished(() => provider.close());
  const userId = await createMember(server, world.accountId, 'admin', person.name);
  const program = await Program.register(provider);
  const tokens = await program.connect(await signedIn(provider, userId), { [world.boardId]: 'write' });
  await requestDeletion(server, userId);

  // The token refresh holds the lock of the OAuth grant, and waits for the lock that `holder` has. The erasure holds
  // the lock of the user and also waits.
  const holder = await holding('select from api_tokens where issuer_id = $1 for update', [userId]);
  const refreshed = program.refresh(tokens.refresh_token);
  await isWaiting();
  const outcome = runCleanUp(server);
  await isWaiting(2);
  await holder.query('commit');
  const { status, body } = await refreshed;
  // To end the deadlock, PostgreSQL cancels either the refresh or the erasure. A canceled erasure starts again.
  expect([
    [400, 'invalid_grant'],
    [200, undefined],
  ]).toContainEqual([status, body.error]);
  expect(await outcome).toMatchObject({ users: [{ id: userId }], failed: [] });
  expect(await server.sql(`select from oauth_records where model <> 'Client' and token_id is not null`)).toEqual([]);
});

test('if an OAuth grant is created while the erasure of its account starts, the erasure removes the grant', async () => {
  const { accountId, ownerId: userId, boardId } = await createWorld(server);
  await scheduleDeletion(server, accountId);
  let outcome: Promise<CleanUpOutcome> | undefined;
  await administer(server, async admin => {
    const { token } = await createToken(admin, {
      accountId,
      issuerId: userId,
      name: 'A program',
      boards: [{ boardId, grant: 'read' }],
      kind: 'oauth',
    });
    const idHash = hash('sha256', 'a grant', 'buffer');
    const expiresAt = new Date(admin.now.getTime() + 60_000);
    admin.em.create(OauthRecord, { model: 'Grant', idHash, payload: {}, userId, tokenId: token.id, expiresAt });
    await admin.em.flush();
    outcome = runCleanUp(server);
    await isWaiting();
  });
  expect(await outcome).toMatchObject({ accounts: [{ id: accountId, counts: { oauth_records: 1 } }], failed: [] });
  expect(await server.sql('select from oauth_records where user_id = $1', [userId])).toEqual([]);
});

test('no request gets an unexpected error and no row is lost if a user is erased during parallel votes, comments, new ideas and merges', async () => {
  const { userId, token } = await createLeaving();
  await addWebhook(server, world, { url: 'https://hooks.example.com/' });
  const ideaIds: number[] = [];
  for (let n = 0; n < 20; n++) ideaIds.push(await insertIdea(server, world, { authorId: userId, title: `Idea ${n}` }));
  const commenters = [];
  for (let n = 0; n < 3; n++) {
    const issuerId = await createMember(server, world.accountId, 'moderator');
    commenters.push((await issueToken(server, world, 'moderate', { issuerId })).token);
  }
  let isOver = false;
  const answers: Answer[] = [];
  const ofUser: Answer[] = [];
  const any = () => ideaIds[Math.floor(Math.random() * ideaIds.length)] ?? 0;
  const traffic = commenters.map(async (by, n) => {
    for (let turn = 0; !isOver; turn++) {
      const ask = (line: string, json: unknown) => request(server, line, { token: by, json });
      answers.push(await ask(`POST /api/v1/ideas/${any()}/vote`, { value: turn % 2 ? 'up' : 'down' }));
      answers.push(await ask(`POST /api/v1/ideas/${any()}/comments`, { body: `Turn ${turn} of ${n}` }));
      answers.push(await ask(`POST /api/v1/ideas/${any()}/status`, { status: turn % 2 ? 'planned' : 'open' }));
      answers.push(await ask(`POST /api/v1/ideas/${any()}/merge`, { target_id: any() }));
      answers.push(await ask(`POST /api/v1/ideas/${any()}/unmerge`, undefined));
      const late = { token, json: { title: `Late ${turn}`, body: 'From a leaving user.' } };
      ofUser.push(await request(server, 'POST /api/v1/ideas', late));
    }
  });
  await eventually(() => expect(ofUser.length).toBeGreaterThan(2));
  const outcome = await runCleanUp(server, { batchSize: 3 });
  isOver = true;
  await Promise.all(traffic);

  expect(outcome).toMatchObject({ users: [{ id: userId }], failed: [] });
  const refusals = new Set(answers.filter(({ status }) => status >= 300).map(({ key }) => key));
  // The error service_unavailable is allowed, because on a slow machine a request may time out while it waits for a
  // lock.
  const ruled = ['consecutive_comment', 'idea_already_merged', 'merge_into_self', 'not_found', 'service_unavailable'];
  expect([...refusals].filter(key => !ruled.includes(key ?? ''))).toEqual([]);
  expect(new Set(ofUser.map(({ status }) => status))).toEqual(new Set([201, 401]));
  expect(await isErased(userId)).toBe(true);
  expect(linesWith(await dump(server), marker)).toEqual([]);
  await expectInvariants(server);
  const [counts] = await server.sql<{ ideas: number; comments: number }>(
    `select (select count(*)::int from ideas i join users u on u.id = i.author_id where u.is_placeholder and i.title ~ '^(Idea|Late)') as ideas,
      (select count(*)::int from comments where body ~ '^Turn ') as comments`,
  );
  expect(counts).toEqual({
    ideas: ideaIds.length + ofUser.filter(({ status }) => status === 201).length,
    comments: answers.filter(({ status }) => status === 201).length,
  });
});
