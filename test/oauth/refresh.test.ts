import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { clearExpired } from '../../server/jobs/clear-expired.ts';
import { signedIn } from '../admin/visitor.ts';
import { readAudit } from '../helpers/audit.ts';
import { testClock } from '../helpers/clock.ts';
import { connect } from '../helpers/database.ts';
import { createWorld } from '../helpers/fixtures.ts';
import { closeAfterAll } from '../helpers/for-file.ts';
import { waitForLockWaits } from '../helpers/lock-waits.ts';
import { startPublicServer } from '../helpers/public-server.ts';
import type { Answer } from '../helpers/request.ts';
import { startServerForTest } from '../helpers/server.ts';
import { callTool, Program, type Tokens } from './program.ts';

const server = closeAfterAll(await startPublicServer({ environment: { RATE_LIMIT_OAUTH_CLIENT: '1000' } }));
const world = await createWorld(server);
const visitor = await signedIn(server, world.ownerId);
const program = await Program.register(server);

const hash = (text: string) => createHash('sha256').update(text).digest();
const connectProgram = () => program.connect(visitor, { [world.boardId]: 'write' });
const statusOf = async (tokens: Tokens) => (await callTool(server, tokens.access_token)).status;
const outcomeOf = ({ status, body }: Answer): string | number => body.error ?? status;
const tokenIdOf = async (tokens: Tokens) => {
  const [row] = await server.sql<{ token_id: number }>('select token_id from oauth_records where id_hash = $1', [
    hash(tokens.access_token),
  ]);
  return row?.token_id ?? 0;
};

async function refreshed(refreshToken: string): Promise<Tokens> {
  const answer = await program.refresh(refreshToken);
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}

/** Returns the reason in the audit entry about the end of the OAuth grant, or undefined if there is no such entry. */
function endOf(tokenId: number) {
  const [line] = readAudit(server.auditLines).filter(
    ({ event, token_id }) => event === 'oauth.grant_ended' && token_id === tokenId,
  );
  return line?.reason;
}

async function expectEnded(tokenId: number, all: Tokens[]) {
  for (const tokens of all) {
    expect([await statusOf(tokens), outcomeOf(await program.refresh(tokens.refresh_token))]).toEqual([
      401,
      'invalid_grant',
    ]);
  }
  expect(endOf(tokenId)).toBe('refresh_token_reused');
  expect(await server.sql('select model from oauth_records where token_id = $1', [tokenId])).toEqual([]);
  const [row] = await server.sql<{ is_revoked: boolean }>(
    'select revoked_at is not null as is_revoked from api_tokens where id = $1',
    [tokenId],
  );
  expect(row?.is_revoked).toBe(true);
}

/**
 * Sends parallel token refreshes, which all wait until the test releases the lock of the OAuth grant. Returns their
 * responses.
 */
async function atTheSameInstant(tokenId: number, refreshTokens: string[]): Promise<Answer[]> {
  const holder = await connect(server.url);
  try {
    await holder.query('begin');
    await holder.query(`select from oauth_records where model = 'Grant' and token_id = $1 for update`, [tokenId]);
    const answers = Promise.all(refreshTokens.map(token => program.refresh(token)));
    await waitForLockWaits(server, refreshTokens.length);
    await holder.query('commit');
    return await answers;
  } finally {
    await holder.end();
  }
}

test('a token refresh issues a new refresh token and extends the OAuth grant', async () => {
  const tokens = await connectProgram();
  const tokenId = await tokenIdOf(tokens);
  await server.sql(`update api_tokens set expires_at = now() + interval '1 day' where id = $1`, [tokenId]);
  const next = await refreshed(tokens.refresh_token);
  expect(next.refresh_token).not.toBe(tokens.refresh_token);
  expect(await statusOf(next)).toBe(200);
  const [kept] = await server.sql<{ days: number }>(
    `select (extract(epoch from t.expires_at - now()) / 86400)::int as days from api_tokens t
    join oauth_records g on g.token_id = t.id and g.model = 'Grant' and g.expires_at = t.expires_at where t.id = $1`,
    [tokenId],
  );
  expect(kept).toEqual({ days: 30 });
});

test('a used refresh token works again for 60 seconds, and a use after this time ends the OAuth grant', async () => {
  const clock = testClock();
  const own = await startServerForTest({
    on: server,
    clock,
    environment: { BASE_URL: server.config.BASE_URL },
  });
  const there = new Program({ ...server, baseUrl: own.baseUrl }, program.clientId);
  const tokens = await connectProgram();
  const tokenId = await tokenIdOf(tokens);
  const siblings = [(await there.refresh(tokens.refresh_token)).body];
  for (const milliseconds of [1_000, 58_999]) {
    clock.advance(milliseconds);
    const again = await there.refresh(tokens.refresh_token);
    expect(again.status).toBe(200);
    siblings.push(again.body);
  }
  expect(new Set(siblings.map(({ refresh_token }) => refresh_token)).size).toBe(3);
  for (const sibling of [tokens, ...siblings]) expect(await statusOf(sibling)).toBe(200);

  clock.advance(1);
  const late = await there.refresh(tokens.refresh_token);
  expect([late.status, late.body]).toEqual([
    400,
    { error: 'invalid_grant', error_description: 'grant request is invalid' },
  ]);
  expect(own.auditLines.join('')).toContain('refresh_token_reused');
  server.auditLines.push(...own.auditLines);
  await expectEnded(tokenId, siblings);
});

test('if an OAuth client uses one refresh token three times before it uses a newer refresh token, the tokens of all three answers stay valid', async () => {
  const tokens = await connectProgram();
  const siblings = [
    await refreshed(tokens.refresh_token),
    await refreshed(tokens.refresh_token),
    await refreshed(tokens.refresh_token),
  ];
  const children: Tokens[] = [];
  // Each of the three new refresh tokens can be used again for 60 seconds after its own first use.
  for (const { refresh_token } of [...siblings, ...siblings]) children.push(await refreshed(refresh_token));
  for (const { refresh_token } of children) await refreshed(refresh_token);
  for (const one of [...siblings, ...children]) expect(await statusOf(one)).toBe(200);
  expect(endOf(await tokenIdOf(tokens))).toBeUndefined();
});

test('the OAuth grant ends if a used refresh token is used again after its replacement was used', async () => {
  const tokens = await connectProgram();
  const tokenId = await tokenIdOf(tokens);
  const [one, other] = [await refreshed(tokens.refresh_token), await refreshed(tokens.refresh_token)];
  const child = await refreshed(one.refresh_token);
  expect(outcomeOf(await program.refresh(tokens.refresh_token))).toBe('invalid_grant');
  await expectEnded(tokenId, [one, other, child]);
});

test('the OAuth grant ends if the client uses an old refresh token again after several later refreshes', async () => {
  const first = await connectProgram();
  const tokenId = await tokenIdOf(first);
  const second = await refreshed(first.refresh_token);
  const third = await refreshed(second.refresh_token);
  const fourth = await refreshed(third.refresh_token);
  expect(outcomeOf(await program.refresh(first.refresh_token))).toBe('invalid_grant');
  await expectEnded(tokenId, [second, third, fourth]);
});

test('several parallel token refreshes with the same refresh token all return valid tokens', async () => {
  const tokens = await connectProgram();
  const tokenId = await tokenIdOf(tokens);
  const answers = await atTheSameInstant(tokenId, Array<string>(6).fill(tokens.refresh_token));
  expect(answers.map(outcomeOf)).toEqual(Array(6).fill(200));
  for (const { body } of answers) expect(await statusOf(body)).toBe(200);
  for (const { body } of answers) await refreshed(body.refresh_token);
  expect(endOf(tokenId)).toBeUndefined();
});

test('an OAuth client that used one refresh token twice can use both new refresh tokens in parallel and gets valid tokens', async () => {
  const tokens = await connectProgram();
  const [one, other] = [await refreshed(tokens.refresh_token), await refreshed(tokens.refresh_token)];
  const sent = [one.refresh_token, other.refresh_token, one.refresh_token, other.refresh_token];
  const answers = await atTheSameInstant(await tokenIdOf(tokens), sent);
  expect(answers.map(outcomeOf)).toEqual([200, 200, 200, 200]);
  for (const { body } of answers) expect(await statusOf(body)).toBe(200);
});

test('if a used refresh token and its replacement are sent in parallel, the OAuth grant ends only if the server handles the replacement first', async () => {
  for (const order of [0, 1, 0, 1]) {
    const tokens = await connectProgram();
    const tokenId = await tokenIdOf(tokens);
    const child = await refreshed(tokens.refresh_token);
    const sent = [tokens.refresh_token, child.refresh_token];
    const answers = await atTheSameInstant(tokenId, order === 0 ? sent : sent.reverse());
    const [ofParent, ofChild] = (order === 0 ? answers : answers.reverse()) as [Answer, Answer];
    if (ofParent.status === 200) {
      // In this case, the server handled the older refresh token before the newer refresh token.
      expect(ofChild.status).toBe(200);
      for (const { body } of answers) expect(await statusOf(body)).toBe(200);
      expect(endOf(tokenId)).toBeUndefined();
    } else {
      expect([outcomeOf(ofParent), ofChild.status]).toEqual(['invalid_grant', 200]);
      await expectEnded(tokenId, [child, ofChild.body]);
    }
  }
});

test('an OAuth client that lost the response to a token refresh can use the same refresh token again and stays connected', async () => {
  const tokens = await connectProgram();
  const body = new URLSearchParams({
    grant_type: 'refresh_token',
    refresh_token: tokens.refresh_token,
    client_id: program.clientId,
  });
  const sending = httpRequest(`${server.baseUrl}/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  sending.end(body.toString());
  const [response] = (await once(sending, 'response')) as [IncomingMessage];
  expect(response.statusCode).toBe(200);
  response.destroy();

  const again = await refreshed(tokens.refresh_token);
  expect(await statusOf(again)).toBe(200);
  expect((await program.refresh(again.refresh_token)).status).toBe(200);
  expect(endOf(await tokenIdOf(tokens))).toBeUndefined();
});

test("an OAuth client cannot use another client's refresh token, whether unused or used, and the attempt does not end the OAuth grant", async () => {
  const tokens = await connectProgram();
  const thief = await Program.register(server);
  expect((await thief.refresh(tokens.refresh_token)).body.error).toBe('invalid_grant');
  const next = await refreshed(tokens.refresh_token);
  expect((await thief.refresh(tokens.refresh_token)).body.error).toBe('invalid_grant');
  expect(await statusOf(next)).toBe(200);
  await refreshed(tokens.refresh_token);
});

test("a token refresh for another resource server than the grant's is refused, and ends the OAuth grant if the refresh token was used before", async () => {
  const tokens = await connectProgram();
  const tokenId = await tokenIdOf(tokens);
  const elsewhere = { resource: 'https://elsewhere.example/' };
  const refused = await program.refresh(tokens.refresh_token, elsewhere);
  expect([refused.status, refused.body.error]).toEqual([400, 'invalid_target']);
  const next = await refreshed(tokens.refresh_token);
  expect((await program.refresh(tokens.refresh_token, { resource: program.audience })).status).toBe(200);
  expect((await program.refresh(tokens.refresh_token, elsewhere)).body.error).toBe('invalid_grant');
  await expectEnded(tokenId, [next]);
});

test('a refresh token can be used at most 32 times, and each further use gets 429 but does not end the OAuth grant', async () => {
  const tokens = await connectProgram();
  const tokenId = await tokenIdOf(tokens);
  const answers = await Promise.all(Array.from({ length: 36 }, () => program.refresh(tokens.refresh_token)));
  const refused = answers.filter(({ status }) => status !== 200);
  expect(refused).toHaveLength(4);
  for (const { status, body, headers } of refused) {
    expect([status, body.error, headers.get('retry-after')]).toEqual([429, 'temporarily_unavailable', '1']);
  }
  const [row] = await server.sql<{ count: number }>(
    'select count(*)::int as count from oauth_records where parent_hash = $1',
    [hash(tokens.refresh_token)],
  );
  expect(row).toEqual({ count: 32 });
  const issued = answers.filter(({ status }) => status === 200).map(({ body }) => body as Tokens);
  for (const one of issued.slice(-2)) {
    expect(await statusOf(one)).toBe(200);
    await refreshed(one.refresh_token);
  }
  expect(endOf(tokenId)).toBeUndefined();
});

test('the clean-up of expired rows deletes an expired refresh token, and the other tokens of the same OAuth grant stay valid', async () => {
  const tokens = await connectProgram();
  const [kept, unused] = [await refreshed(tokens.refresh_token), await refreshed(tokens.refresh_token)];
  const expired = [tokens.refresh_token, unused.refresh_token, unused.access_token].map(hash);
  await server.sql(`update oauth_records set expires_at = now() - interval '1 second' where id_hash = any ($1)`, [
    expired,
  ]);
  await clearExpired(server.database, new AbortController().signal);
  expect(await server.sql('select model from oauth_records where id_hash = any ($1)', [expired])).toEqual([]);
  expect(outcomeOf(await program.refresh(unused.refresh_token))).toBe('invalid_grant');
  expect(await statusOf(await refreshed(kept.refresh_token))).toBe(200);
});

test('the server retries a token refresh that conflicts with other transactions, and if all retries fail, the client can repeat the token refresh', async () => {
  const tokens = await connectProgram();
  // The first 15 attempts to refresh the token end in a conflict. The first request gives up before the last conflict,
  // and the second request succeeds. A database sequence counts the conflicts, because a rollback does not reset a
  // sequence.
  await server.sql(`
    create sequence conflicts;
    create function lose() returns trigger language plpgsql as $$
    begin
      if nextval('conflicts') <= 15 then raise sqlstate '40P01'; end if;
      return new;
    end $$;
    create trigger lose before insert on oauth_records for each row when (new.model = 'AccessToken')
    execute function lose();`);
  onTestFinished(async () => {
    await server.sql('drop function lose cascade; drop sequence conflicts;');
  });
  const given = await program.refresh(tokens.refresh_token);
  expect([given.status, given.body.error, given.headers.get('retry-after')]).toEqual([
    503,
    'temporarily_unavailable',
    '5',
  ]);
  const again = await refreshed(tokens.refresh_token);
  expect(await statusOf(again)).toBe(200);
  await refreshed(again.refresh_token);
});
