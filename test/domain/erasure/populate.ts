import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import { buildSecondFactorKeys } from '../../../server/domain/second-factor/second-factor-keys.ts';
import { requestAddress } from '../../../server/domain/users/change-address.ts';
import { castOwnVote } from '../../../server/domain/votes/cast-vote.ts';
import { createMember, createWorld, insertIdea, issueToken, type World } from '../../helpers/fixtures.ts';
import { runJobs } from '../../helpers/jobs.ts';
import { startReceiver } from '../../helpers/receiver.ts';
import { request } from '../../helpers/request.ts';
import { runAsUser } from '../../helpers/run-as-user.ts';
import type { TestServer } from '../../helpers/server.ts';
import { addWebhook, administer } from '../../helpers/webhooks.ts';

/** A word that occurs in every text about the person, and in no other text. */
export const marker = 'zabriskie';

/** A recovery code of the person, without hyphens, because the server hashes recovery codes without hyphens. */
export const recoveryCode = '0123456789abcdef';

export const person = {
  name: 'Quillon "Zabriskie" \\ Øst',
  email: 'Quillon.Zabriskie@person.example',
  notificationEmail: 'q+zabriskie@person.example',
  avatarUrl: 'https://avatars.example/zabriskie.png',
  // This value is not a real language. Like each text about the person, it must contain the marker.
  language: 'x-zabriskie',
};

export interface Populated {
  /**
   * The tests erase this person. The person was active in the first test account, `world`. In the second test account,
   * `other`, the person is a blocked member.
   */
  world: World;
  other: World;
  personId: number;
  /** `personToken` is a token of the person, and `ownToken` is a token of the account's owner. */
  personToken: { token: string; id: number };
  ownToken: { token: string; id: number };
  /** `ideaId` is an idea by the person, and `otherIdeaId` is an idea by the account's owner. */
  ideaId: number;
  otherIdeaId: number;
}

/**
 * Fills two accounts: the person performs every kind of action, and other users act on the person's ideas. Afterwards,
 * each database table that can name the person or contain their texts has a row about the person.
 */
export async function populate(server: TestServer): Promise<Populated> {
  const world = await createWorld(server);
  const other = await createWorld(server);
  const personId = await createPerson(server, world, other);
  const receiver = await startReceiver((response, { body }) => response.writeHead(200).end(body));
  await addWebhook(server, world, { url: `${receiver.url}/echo` });
  await addWebhook(server, other, { url: `${receiver.url}/echo` });
  await server.sql(
    `with secret as (insert into embedding_secrets (account_id, secret) values ($1, 'no ciphertext')),
    followed as (
      insert into vote_followings (account_id, board_id, expires_at) values ($1, $2, now() + interval '1 day')
    ),
    used as (insert into used_embedding_tokens (account_id, token_hash, expires_at) values ($1, sha256('x'), now()))
    insert into chat_channels (account_id, board_id, kind, url) values ($1, $2, 'slack', 'no ciphertext')`,
    [world.accountId, world.boardId],
  );

  const personToken = await issueToken(server, world, 'moderate', { issuerId: personId, name: "Zabriskie's laptop" });
  const second = await issueToken(server, world, 'write', { issuerId: personId, name: "Zabriskie's second" });
  await server.sql(`update api_tokens set last_used_network = '203.0.113.0/24' where id = $1`, [personToken.id]);
  const ownToken = await issueToken(server, world, 'moderate', { name: 'Of the owner' });
  const otherToken = await issueToken(server, other, 'moderate');
  await server.sql(
    `insert into event_waits (account_id, token_id, slot, board_id, server_id, expires_at)
    values ($1, $2, 1, $3, gen_random_uuid(), now() + interval '1 day')`,
    [world.accountId, ownToken.id, world.boardId],
  );
  await server.sql(
    `insert into token_usage
      (account_id, token_id, operation, request_count, parameters, fields, first_used_at, last_used_at, expires_at)
    select $1, t, 'GET /api/v1/board', 1, '{}', '{}', now(), now(), now() + interval '1 day' from unnest($2::bigint[]) t`,
    [world.accountId, [personToken.id, ownToken.id]],
  );
  const by = askerFor(server);

  // This tag has the same id as the person. Both have the fields `id` and `name`, but the erasure must change only the
  // person.
  await server.sql(
    `insert into tags (id, account_id, board_id, name, color) overriding system value values ($1, $2, $3, 'Night', '#000000')`,
    [personId, world.accountId, world.boardId],
  );
  const { id: ideaId } = await by(personToken, 'POST /api/v1/ideas', { title: 'Dark mode', body: 'For the evenings.' });
  const { id: secondId } = await by(second, 'POST /api/v1/ideas', { title: 'Shortcuts', body: 'For the hands.' });
  const otherIdeaId = await insertIdea(server, world, { title: 'Offline mode' });
  const mergedId = await insertIdea(server, world, { title: 'Night mode' });
  for (const id of [ideaId, secondId, otherIdeaId, mergedId]) {
    await by(personToken, `POST /api/v1/ideas/${id}/vote`, { value: id === otherIdeaId ? 'down' : 'up' });
    await by(ownToken, `POST /api/v1/ideas/${id}/vote`, { value: 'up' });
  }
  await by(ownToken, `POST /api/v1/ideas/${ideaId}/comments`, { body: 'We need this.' });
  await by(personToken, `POST /api/v1/ideas/${ideaId}/comments`, { body: 'So do I.' });
  await by(personToken, `POST /api/v1/ideas/${otherIdeaId}/comments`, { body: 'Offline, please.' });
  await by(personToken, `POST /api/v1/ideas/${ideaId}/notes`, { body: 'A customer asked for this.' });
  await by(ownToken, `POST /api/v1/ideas/${ideaId}/status`, { status: 'planned' });
  await by(personToken, `POST /api/v1/ideas/${otherIdeaId}/status`, { status: 'planned' });
  await by(ownToken, `POST /api/v1/ideas/${ideaId}/tags`, { tag_id: personId });
  await by(ownToken, `POST /api/v1/ideas/${mergedId}/merge`, { target_id: ideaId });
  await by(ownToken, `POST /api/v1/ideas/${secondId}/merge`, { target_id: otherIdeaId });
  await by(ownToken, `POST /api/v1/ideas/${secondId}/unmerge`);
  await by(otherToken, 'POST /api/v1/ideas', { title: 'Elsewhere', body: 'Of somebody else.' });
  await insertIdea(server, world, { authorId: personId, title: 'It waits', moderationState: 'pending' });
  await insertIdea(server, other, { authorId: personId, title: 'It was refused', moderationState: 'rejected' });
  for (const [userId, name] of [
    [personId, person.name],
    [world.ownerId, 'The owner'],
  ] as const) {
    await server.sql('insert into mentions (account_id, idea_id, user_id, name) values ($1, $2, $3, $4)', [
      world.accountId,
      otherIdeaId,
      userId,
      name,
    ]);
  }
  await runAsUser(server, world, personId, op => castOwnVote(op, otherIdeaId, 'up', Buffer.alloc(16)));
  await server.sql(
    `insert into external_ids (account_id, kind, external_id, row_id, user_id)
    select $1::bigint, 'person', 'github:zabriskie', null::bigint, $2::bigint union all
    select $1, 'voter', 'github:zabriskie', id, null from voters where account_id = $1 and user_id = $2 union all
    select $1, 'idea', 'github:number:1', $3::bigint, null`,
    [world.accountId, personId, ideaId],
  );

  expect(await runJobs(server)).toEqual([]);
  // From now on the webhook receiver rejects all deliveries, so the deliveries stay pending.
  receiver.respondWith((response, { body }) => response.writeHead(500).end(body));
  await by(ownToken, `POST /api/v1/ideas/${ideaId}/status`, { status: 'in_progress' });
  await by(personToken, `POST /api/v1/ideas/${otherIdeaId}/vote`, { value: 'up' });
  await runJobs(server);
  await by(ownToken, `POST /api/v1/ideas/${ideaId}/status`, { status: 'done' });
  const address = 'new.zabriskie@person.example';
  await administer(server, admin => requestAddress(admin, { userId: personId, field: 'email', address }));
  await server.sql(`update graphile_worker._private_jobs set last_error = 'cannot reach ' || $1`, [person.email]);
  await receiver.close();
  await signIn(server, personId, personToken.id, other);
  await invite(server, world, personId);
  await addNotices(server, world, personId);
  return { world, other, personId, personToken, ownToken, ideaId, otherIdeaId };
}

async function createPerson(server: TestServer, world: World, other: World): Promise<number> {
  const personId = await createMember(server, world.accountId, 'admin', person.name);
  await server.sql(
    'update users set email = $2, notification_email = $3, avatar_url = $4, language = $5 where id = $1',
    [personId, person.email, person.notificationEmail, person.avatarUrl, person.language],
  );
  await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'member')`, [
    other.accountId,
    personId,
  ]);
  await server.sql('insert into user_blocks (account_id, user_id, reason) values ($1, $2, $3)', [
    other.accountId,
    personId,
    'Zabriskie writes too much',
  ]);
  return personId;
}

/**
 * Returns a function that sends write requests. Each request has a new Idempotency-Key, so that the server stores the
 * response.
 */
function askerFor(server: TestServer) {
  let count = 0;
  return async ({ token }: { token: string }, line: string, json?: unknown) => {
    const answer = await request(server, line, { token, json, headers: { 'Idempotency-Key': `key-${++count}` } });
    expect(answer.status, `${line} ${answer.text}`).toBeLessThan(300);
    return answer.body;
  };
}

/**
 * Adds three unsent invitations. The first is to the person's address in upper case, the second is from the person, and
 * the third is between other people.
 */
async function invite({ sql }: TestServer, { accountId, ownerId }: World, personId: number) {
  const invited: [string, number][] = [
    [person.email.toUpperCase(), ownerId],
    ['somebody@example.com', personId],
    ['else@example.com', ownerId],
  ];
  for (const [email, inviterId] of invited) {
    await sql(
      `with made as (
        insert into invitations (account_id, email, role, inviter_id, delivery, expires_at)
        values ($1, $2, 'member', $3, 'waiting', now() + interval '7 days') returning id
      )
      select graphile_worker.add_job('mail_invitation', json_build_object('invitation_id', id, 'account_id', $1)) from made`,
      [accountId, email, inviterId],
    );
  }
}

/**
 * Adds unsent mails to the person: a notice about a new password, and a notice about the deletion of an account. A
 * third mail has a sign-in link that the person requested before they had a user.
 */
async function addNotices({ sql }: TestServer, { accountId }: World, userId: number) {
  await sql(`select graphile_worker.add_job('mail_password_notice', json_build_object('user_id', $1::bigint))`, [
    userId,
  ]);
  const asked = { user_id: null, email: person.email, canonical_email: person.email.toLowerCase(), next: '/b/a-board' };
  await sql(`select graphile_worker.add_job('mail_sign_in_link', $1::json)`, [JSON.stringify(asked)]);
  const payload = JSON.stringify({ account_id: accountId, user_id: userId });
  await sql(`select graphile_worker.add_job('mail_account_deletion', $1::json)`, [payload]);
}

/** Adds rows about a person: a sign-in to the admin area with two factors, and a connected OAuth client. */
async function signIn(server: TestServer, userId: number, tokenId: number, other: World) {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  await server.sql(
    `insert into sign_in_methods (user_id, kind, credential) values ($1, 'password', '$argon2id$v=19$zabriskie')`,
    [userId],
  );
  await server.sql(`insert into sessions (token_hash, user_id, expires_at) values ($1, $2, now() + interval '1 day')`, [
    hash('session'),
    userId,
  ]);
  await server.sql(
    `with provider as (
      insert into identity_providers (account_id, key, name, issuer, client_id, client_secret)
      values ($1, 'a key', 'Acme', 'https://id.example.com', 'client', 'a secret') returning account_id, id
    )
    insert into identities (account_id, provider_id, subject, user_id, address)
    select account_id, id, 'zabriskie-1', $2, $3 from provider`,
    [other.accountId, userId, person.email],
  );
  await server.sql(`insert into second_factors (user_id, secret, last_step) values ($1, 'a secret', 0)`, [userId]);
  await server.sql(`insert into pictures (user_id, key, content) values ($1, $2, 'a picture')`, [
    userId,
    marker.padEnd(22, '_'),
  ]);
  const codeHash = buildSecondFactorKeys(server.dependencies.appKey).hashOf(userId, recoveryCode);
  await server.sql('insert into recovery_codes (user_id, code_hash) values ($1, $2)', [userId, codeHash]);
  await server.sql(
    `insert into sign_in_challenges (token_hash, user_id, expires_at) values ($1, $2, now() + interval '1 minute')`,
    [hash('challenge'), userId],
  );
  await server.sql(
    `insert into password_links (token_hash, user_id, expires_at) values ($1, $2, now() + interval '1 hour')`,
    [hash('link'), userId],
  );
  const insertLink = `insert into sign_in_links (token_hash, user_id, account_id, email, canonical_email, next, expires_at)
    values ($1, $2, $3, $4, $5, $6, now() + interval '1 hour')`;
  const canonical = person.email.toLowerCase();
  const next = '/b/zabriskie';
  await server.sql(insertLink, [hash('sign-in link'), userId, null, person.email, canonical, next]);
  // A sign-up link that was sent before the person had a user.
  await server.sql(insertLink, [hash('sign-up link'), null, other.accountId, person.email, canonical, next]);
  const stranger = 'stranger@example.com';
  await server.sql(insertLink, [hash('another link'), null, other.accountId, stranger, stranger, '/b/a-board']);
  await server.sql('update users set confirmed_email = $2 where id = $1', [userId, canonical]);
  const insertRecord = `insert into oauth_records (model, id_hash, payload, user_id, token_id, grant_id, expires_at)
    values ($1, $2, $3, $4, $5, 'a grant', now() + interval '1 hour')`;
  const payload = JSON.stringify({ accountId: String(userId), hint: person.email });
  await server.sql(insertRecord, ['Session', hash('oidc session'), payload, userId, null]);
  await server.sql(insertRecord, ['AccessToken', hash('access token'), payload, null, tokenId]);
  const otherToken = await issueToken(server, other, 'read', { issuerId: other.ownerId });
  await server.sql(insertRecord, ['Grant', hash('grant'), '{}', other.ownerId, otherToken.id]);
  await server.sql(insertRecord, ['Client', hash('client'), '{}', null, null]);
}

/** Stores that the user requested the deletion of their data, by default three days ago. */
export async function requestDeletion({ sql }: Pick<TestServer, 'sql'>, userId: number, hoursAgo = 72) {
  await sql(`update users set deletion_requested_at = now() - $2 * interval '1 hour' where id = $1`, [
    userId,
    hoursAgo,
  ]);
}

export async function scheduleDeletion({ sql }: Pick<TestServer, 'sql'>, accountId: number, daysAgo = 31) {
  await sql(`update accounts set deletion_scheduled_at = now() - $2 * interval '1 day' where id = $1`, [
    accountId,
    daysAgo,
  ]);
}
