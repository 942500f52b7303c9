import type { Config } from '../../config.ts';
import { findCluster } from '../../database/embedded/postgres-cluster.ts';
import { EmbeddedPostgresError } from '../../database/embedded/postgres-program.ts';
import { streamsOf } from '../../database/migration-files.ts';
import { describeDatabase } from '../../database/unavailable.ts';
import { CliError, openForCommand, withDatabase } from '../administer.ts';
import { diagnoseData } from './data.ts';
import { diagnoseExtensions, diagnoseLeftExtensions, type KnownExtensions } from './extensions.ts';
import { error, type Finding, ok } from './finding.ts';
import { diagnoseMigrations } from './migrations.ts';
import { diagnosePostgres, diagnosePostgresExtensions } from './postgres.ts';
import { diagnoseSettings } from './settings.ts';

/** Looks an installation over, as far as what is found allows. Changes nothing. */
export async function diagnose(environment: NodeJS.ProcessEnv): Promise<Finding[]> {
  const { findings, config } = diagnoseSettings(environment);
  if (!config) return findings;
  const known = await diagnoseExtensions(config.EXTENSIONS, environment);
  return [...findings, ...known.findings, ...(await reachDatabase(config, known))];
}

async function reachDatabase(config: Config, known: KnownExtensions): Promise<Finding[]> {
  const { DATABASE_URL, DATA_DIR } = config;
  try {
    if (DATABASE_URL === undefined && !(await findCluster(DATA_DIR))) {
      return [
        error(`There is no database in ${DATA_DIR}`, 'Set DATABASE_URL or DATA_DIR, or run npm run cli -- migrate'),
      ];
    }
    return await withDatabase(config, url => diagnoseDatabase(url, config, known));
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

function diagnoseDatabase(url: string, config: Config, { extensions }: KnownExtensions): Promise<Finding[]> {
  return openForCommand(url, config, async database => {
    // Comes first: the pool has a connection timeout, and the check of the migrations has none.
    const postgres = await diagnosePostgres(database);
    const reached = ok(`The database ${describeDatabase(url)} answers`);
    const migrations = await diagnoseMigrations(url, streamsOf(extensions), config.TOLERATED_MIGRATIONS);
    const ofPostgres = await diagnosePostgresExtensions(database, migrations.isMigrated);
    const found = [reached, ...postgres, ...ofPostgres, ...migrations.findings];
    if (!migrations.isMigrated) return found;
    return [
      ...found,
      ...(await diagnoseData(database.db, config)),
      ...(await diagnoseLeftExtensions(database.db, extensions)),
    ];
  });
}
