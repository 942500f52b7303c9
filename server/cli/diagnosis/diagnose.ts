import pg from 'pg';
import type { Config } from '../../config.ts';
import { EmbeddedPostgresError } from '../../database/embedded-postgres-error.ts';
import { describeDatabase } from '../../database/explain-unreachable.ts';
import { findCluster } from '../../database/postgres-cluster.ts';
import { withDatabase } from '../administer.ts';
import { CliError } from '../cli-error.ts';
import { diagnoseData } from './data.ts';
import { error, type Finding, ok } from './finding.ts';
import { diagnoseMigrations } from './migrations.ts';
import { diagnosePostgres } from './postgres.ts';
import { diagnoseSettings } from './settings.ts';

/** Looks an installation over, as far as what is found allows. Changes nothing. */
export async function diagnose(environment: NodeJS.ProcessEnv): Promise<Finding[]> {
  const { findings, config } = diagnoseSettings(environment);
  if (!config) return findings;
  return [...findings, ...(await reachDatabase(config))];
}

async function reachDatabase(config: Config): Promise<Finding[]> {
  const { DATABASE_URL, DATA_DIR } = config;
  try {
    if (DATABASE_URL === undefined && !(await findCluster(DATA_DIR))) {
      return [
        error(`There is no database in ${DATA_DIR}`, 'Set DATABASE_URL or DATA_DIR, or run npm run cli -- migrate'),
      ];
    }
    return await withDatabase(config, url => diagnoseDatabase(url, config));
  } catch (failure) {
    if (failure instanceof CliError) {
      return [error(failure.message, 'Check DATABASE_URL, and that PostgreSQL runs and lets this machine and user in')];
    }
    if (failure instanceof EmbeddedPostgresError) {
      return [error(`The embedded PostgreSQL does not run: ${failure.message}`, `See postgres.log in ${DATA_DIR}`)];
    }
    throw failure;
  }
}

async function diagnoseDatabase(url: string, config: Config): Promise<Finding[]> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'idea-board doctor',
    connectionTimeoutMillis: config.DATABASE_CONNECT_TIMEOUT_MS,
    statement_timeout: config.DATABASE_STATEMENT_TIMEOUT_MS,
  });
  // The error of a connection that breaks reaches us through the query that it breaks.
  client.on('error', () => {});
  await client.connect();
  try {
    const reached = ok(`The database ${describeDatabase(url)} answers`);
    const migrations = await diagnoseMigrations(url);
    const postgres = await diagnosePostgres(client, migrations.isMigrated);
    const data = migrations.isMigrated ? await diagnoseData(client, config) : [];
    return [reached, ...postgres, ...migrations.findings, ...data];
  } finally {
    await client.end();
  }
}
