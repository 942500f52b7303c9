import { beforeAll, describe, expect, test } from 'vitest';
import { requireAccount } from '../../../server/domain/accounts/find-account.ts';
import { expectInvariants } from '../../helpers/invariants.ts';
import { makeJobsDue, runJobs } from '../../helpers/jobs.ts';
import { request } from '../../helpers/request.ts';
import { startServerForFile } from '../../helpers/server.ts';
import { expectRefusal } from '../administration/administer.ts';
import { failAfter } from './failing-database.ts';
import { populate, scheduleDeletion } from './populate.ts';
import { type CleanUpOutcome, runCleanUp } from './run.ts';

const server = await startServerForFile({ environment: { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' } });
const populated = await populate(server);
await scheduleDeletion(server, populated.world.accountId);

const read = () => request(server, 'GET /api/v1/ideas', { token: populated.ownToken.token });

/** Returns the rows of an account in all tables with a column account_id, keyed by the name of the table. */
async function rowsOf(accountId: number): Promise<Record<string, unknown[]>> {
  const tables = await server.sql<{ name: string }>(
    `select table_name as name from information_schema.columns
    where column_name = 'account_id' and table_schema = 'public' order by 1`,
  );
  const rows = await Promise.all(
    tables.map(
      async ({ name }): Promise<[string, unknown[]]> => [
        name,
        await server.sql(`select t.* from ${name} t where account_id = $1 order by t::text`, [accountId]),
      ],
    ),
  );
  return Object.fromEntries(rows);
}

describe('an account after an interrupted erasure', () => {
  let isKilled: () => boolean;

  beforeAll(async () => {
    expect((await read()).status).toBe(200);
    const failing = failAfter(server.database, 40);
    await expect(runCleanUp({ database: failing.database }, { batchSize: 2 })).rejects.toThrow('was killed');
    ({ isKilled } = failing);
  });

  test('the tokens of an account are revoked and rejected after the erasure of the account has begun', async () => {
    expect(isKilled()).toBe(true);
    const [account] = await server.sql('select erasure_began_at from accounts where id = $1', [
      populated.world.accountId,
    ]);
    expect(account).toEqual({ erasure_began_at: expect.any(String) });
    const usable = 'select from api_tokens where account_id = $1 and revoked_at is null';
    expect(await server.sql(usable, [populated.world.accountId])).toEqual([]);
    expect((await read()).key).toBe('unauthorized');
  });

  test('after the erasure of an account has begun, the tokens of the account are rejected even if they are not revoked', async () => {
    await server.sql('update api_tokens set revoked_at = null where id = $1', [populated.ownToken.id]);
    expect((await read()).key).toBe('unauthorized');
  });

  test('after the erasure of an account has begun, its webhooks and chat channels are disabled, and its jobs run without an error', async () => {
    const rows = await server.sql<{ disabled_reason: string }>(
      `select disabled_reason from webhook_endpoints where account_id = $1
      union all select disabled_reason from chat_channels where account_id = $1`,
      [populated.world.accountId],
    );
    expect(new Set(rows.map(row => row.disabled_reason))).toEqual(new Set(['The account is being erased']));
    await makeJobsDue(server);
    expect(await runJobs(server)).toEqual([]);
  });

  test('requireAccount() refuses an account whose erasure has begun', async () => {
    const [account] = await server.sql<{ slug: string }>('select slug from accounts where id = $1', [
      populated.world.accountId,
    ]);
    await expectRefusal(server, admin => requireAccount(admin, account?.slug ?? ''), 'conflict', /is being erased$/);
  });
});

describe('an erased account', () => {
  let outcome: CleanUpOutcome;
  const before: Record<string, unknown[]>[] = [];
  let users: unknown[];

  beforeAll(async () => {
    before.push(await rowsOf(populated.other.accountId));
    users = await server.sql('select * from users order by id');
    await server.sql(
      `select graphile_worker.add_job('mail_account_deletion', json_build_object('account_id', $1::bigint, 'user_id', $2::bigint))`,
      [populated.world.accountId, populated.world.ownerId],
    );
    outcome = await runCleanUp(server, { batchSize: 3 });
  });

  test('the erasure of an account removes all rows of the account', async () => {
    const { accountId } = populated.world;
    expect(outcome).toMatchObject({ accounts: [{ id: accountId, isResumed: true }], users: [], failed: [] });
    const rows = Object.entries(await rowsOf(accountId)).filter(([, left]) => left.length > 0);
    expect(rows).toEqual([]);
    expect(await server.sql('select from accounts where id = $1', [accountId])).toEqual([]);
    const orphans = await server.sql(`select key from rate_limits where key like 'apitoken:%:' || $1`, [
      populated.ownToken.id,
    ]);
    expect(orphans).toEqual([]);
    const ofGoneTokens = 'select model from oauth_records where token_id not in (select id from api_tokens)';
    expect(await server.sql(ofGoneTokens)).toEqual([]);
    const jobs = await server.sql(
      `select id from graphile_worker._private_jobs where json_typeof(payload) = 'object' and payload ->> 'account_id' = $1`,
      [String(accountId)],
    );
    expect(jobs).toEqual([]);
    await expectInvariants(server);
  });

  test('the erasure of an account does not change other accounts or any user', async () => {
    // Leaves out the usage of tokens, because the server may update the usage at any time.
    const rows = await rowsOf(populated.other.accountId);
    expect({ ...rows, token_usage: [] }).toEqual({ ...before[0], token_usage: [] });
    expect(await server.sql('select * from users order by id')).toEqual(users);
  });

  test('after the erasure of an account, jobs that refer to missing events, webhooks or notifications end without an error', async () => {
    await server.sql(`select graphile_worker.add_job('tell_people', json_build_object('event_id', gen_random_uuid()))`);
    await server.sql(`select graphile_worker.add_job('deliver_webhooks', '{"endpoint_id": 999999, "lane": 1}')`);
    await server.sql(
      `select graphile_worker.add_job('post_to_chat', json_build_object('channel_id', 9, 'event_id', gen_random_uuid()))`,
    );
    await server.sql(`select graphile_worker.add_job('mail_notifications', '[999999]')`);
    await makeJobsDue(server);
    expect(await runJobs(server)).toEqual([]);
    const [jobs] = await server.sql<{ n: number }>(
      `select count(*)::int as n from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
      where t.identifier in ('tell_people', 'mail_notifications', 'post_to_chat')`,
    );
    expect(jobs).toEqual({ n: 0 });
  });
});
