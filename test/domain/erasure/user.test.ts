import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { events } from '../../../contract/events.ts';
import { presentEvent, type RecordedEvent } from '../../../server/domain/events/recorded-event.ts';
import { expectInvariants } from '../../helpers/invariants.ts';
import { makeJobsDue, runJobs } from '../../helpers/jobs.ts';
import { request } from '../../helpers/request.ts';
import { startServer, type TestServer } from '../../helpers/server.ts';
import { dump, linesWith } from './dump.ts';
import { marker, type Populated, person, populate, requestDeletion } from './populate.ts';
import { type CleanUpOutcome, runCleanUp } from './run.ts';

const tallies = 'select id, up_count, down_count, score, comment_count, merged_into_id from ideas order by id';
const votes = 'select idea_id, voter_id, value, carried_from_id from votes order by 1, 2';
const writings = `select i.id, i.title, i.body, array(select c.body from comments c where c.idea_id = i.id order by c.id)
  from ideas i order by i.id`;

describe('an erased user', () => {
  let server: TestServer;
  let populated: Populated;
  let outcome: CleanUpOutcome;
  let placeholderId: number;
  const before: Record<string, unknown[]> = {};
  const read = async (line: string, token = populated.ownToken.token, headers: Record<string, string> = {}) =>
    request(server, line, { token, headers });
  let shown: { etag: string | null; updatedAt: string };

  beforeAll(async () => {
    server = await startServer({ environment: { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' } });
    populated = await populate(server);
    await requestDeletion(server, populated.personId);
    await expectInvariants(server);
    for (const sql of [tallies, votes, writings]) before[sql] = await server.sql(sql);
    const lines = await dump(server);
    // Before the erasure, the database must contain texts of the person. Otherwise the tests in this file would pass
    // without an erasure.
    expect(linesWith(lines, marker).length).toBeGreaterThan(30);
    for (const value of Object.values(person))
      expect(lines.some(line => line.includes(JSON.stringify(value).slice(1, 9)))).toBe(true);
    const answer = await read(`GET /api/v1/ideas/${populated.ideaId}`);
    expect(answer.body.author.name).toBe(person.name);
    shown = { etag: answer.headers.get('etag'), updatedAt: answer.body.updated_at };

    outcome = await runCleanUp(server);
    const [placeholder] = await server.sql<{ id: number }>('select id from users where is_placeholder');
    placeholderId = placeholder?.id ?? 0;
  });
  afterAll(() => server.close());

  test("after the erasure of a user, no database row contains the user's name, e-mail address or picture", async () => {
    expect(linesWith(await dump(server), marker)).toEqual([]);
    expect(await server.sql('select from users where id = $1', [populated.personId])).toEqual([]);
  });

  test('the reported outcome of an erasure contains only ids and counts', () => {
    expect(outcome).toMatchObject({ isAlone: true, accounts: [], held: [], failed: [] });
    expect(outcome.users).toEqual([
      {
        id: populated.personId,
        isResumed: false,
        counts: {
          api_tokens: 2,
          comments: 2,
          events: expect.any(Number),
          external_ids: 1,
          followers: 3,
          idea_notes: 1,
          ideas: 4,
          idempotency_keys: expect.any(Number),
          identities: 1,
          invitations: 2,
          jobs: 5,
          memberships: 2,
          mentions: 1,
          notifications: expect.any(Number),
          oauth_records: 2,
          password_links: 1,
          pictures: 1,
          recovery_codes: 1,
          second_factors: 1,
          sessions: 1,
          sign_in_challenges: 1,
          sign_in_links: 2,
          sign_in_methods: 1,
          user_blocks: 1,
          vote_networks: 1,
          voters: 1,
        },
      },
    ]);
  });

  test('the erasure of a user changes no tally and no vote, and each vote keeps its voter id', async () => {
    expect(await server.sql(tallies)).toEqual(before[tallies]);
    expect(await server.sql(votes)).toEqual(before[votes]);
    await expectInvariants(server);
    expect(await server.sql('select count(*) as n from voters where user_id is null')).not.toEqual([{ n: 0 }]);
  });

  test('the ideas and comments of an erased user are kept, and their author becomes the placeholder for erased users', async () => {
    expect(await server.sql(writings)).toEqual(before[writings]);
    expect(await server.sql('select id, name, email from users where is_placeholder')).toEqual([
      { id: placeholderId, name: 'Deleted user', email: null },
    ]);
    const idea = await read(`GET /api/v1/ideas/${populated.ideaId}`);
    expect(idea.body.author).toEqual({ id: placeholderId, name: 'Deleted user' });
    const comments = await read(`GET /api/v1/ideas/${populated.ideaId}/comments`);
    expect(comments.body.data.map((comment: { author: { name: string } }) => comment.author.name)).toEqual([
      'The owner',
      'Deleted user',
    ]);
    const counts = await server.sql('select count(*)::int as n from ideas where author_id = $1', [placeholderId]);
    expect(counts).toEqual([{ n: 4 }]);
  });

  test("the erasure of a user changes the ETag and updated_at of the user's ideas, so that clients replace cached responses", async () => {
    const again = await read(`GET /api/v1/ideas/${populated.ideaId}`, undefined, { 'If-None-Match': shown.etag ?? '' });
    expect(again.status).toBe(200);
    expect(again.body.updated_at > shown.updatedAt).toBe(true);
  });

  test('the tokens of an erased user are revoked and lose their last IP network, and their issuer becomes the placeholder for erased users', async () => {
    expect((await read('GET /api/v1/ideas', populated.personToken.token)).key).toBe('unauthorized');
    const tokens = await server.sql(
      `select distinct name, issuer_id, revoked_at is not null as is_revoked, last_used_network from api_tokens where id <> all ($1)`,
      [
        (await server.sql<{ id: number }>(`select id from api_tokens where issuer_id <> $1`, [placeholderId])).map(
          ({ id }) => id,
        ),
      ],
    );
    const shown = { name: 'Token of a deleted user', issuer_id: placeholderId };
    expect(tokens).toEqual([{ ...shown, is_revoked: true, last_used_network: null }]);
  });

  test('events show the placeholder for erased users instead of an erased user and still match the contract', async () => {
    const rows = await server.sql<RecordedEvent & { type: keyof typeof events; actor_id: number }>(
      `select type, occurred_at, data, body, actor_id from events where type not in ('idea.pending', 'idea.rejected')`,
    );
    expect(rows.length).toBeGreaterThan(20);
    for (const event of rows) {
      const sent = presentEvent(event, server.config);
      expect(events[event.type].parse(sent)).toEqual(sent);
      // Workers of older server versions send the column `body`. This column must not contain the field `url`.
      const withoutUrls = JSON.stringify(sent.data, (name, value) => (name === 'url' ? undefined : value));
      expect(event.body).toMatchObject({ type: event.type, data: JSON.parse(withoutUrls) });
    }
    const acted = rows.filter(({ actor_id }) => actor_id === placeholderId);
    expect(acted.length).toBeGreaterThan(8);
    for (const { body } of acted) {
      const { actor } = (body as { data: { actor: object } }).data;
      expect(actor).toEqual({ id: placeholderId, name: 'Deleted user', token_id: expect.toSatisfy(isTokenOrPerson) });
    }
    const authored = rows.filter(({ body }) => JSON.stringify(body).includes(`"author":{"id":${placeholderId},`));
    expect(authored.length).toBeGreaterThan(8);
    // The erasure must not change the tag "Night", whose id equals the id of the person.
    expect(rows.some(({ body }) => JSON.stringify(body).includes('"name":"Night"'))).toBe(true);
  });

  test('after an erasure, a pending webhook delivery is marked as redacted if and only if its event shows the placeholder for erased users', async () => {
    const pending = await server.sql<{ is_redacted: boolean; shows_placeholder: boolean }>(
      `select d.is_redacted, e.body::text like '%"Deleted user"%' as shows_placeholder
      from webhook_deliveries d join events e on e.id = d.event_id where d.state = 'pending'`,
    );
    expect(pending.length).toBeGreaterThan(1);
    for (const { is_redacted, shows_placeholder } of pending) expect(is_redacted).toBe(shows_placeholder);
    const responses = await server.sql('select from webhook_attempts where response is not null');
    // The erasure keeps stored responses of webhook receivers if the delivered event does not show the erased user.
    expect(responses.length).toBeGreaterThan(0);
  });

  test('a repeated request with an Idempotency-Key still gets its stored response after an erasure, but its author is then the placeholder for erased users', async () => {
    const [kept] = await server.sql<{ path: string; key: string }>(
      `select path, key from idempotency_keys where token_id = $1 and path like $2`,
      [populated.ownToken.id, `%/${populated.ideaId}/tags`],
    );
    const replayed = await request(server, `POST ${kept?.path}`, {
      token: populated.ownToken.token,
      json: { tag_id: populated.personId },
      headers: { 'Idempotency-Key': kept?.key ?? '' },
    });
    expect(replayed.headers.get('idempotency-replayed')).toBe('true');
    expect(replayed.body.author).toEqual({ id: placeholderId, name: 'Deleted user' });
  });

  test('other users can still comment and vote on ideas after the erasure of a user', async () => {
    const { token } = populated.ownToken;
    const path = `/api/v1/ideas/${populated.otherIdeaId}`;
    expect((await request(server, `POST ${path}/comments`, { token, json: { body: 'After.' } })).status).toBe(201);
    expect((await request(server, `POST ${path}/vote`, { token, json: { value: 'down' } })).status).toBe(200);
    await makeJobsDue(server);
    expect(await runJobs(server)).toEqual([]);
    expect(await server.sql('select from notifications where user_id = $1', [placeholderId])).toEqual([]);
    await expectInvariants(server);
  });

  test('after the erasure of a user, a new user can have the same e-mail address', async () => {
    const [newUser] = await server.sql<{ id: number }>('insert into users (email, name) values ($1, $2) returning id', [
      person.email,
      person.name,
    ]);
    expect(newUser?.id).not.toBe(populated.personId);
    expect(await server.sql('select from user_blocks where user_id = $1', [newUser?.id])).toEqual([]);
    await server.sql('delete from users where id = $1', [newUser?.id]);
  });

  test('after a user is erased, a second run of the erasure changes nothing', async () => {
    const lines = await dump(server);
    expect(await runCleanUp(server)).toEqual({ isAlone: true, accounts: [], users: [], held: [], failed: [] });
    expect(await dump(server)).toEqual(lines);
  });
});

const isTokenOrPerson = (id: unknown) => id === null || typeof id === 'number';
