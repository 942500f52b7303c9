import { expect, test } from 'vitest';
import { removeMember } from '../../server/domain/members/change-members.ts';
import { createToken } from '../../server/domain/tokens/change-tokens.ts';
import { blockUser } from '../../server/domain/users/block-user.ts';
import { emailOf, signedIn, type Visitor } from '../admin/visitor.ts';
import { cliOn } from '../cli/run-cli.ts';
import { administer, administerAtOnce } from '../domain/administration/administer.ts';
import { requestDeletion } from '../domain/erasure/populate.ts';
import { runCleanUp } from '../domain/erasure/run.ts';
import { readAudit } from '../helpers/audit.ts';
import { createMember, createWorld, insertIdea } from '../helpers/fixtures.ts';
import { closeAfterAll } from '../helpers/for-file.ts';
import { startPublicServer } from '../helpers/public-server.ts';
import { request } from '../helpers/request.ts';
import { testAppKey } from '../helpers/server.ts';
import { callTool, finish, levelFields, Program, type Tokens } from './program.ts';

const server = closeAfterAll(await startPublicServer({ environment: { RATE_LIMIT_OAUTH_CLIENT: '1000' } }));
const world = await createWorld(server);
const owner = await signedIn(server, world.ownerId);
const program = await Program.register(server);
const [account] = await server.sql<{ slug: string }>('select slug from accounts where id = $1', [world.accountId]);
const slug = account?.slug ?? '';
const cli = cliOn(server.url, { APP_KEY: testAppKey.toString('base64') });

interface Connected {
  userId: number;
  visitor: Visitor;
  tokens: Tokens;
  tokenId: number;
}

/** Creates an admin of the account, who then connects an OAuth client. */
async function connectAdmin(): Promise<Connected> {
  const userId = await createMember(server, world.accountId, 'admin');
  const visitor = await signedIn(server, userId);
  const tokens = await program.connect(visitor, { [world.boardId]: 'moderate' });
  const [token] = await server.sql<{ id: number }>('select max(id) as id from api_tokens');
  return { userId, visitor, tokens, tokenId: token?.id ?? 0 };
}

const outcomesOf = async ({ tokens }: Pick<Connected, 'tokens'>) => {
  const refresh = await program.refresh(tokens.refresh_token);
  return [(await callTool(server, tokens.access_token)).status, refresh.body.error ?? refresh.status];
};
const memberOf = ({ userId }: Pick<Connected, 'userId'>) => ({ accountId: world.accountId, userId });
const stateOf = async (tokenId: number) => {
  const tokens = await cli.json<{ id: number; state: string }[]>('token', 'list', '--account', slug);
  return tokens.find(({ id }) => id === tokenId)?.state;
};
/**
 * Returns the audit entries about this user or token that the server has written. Leaves out the entries that the CLI
 * has written.
 */
const toldOf = ({ userId, tokenId }: Connected) =>
  readAudit(server.auditLines)
    .filter(line => line.token_id === tokenId || line.user_id === userId)
    .map(({ event, by, by_user_id }) => ({ event, by, by_user_id }));
const byOwner = (event: string) => ({ event, by: 'user', by_user_id: world.ownerId });

test.each<[string, (one: Connected) => Promise<unknown>, string | undefined]>([
  [
    'an owner removes a member in the admin area',
    async ({ userId }) => {
      const path = `/admin/members/${userId}/remove`;
      expect((await owner.submit(path, path)).status).toBe(303);
    },
    'member.removed',
  ],
  [
    'an owner blocks a member in the admin area',
    async ({ userId }) => {
      const path = `/admin/blocks/${userId}`;
      expect((await owner.submit(path, path, { reason: 'Spam' })).status).toBe(303);
    },
    'user.blocked',
  ],
  [
    'the operator removes a member on the command line',
    async ({ userId }) =>
      cli.json('member', 'remove', '--account', slug, '--user', await emailOf(server, userId), '--keep-tokens'),
    undefined,
  ],
  [
    'the operator blocks a member on the command line',
    async ({ userId }) => cli.json('user', 'block', '--account', slug, '--user', await emailOf(server, userId)),
    undefined,
  ],
  [
    'a clean-up erases a member',
    async ({ userId }) => {
      await requestDeletion(server, userId);
      expect((await runCleanUp(server)).users).toMatchObject([{ id: userId }]);
    },
    undefined,
  ],
])("if %s, the member's OAuth client gets 401 and cannot refresh its token", async (_, leave, event) => {
  const other = await connectAdmin();
  const one = await connectAdmin();
  server.auditLines.length = 0;
  await leave(one);
  if (event) expect(toldOf(one)).toEqual([byOwner(event), byOwner('token.revoked')]);
  expect(await outcomesOf(one)).toEqual([401, 'invalid_grant']);
  expect([await stateOf(one.tokenId), await stateOf(other.tokenId)]).toEqual(['revoked', 'active']);
  expect(await outcomesOf(other)).toEqual([200, 200]);
});

test('the OAuth client of a member who leaves the account gets 401 and cannot refresh its token', async () => {
  const one = await connectAdmin();
  server.auditLines.length = 0;
  const path = '/admin/members/leave';
  expect((await one.visitor.submit(path, path)).status).toBe(303);
  const byThem = (event: string) => ({ event, by: 'user', by_user_id: one.userId });
  expect(toldOf(one)).toEqual([byThem('member.removed'), byThem('token.revoked')]);
  expect(await outcomesOf(one)).toEqual([401, 'invalid_grant']);
  expect(await stateOf(one.tokenId)).toBe('revoked');
});

test("a blocked or removed user's OAuth client stays disconnected even after the user is unblocked or becomes a member again", async () => {
  const [blocked, removed] = [await connectAdmin(), await connectAdmin()];
  const [of, back] = [await emailOf(server, blocked.userId), await emailOf(server, removed.userId)];
  await cli.json('user', 'block', '--account', slug, '--user', of);
  await cli.json('user', 'unblock', '--account', slug, '--user', of);
  await cli.json('member', 'remove', '--account', slug, '--user', back);
  await cli.json('member', 'add', '--account', slug, '--user', back, '--role', 'owner');
  for (const one of [blocked, removed]) expect(await outcomesOf(one)).toEqual([401, 'invalid_grant']);
});

test("after an admin's role is changed to member, the admin's OAuth client stays connected but cannot moderate", async () => {
  const one = await connectAdmin();
  const id = await insertIdea(server, world);
  await cli.json(
    'member',
    'set-role',
    '--account',
    slug,
    '--user',
    await emailOf(server, one.userId),
    '--role',
    'member',
  );
  const moderated = await callTool(server, one.tokens.access_token, 'set_idea_status', { id, status: 'planned' });
  expect(moderated.body.result.content[0].text).toContain('token_issuer_not_moderator');
  expect(await outcomesOf(one)).toEqual([200, 200]);
});

test.each<[string, (one: Connected) => Promise<unknown>]>([
  ['removed from', one => administerAtOnceWith(one, admin => removeMember(admin, memberOf(one)))],
  ['blocked in', one => administerAtOnceWith(one, admin => blockUser(admin, memberOf(one)))],
])("a token refresh gets no tokens while the token's user is being %s the account", async (_, race) => {
  const one = await connectAdmin();
  const records = () =>
    server.sql('select count(*)::int as count from oauth_records where token_id = $1', [one.tokenId]);
  const before = await records();
  const answer = await race(one);
  expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  expect(await records()).toEqual(before);
  expect(await outcomesOf(one)).toEqual([401, 'invalid_grant']);
});

/**
 * Runs a change in a transaction, and sends a token refresh before the transaction commits. Returns the response to the
 * token refresh.
 */
async function administerAtOnceWith(
  { tokens }: Connected,
  work: Parameters<typeof administerAtOnce>[1],
): Promise<unknown> {
  const [, refreshed] = await administerAtOnce(server, work, () => program.refresh(tokens.refresh_token));
  return refreshed?.status === 'fulfilled' ? refreshed.value : refreshed?.reason;
}

test('while another transaction removes a person from the account, this person cannot consent to an OAuth client, and no token is created', async () => {
  const userId = await createMember(server, world.accountId, 'admin');
  const visitor = await signedIn(server, userId);
  const page = await program.ask(visitor);
  const fields = { ...levelFields({ [world.boardId]: 'write' }), decision: 'connect' };
  const [, consented] = await administerAtOnce(
    server,
    admin => removeMember(admin, memberOf({ userId })),
    () => visitor.submit(page, page, fields),
  );
  expect(consented).toMatchObject({ status: 'fulfilled', value: { status: 403 } });
  expect(await server.sql('select from api_tokens where issuer_id = $1', [userId])).toEqual([]);
});

test('if a member is removed after a consent, the OAuth client gets no new authorization code and cannot exchange an existing code for tokens', async () => {
  for (const isCodeMade of [false, true]) {
    const userId = await createMember(server, world.accountId, 'admin');
    const visitor = await signedIn(server, userId);
    const page = await program.ask(visitor);
    const fields = { ...levelFields({ [world.boardId]: 'write' }), decision: 'connect' };
    const given = await visitor.submit(page, page, fields);
    const remove = () => administer(server, admin => removeMember(admin, memberOf({ userId })));
    if (!isCodeMade) await remove();
    const { searchParams } = await finish(visitor, given);
    if (isCodeMade) await remove();
    const code = searchParams.get('code') ?? '';
    const outcome = isCodeMade ? (await program.redeem(code)).body.error : searchParams.get('error');
    expect([isCodeMade, outcome]).toEqual([isCodeMade, isCodeMade ? 'invalid_grant' : 'access_denied']);
    const made = await server.sql('select revoked_at is not null as is_revoked from api_tokens where issuer_id = $1', [
      userId,
    ]);
    expect(made).toEqual([{ is_revoked: true }]);
  }
});

test("the removal of a member also revokes the member's API tokens in the account, unless the removal has the option `keepsTokens`", async () => {
  const other = await createWorld(server);
  for (const keepsTokens of [false, true]) {
    const userId = await createMember(server, world.accountId, 'admin');
    await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'admin')`, [
      other.accountId,
      userId,
    ]);
    const [here, elsewhere] = await Promise.all(
      [world, other].map(({ accountId, boardId }) =>
        administer(server, admin =>
          createToken(admin, { accountId, issuerId: userId, name: 'Bot', boards: [{ boardId, grant: 'read' }] }),
        ),
      ),
    );
    await administer(server, admin => removeMember(admin, memberOf({ userId }), { keepsTokens }));
    const statusOf = async (token = '') => (await request(server, 'GET /api/v1/ideas', { token })).status;
    expect([await statusOf(here?.plaintext), await statusOf(elsewhere?.plaintext)]).toEqual([
      keepsTokens ? 200 : 401,
      200,
    ]);
  }
});
