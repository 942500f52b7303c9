import { expect, test } from 'vitest';
import { exportSections, exportUser, notExported } from '../../server/domain/users/export-user.ts';
import { marker, person, populate, recoveryCode } from '../domain/erasure/populate.ts';
import { readAudit } from '../helpers/audit.ts';
import { createMember, createWorld, insertIdea } from '../helpers/fixtures.ts';
import { startServerForFile } from '../helpers/server.ts';
import { givePassword, Visitor } from './visitor.ts';

const path = '/admin/profile/export';

const server = await startServerForFile({
  environment: { RATE_LIMIT_SIGN_IN_IP: '1000000', WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' },
});
const populated = await populate(server);

/** Downloads the export of a person's data as a browser does, after a sign-in with the password and a recovery code. */
async function download(userId: number) {
  const { email, password } = await givePassword(server, userId);
  const visitor = new Visitor(server);
  await visitor.signIn(email, password);
  await visitor.post('/sign-in/code', { next: '', code: recoveryCode });
  const sent = await visitor.submit(path, path, { current_password: password });
  expect(sent.status).toBe(200);
  return { ...sent, data: JSON.parse(sent.html) };
}

/** Returns the pieces of the exported file in the order in which exportUser() yields them. */
async function piecesOf(userId: number): Promise<string[]> {
  const pieces: string[] = [];
  for await (const piece of exportUser(server.database, userId, new Date())) pieces.push(piece);
  return pieces;
}

test("the export of a person's data covers every table that refers to users, voters, votes, tokens or second factors, except the tables in `notExported`", async () => {
  const rows = await server.sql<{ table: string }>(
    `select distinct conrelid::regclass::text as table from pg_constraint
    where contype = 'f'
      and confrelid in ('users'::regclass, 'voters'::regclass, 'votes'::regclass, 'api_tokens'::regclass, 'second_factors'::regclass)
    order by 1`,
  );
  const covered = [...Object.values(exportSections).flatMap(({ tables }) => tables), ...Object.keys(notExported)];
  expect(covered.sort()).toEqual(rows.map(({ table }) => table));
});

test('a person can download a file with their own data of two accounts', async () => {
  const { personId, world, other, ideaId, otherIdeaId, personToken } = populated;
  const { data, headers } = await download(personId);
  expect(headers.get('content-disposition')).toMatch(/^attachment; filename="idea-board-data-\d{4}-\d\d-\d\d\.json"$/);
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(data).toMatchObject({ format: 'idea-board-user-data', version: 1 });
  expect(data.profile).toMatchObject({
    id: personId,
    name: person.name,
    email: person.email,
    notification_email: person.notificationEmail,
    avatar_url: person.avatarUrl,
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
  });
  const [{ slug }, { slug: otherSlug }] = (await server.sql(
    'select slug from accounts where id in ($1, $2) order by id',
    [world.accountId, other.accountId],
  )) as [{ slug: string }, { slug: string }];
  expect(data.memberships.map(({ account, role }: Record<string, string>) => [account, role])).toEqual([
    [slug, 'admin'],
    [otherSlug, 'member'],
  ]);
  expect(data.blocks).toEqual([{ account: otherSlug, created_at: expect.any(String) }]);
  expect(data.ideas).toContainEqual(
    expect.objectContaining({
      id: ideaId,
      account: slug,
      board: world.boardSlug,
      title: 'Dark mode',
      status_key: 'done',
    }),
  );
  expect(data.ideas.map(({ title }: { title: string }) => title)).toEqual(
    expect.arrayContaining(['It waits', 'It was refused']),
  );
  expect(data.comments.map(({ body }: { body: string }) => body)).toEqual(['So do I.', 'Offline, please.']);
  expect(data.votes).toContainEqual(
    expect.objectContaining({ idea_id: otherIdeaId, token_id: personToken.id, value: 'up' }),
  );
  expect(data.votes).toContainEqual(expect.objectContaining({ idea_id: otherIdeaId, token_id: null }));
  expect(data.tokens).toContainEqual(
    expect.objectContaining({
      id: personToken.id,
      name: "Zabriskie's laptop",
      boards: [{ board: world.boardSlug, grant: 'moderate' }],
    }),
  );
  for (const name of [
    'sign_in_methods',
    'second_factors',
    'sessions',
    'invitations_sent',
    'follows',
    'notifications',
  ]) {
    expect([name, data[name].length > 0]).toEqual([name, true]);
  }
});

test('the export of own data has the notes of a person only while the person is a moderator of the account and is not blocked', async () => {
  const world = await createWorld(server);
  const userId = await createMember(server, world.accountId, 'moderator');
  const ideaId = await insertIdea(server, world);
  await server.sql(
    `insert into idea_notes (account_id, idea_id, author_id, body)
    values ($1, $2, $3, 'By the person'), ($1, $2, $4, 'By somebody else')`,
    [world.accountId, ideaId, userId, world.ownerId],
  );
  const notes = async () => {
    const { notes }: { notes: { body: string }[] } = JSON.parse((await piecesOf(userId)).join(''));
    return notes.map(({ body }) => body);
  };
  expect(await notes()).toEqual(['By the person']);
  await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, userId]);
  expect(await notes()).toEqual([]);
  await server.sql('delete from user_blocks where user_id = $1', [userId]);
  await server.sql(`update memberships set role = 'member' where user_id = $1`, [userId]);
  expect(await notes()).toEqual([]);
});

test("the export of a person's data contains no secrets, and no ideas or comments by other people", async () => {
  const { personId, personToken } = populated;
  const text = (await piecesOf(personId)).join('');
  const secret = personToken.token.replace(/^ib_\d+_/, '');
  for (const hidden of ['$argon2', 'hash', 'credential', secret, 'We need this.', `${marker} writes`, 'Offline mode']) {
    expect(text.toLowerCase()).not.toContain(hidden.toLowerCase());
  }
});

test("an export of a person's data with 450 rows of each kind contains each row once, in parts of at most 200 rows", async () => {
  const { accountId, boardId } = await createWorld(server);
  const userId = await createMember(server, accountId, 'member');
  await server.sql(
    `with made as (
      insert into ideas (account_id, board_id, author_id, status_id, title, body, moderation_state, up_count)
      select $1, $2, $3, s.id, 'Idea ' || n, 'Body', 'published', 1
      from generate_series(1, 450) n, statuses s where s.board_id = $2 and s.key = 'open' returning id
    ), voter as (
      insert into voters (account_id, user_id) values ($1, $3) returning id
    ), voted as (
      insert into votes (account_id, idea_id, voter_id, value) select $1, made.id, voter.id, 1 from made, voter
    ), commented as (
      insert into comments (account_id, idea_id, author_id, body) select $1, id, $3, 'Comment' from made
    )
    insert into followers (account_id, idea_id, user_id) select $1, id, $3 from made`,
    [accountId, boardId, userId],
  );
  await server.sql('update ideas set comment_count = 1 where board_id = $1', [boardId]);
  const pieces = await piecesOf(userId);
  const data = JSON.parse(pieces.join(''));
  for (const list of [data.ideas, data.comments]) {
    expect(new Set(list.map(({ id }: { id: number }) => id)).size).toBe(450);
    expect(list).toHaveLength(450);
  }
  for (const list of [data.votes, data.follows]) {
    expect(new Set(list.map(({ idea_id }: { idea_id: number }) => idea_id)).size).toBe(450);
    expect(list).toHaveLength(450);
  }
  expect(Math.max(...pieces.map(piece => piece.split('"account":').length - 1))).toBe(200);
});

test('a person must enter their password to export their data, can export it three times an hour, and each export is in the audit log', async () => {
  const { accountId } = await createWorld(server);
  const userId = await createMember(server, accountId, 'member');
  const { email, password } = await givePassword(server, userId);
  const visitor = new Visitor(server);
  await visitor.signIn(email, password);
  const told = () =>
    readAudit(server.auditLines).filter(({ event, user_id }) => event === 'user.data_exported' && user_id === userId);
  const wrong = await visitor.submit(path, path, { current_password: `${password}x` });
  expect([wrong.status, wrong.html.includes('The current password is wrong')]).toEqual([422, true]);
  expect(told()).toEqual([]);
  for (let n = 1; n <= 3; n++) {
    expect((await visitor.submit(path, path, { current_password: password })).status).toBe(200);
    expect(told()).toHaveLength(n);
  }
  const fourth = await visitor.submit(path, path, { current_password: password });
  expect([fourth.status, fourth.html.includes('There were too many downloads')]).toEqual([429, true]);
  expect(told()).toHaveLength(3);
});
