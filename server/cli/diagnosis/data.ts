import type pg from 'pg';
import type { Config } from '../../config.ts';
import { statementTimeout } from '../../database/explain-unreachable.ts';
import { invocation } from '../command.ts';
import { diagnoseAddresses } from './addresses.ts';
import { diagnoseAppKey } from './app-key.ts';
import { diagnoseErasure } from './erasure.ts';
import { error, type Finding, ok, warning } from './finding.ts';

/** Looks for data with which the server does not work, or soon will not. */
export async function diagnoseData(client: pg.Client, config: Config): Promise<Finding[]> {
  return [
    ...(await diagnoseAccounts(client)),
    ...(await diagnoseBoards(client)),
    ...(await diagnoseTokens(client)),
    await diagnoseTallies(client),
    ...(await diagnoseAddresses(client)),
    await diagnoseErasure(client, config),
    await diagnoseAppKey(client, config),
    ...(await diagnoseHeartbeat(client, config.READINESS_CRON_MAX_AGE_MINUTES)),
  ];
}

async function diagnoseAccounts(client: pg.Client): Promise<Finding[]> {
  const { rows } = await client.query<{ slug: string; has_owner: boolean }>(
    `select a.slug, exists (
      select from memberships m where m.account_id = a.id and m.role = 'owner'
    ) as has_owner
    from accounts a order by a.slug`,
  );
  if (rows.length === 0) return [warning('There is no account', `Make one: ${invocation} account create --help`)];
  const ownerless = rows
    .filter(row => !row.has_owner)
    .map(({ slug }) =>
      warning(
        `The account ${slug} has no owner`,
        `${invocation} member add --account ${slug} --role owner --user <email>, or member set-role for a member`,
      ),
    );
  return ownerless.length > 0 ? ownerless : [ok(`Every account has an owner (${rows.length})`)];
}

async function diagnoseBoards(client: pg.Client): Promise<Finding[]> {
  const { rows } = await client.query<{ account: string; slug: string }>(
    `select a.slug as account, b.slug
    from boards b join accounts a on a.id = b.account_id
    where not exists (select from statuses s where s.board_id = b.id and s.category = 'inbox')
    order by a.slug, b.slug`,
  );
  if (rows.length === 0) return [ok('Every board has a status for new ideas')];
  return rows.map(({ account, slug }) =>
    error(
      `The board ${account}/${slug} has no status of the category inbox, so no idea can be created on it`,
      `${invocation} status add --account ${account} --board ${slug} --key open --category inbox --label Open --position 1`,
    ),
  );
}

/** How long before its end a token is spoken of. */
const expiryNoticeDays = 14;

async function diagnoseTokens(client: pg.Client): Promise<Finding[]> {
  const { rows } = await client.query<{
    id: number;
    name: string;
    account: string;
    expires_at: Date | null;
    has_board: boolean;
  }>(
    `select t.id, t.name, a.slug as account,
      case when t.expires_at <= now() + make_interval(days => $1) then t.expires_at end as expires_at,
      exists (select from api_token_boards tb where tb.token_id = t.id) as has_board
    from api_tokens t join accounts a on a.id = t.account_id
    where t.revoked_at is null and (t.expires_at is null or t.expires_at > now()) and t.kind = 'api'
    order by t.id`,
    [expiryNoticeDays],
  );
  const findings = rows.flatMap(({ id, name, account, expires_at, has_board }) => [
    ...(expires_at === null
      ? []
      : [
          warning(
            `The token ${id} (${name}) of ${account} expires at ${expires_at.toISOString()}`,
            `Give its user a new one: ${invocation} token create --account ${account} --name ...`,
          ),
        ]),
    ...(has_board
      ? []
      : [
          warning(
            `The token ${id} (${name}) of ${account} grants no board, so every request with it is refused`,
            `Revoke it: ${invocation} token revoke ${id} --account ${account}`,
          ),
        ]),
  ]);
  return findings.length > 0
    ? findings
    : [ok(`No token is about to expire or without a board (${rows.length} in use)`)];
}

/** Enough to see a defect, few enough to count in a moment on any installation. */
const tallySample = 20_000;
const maxNamed = 10;

interface TallyRow {
  checked: number;
  drifted: number;
  ids: string[];
}

const selectDriftedTallies = `
  with sample as (
    select i.id, i.up_count, i.down_count
    from ideas i join accounts a on a.id = i.account_id
    -- An erasure that was interrupted has left ideas without their votes.
    where a.erasure_began_at is null
    order by i.id desc
    limit $1
  ),
  drifted as (
    select s.id
    from sample s cross join lateral (
      select count(*) filter (where v.value = 1) as up_count, count(*) filter (where v.value = -1) as down_count
      from votes v
      where v.idea_id = s.id
        -- A vote that was copied ahead of a merge does not count yet.
        and (v.carried_from_id is null or exists (
          select from ideas origin where origin.id = v.carried_from_id and origin.merged_into_id = v.idea_id
        ))
    ) counted
    where (s.up_count, s.down_count) is distinct from (counted.up_count, counted.down_count)
  )
  select (select count(*) from sample)::int as checked, (select count(*) from drifted)::int as drifted,
    array(select id from drifted order by id limit $2) as ids`;

async function diagnoseTallies(client: pg.Client): Promise<Finding> {
  const rows = await client
    .query<TallyRow>(selectDriftedTallies, [tallySample, maxNamed])
    .then(result => result.rows)
    .catch(failure => {
      if (failure.code === statementTimeout) return undefined;
      throw failure;
    });
  if (!rows) {
    return warning('The votes could not be counted in time', 'Try again with a larger DATABASE_STATEMENT_TIMEOUT_MS');
  }
  const [{ checked, drifted, ids } = { checked: 0, drifted: 0, ids: [] }] = rows;
  if (drifted === 0) return ok(`Every tally is what its votes say (the newest ${checked} ideas)`);
  return error(
    `The tallies of ${drifted} of the newest ${checked} ideas differ from their votes: ${ids.join(', ')}${drifted > ids.length ? ', ...' : ''}`,
    'Count them anew, in SQL: select carry_votes(<id>); and report this, since it must not happen',
  );
}

async function diagnoseHeartbeat(client: pg.Client, maxAgeMinutes: number): Promise<Finding[]> {
  const { rows: tables } = await client.query<{ exists: boolean }>(
    `select to_regclass('heartbeats') is not null as exists`,
  );
  if (!tables[0]?.exists) return [];
  const { rows } = await client.query<{ recorded_at: Date; is_recent: boolean }>(
    `select recorded_at, recorded_at > now() - make_interval(mins => $1) as is_recent
    from heartbeats where name = 'cron'`,
    [maxAgeMinutes],
  );
  const [heartbeat] = rows;
  const remedy = 'Start the server with its worker; where one runs, see its log';
  if (!heartbeat) return [warning('The worker has never run on this database', remedy)];
  const at = heartbeat.recorded_at.toISOString();
  return [
    heartbeat.is_recent ? ok(`The worker is alive (${at})`) : warning(`The worker was last alive at ${at}`, remedy),
  ];
}
