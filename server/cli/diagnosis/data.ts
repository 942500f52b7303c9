import { type Kysely, sql } from 'kysely';
import type { Config } from '../../config.ts';
import type { QueryBuilding } from '../../database/database.ts';
import type { Tables } from '../../database/tables.ts';
import { statementTimeout } from '../../database/unavailable.ts';
import { compareTallies } from '../../domain/ideas/compare-tallies.ts';
import { invocation } from '../command.ts';
import { diagnoseAddresses } from './addresses.ts';
import { diagnoseAppKey } from './app-key.ts';
import { diagnoseErasure } from './erasure.ts';
import { error, type Finding, ok, warning } from './finding.ts';

export async function diagnoseData(database: QueryBuilding, config: Config): Promise<Finding[]> {
  const { db } = database;
  return [
    ...(await diagnoseAccounts(db)),
    ...(await diagnoseBoards(db)),
    ...(await diagnoseTokens(db)),
    await diagnoseTallies(db),
    ...(await diagnoseAddresses(db)),
    await diagnoseErasure(database, config),
    await diagnoseAppKey(db, config),
    ...(await diagnoseHeartbeat(db, config.READINESS_CRON_MAX_AGE_MINUTES)),
  ];
}

async function diagnoseAccounts(db: Kysely<Tables>): Promise<Finding[]> {
  const rows = await db
    .selectFrom('accounts as a')
    .select(a => {
      const owners = a
        .selectFrom('memberships as m')
        .whereRef('m.account_id', '=', 'a.id')
        .where('m.role', '=', 'owner');
      return ['a.slug', a.exists(owners).as('has_owner')];
    })
    .orderBy('a.slug')
    .execute();
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

async function diagnoseBoards(db: Kysely<Tables>): Promise<Finding[]> {
  const rows = await db
    .selectFrom('boards as b')
    .innerJoin('accounts as a', 'a.id', 'b.account_id')
    .select(['a.slug as account', 'b.slug'])
    .where(({ exists, not, selectFrom }) =>
      not(
        exists(
          selectFrom('statuses as s')
            .whereRef('s.account_id', '=', 'b.account_id')
            .whereRef('s.board_id', '=', 'b.id')
            .where('s.category', '=', 'inbox'),
        ),
      ),
    )
    .orderBy('a.slug')
    .orderBy('b.slug')
    .execute();
  if (rows.length === 0) return [ok('Every board has a status for new ideas')];
  return rows.map(({ account, slug }) =>
    error(
      `The board ${account}/${slug} has no status of the category inbox, so nobody can create ideas on it`,
      `${invocation} status add --account ${account} --board ${slug} --key open --category inbox --label Open --position 1`,
    ),
  );
}

/** The command `doctor` warns about a token this many days before the token expires. */
const expiryNoticeDays = 14;

async function diagnoseTokens(db: Kysely<Tables>): Promise<Finding[]> {
  const soon = sql<boolean>`t.expires_at <= now() + make_interval(days => ${expiryNoticeDays})`;
  const rows = await db
    .selectFrom('api_tokens as t')
    .innerJoin('accounts as a', 'a.id', 't.account_id')
    .select(t => [
      't.id',
      't.name',
      'a.slug as account',
      't.expires_at',
      soon.as('expires_soon'),
      t
        .exists(
          t
            .selectFrom('api_token_boards as tb')
            .whereRef('tb.account_id', '=', 't.account_id')
            .whereRef('tb.token_id', '=', 't.id'),
        )
        .as('has_board'),
    ])
    .where('t.revoked_at', 'is', null)
    .where(t => t.or([t('t.expires_at', 'is', null), t('t.expires_at', '>', t.fn<string>('now', []))]))
    .where('t.kind', '=', 'api')
    .orderBy('t.id')
    .execute();
  const findings: Finding[] = [];
  for (const { id, name, account, expires_at, expires_soon, has_board } of rows) {
    const token = `The token ${id} (${name}) of ${account}`;
    if (expires_at !== null && expires_soon) {
      const remedy = `Give its user a new one: ${invocation} token create --account ${account} --name ...`;
      findings.push(warning(`${token} expires at ${new Date(expires_at).toISOString()}`, remedy));
    }
    if (!has_board) {
      const remedy = `Revoke it: ${invocation} token revoke ${id} --account ${account}`;
      findings.push(warning(`${token} grants no board, so every request with it is refused`, remedy));
    }
  }
  return findings.length > 0 ? findings : [ok(`Every token has a board and none expires soon (${rows.length} in use)`)];
}

/**
 * The number of ideas whose vote tallies the command `doctor` checks. This number is enough to detect a defect, and the
 * check is quick on every database.
 */
const tallySample = 20_000;

async function diagnoseTallies(db: Kysely<Tables>): Promise<Finding> {
  const tallies = await compareTallies(db, tallySample).catch(failure => {
    if (failure.code === statementTimeout) return undefined;
    throw failure;
  });
  if (!tallies) {
    return warning('The check of the tallies timed out', 'Try again with a larger DATABASE_STATEMENT_TIMEOUT_MS');
  }
  const { checked, drifted, ids } = tallies;
  if (drifted === 0) return ok(`Every tally matches its votes (the newest ${checked} ideas)`);
  return error(
    `The tallies of ${drifted} of the newest ${checked} ideas differ from their votes: ${ids.join(', ')}${drifted > ids.length ? ', ...' : ''}`,
    `Count them again in SQL: select carry_votes(account_id, id) from ideas where id in (${ids.join(', ')}); and report this as a bug`,
  );
}

async function diagnoseHeartbeat(db: Kysely<Tables>, maxAgeMinutes: number): Promise<Finding[]> {
  const heartbeat = await db
    .selectFrom('heartbeats')
    .select('recorded_at')
    .select(sql<boolean>`recorded_at > now() - make_interval(mins => ${maxAgeMinutes})`.as('is_recent'))
    .where('name', '=', 'cron')
    .executeTakeFirst();
  const remedy = 'Start the server with its worker; if it runs, see its log';
  if (!heartbeat) return [warning('The worker has never run on this database', remedy)];
  const at = new Date(heartbeat.recorded_at).toISOString();
  return [
    heartbeat.is_recent ? ok(`The worker is alive (${at})`) : warning(`The worker was last alive at ${at}`, remedy),
  ];
}
