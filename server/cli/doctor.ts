import { type Config, loadConfig, settings } from '../config.ts';
import { findCluster } from '../database/embedded/postgres-cluster.ts';
import { EmbeddedPostgresError } from '../database/embedded/postgres-program.ts';
import { MigrationError, type MigrationStream, streamsOf } from '../database/migration-files.ts';
import { listPendingMigrations } from '../database/migrator.ts';
import { describeDatabase } from '../database/unavailable.ts';
import { findWeakSecrets } from '../production-secrets.ts';
import { CliError, openForCommand, withDatabase } from './administer.ts';
import { verb } from './command.ts';
import { diagnoseClock, diagnoseConnections } from './diagnosis/connections.ts';
import { diagnoseData } from './diagnosis/data.ts';
import { diagnoseDatabaseUrls } from './diagnosis/database-urls.ts';
import { diagnoseDisks } from './diagnosis/disk.ts';
import { diagnoseExtensions, diagnoseLeftExtensions, type KnownExtensions } from './diagnosis/extensions.ts';
import { error, type Finding, ok } from './diagnosis/finding.ts';
import { diagnoseMail } from './diagnosis/mail.ts';
import { diagnoseOrigin } from './diagnosis/origin.ts';
import { diagnosePostgres, diagnosePostgresExtensions } from './diagnosis/postgres.ts';
import { type OutputOptions, oneLine, print } from './output.ts';

export const addDoctorCommand = verb({
  description:
    'Checks the settings, the public origin, the mail server, the database, the migrations and the data, and prints a remedy for each problem. Changes nothing. Exits with 1 if it finds an error.',
  examples: ['doctor', 'doctor --json'],
  input: {},
  perform: (_, output) => run(output),
});

async function run(output: OutputOptions) {
  const findings = await diagnose(process.env);
  const isWell = findings.every(finding => finding.level !== 'error');
  print(output, { ok: isWell, findings }, () => formatFindings(findings));
  if (!isWell) process.exitCode = 1;
}

export function formatFindings(findings: Finding[]): string {
  const count = (level: Finding['level']) => findings.filter(finding => finding.level === level).length;
  const lines = findings.flatMap(({ level, what, remedy }) => [
    `${level.padEnd(7)}  ${oneLine(what)}`,
    ...(remedy === null ? [] : [`         -> ${oneLine(remedy)}`]),
  ]);
  return [...lines, '', `Errors: ${count('error')}. Warnings: ${count('warning')}.`].join('\n');
}

/** Checks the settings, the extensions and the database. If a check fails, the checks that depend on it are skipped. */
async function diagnose(environment: NodeJS.ProcessEnv): Promise<Finding[]> {
  const { findings, config } = diagnoseSettings(environment);
  if (!config) return findings;
  const known = await diagnoseExtensions(config.EXTENSIONS, environment);
  const ofMachine = await Promise.all([diagnoseOrigin(config), diagnoseMail(config), diagnoseDisks(config)]);
  return [...findings, ...known.findings, ...ofMachine.flat(), ...(await reachDatabase(config, known))];
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
      return [error(failure.message, 'Check DATABASE_URL, and that PostgreSQL runs and accepts this machine and user')];
    }
    if (failure instanceof EmbeddedPostgresError) {
      return [error(`The embedded PostgreSQL does not run: ${failure.message}`, `See postgres.log in ${DATA_DIR}`)];
    }
    throw failure;
  }
}

function diagnoseDatabase(url: string, config: Config, { extensions }: KnownExtensions): Promise<Finding[]> {
  return openForCommand(url, config, async database => {
    // Checks the connection to PostgreSQL first, because this check has a timeout. The check of the migrations has no
    // timeout and could hang.
    const postgres = await diagnosePostgres(database);
    const reached = ok(`The database ${describeDatabase(url)} answers`);
    const migrations = await diagnoseMigrations(url, streamsOf(extensions), config.TOLERATED_MIGRATIONS);
    const ofPostgres = await diagnosePostgresExtensions(database, migrations.isMigrated);
    const ofServer = [await diagnoseClock(database.db), await diagnoseConnections(database.db, config)];
    const urls = await diagnoseDatabaseUrls(config);
    const found = [reached, ...urls, ...postgres, ...ofServer, ...ofPostgres, ...migrations.findings];
    if (!migrations.isMigrated) return found;
    return [
      ...found,
      ...(await diagnoseData(database, config)),
      ...(await diagnoseLeftExtensions(database.db, extensions)),
    ];
  });
}

/**
 * Checks the settings. In place of an invalid setting, the remaining checks use the setting's default value. If
 * DATABASE_URL or DATA_DIR is invalid, `config` is undefined.
 */
function diagnoseSettings(environment: NodeJS.ProcessEnv): { findings: Finding[]; config: Config | undefined } {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const issues = settings.safeParse(given).error?.issues ?? [];
  if (issues.length === 0) {
    const config = loadConfig(environment);
    return { findings: [ok('The settings are valid'), ...diagnoseSecrets(config)], config };
  }

  const findings = issues.map(issue => {
    const name = String(issue.path[0]);
    return error(`The setting ${name} is invalid: ${issue.message}`, `Correct or unset it. ${meaningOf(name)}`);
  });
  const wrong = issues.map(issue => String(issue.path[0]));
  if (wrong.includes('DATABASE_URL') || wrong.includes('DATA_DIR')) return { findings, config: undefined };
  const rest = Object.fromEntries(Object.entries(given).filter(([name]) => !wrong.includes(name)));
  return { findings, config: loadConfig(rest) };
}

/** Reports weak secrets only in production, because only a server in production refuses weak secrets. */
function diagnoseSecrets(config: Config): Finding[] {
  if (config.NODE_ENV !== 'production') return [];
  return findWeakSecrets(config).map(weak =>
    error(`In production, ${weak}`, 'Set a new one: the server refuses to start otherwise'),
  );
}

function meaningOf(name: string): string {
  const shape: Record<string, { description?: string | undefined }> = settings.shape;
  return shape[name]?.description ?? '';
}

async function diagnoseMigrations(
  url: string,
  streams: readonly MigrationStream[],
  tolerated: readonly string[],
): Promise<{ findings: Finding[]; isMigrated: boolean }> {
  try {
    const pending = await listPendingMigrations(url, streams, { tolerated });
    if (pending.length === 0) return { findings: [ok('Every migration is applied')], isMigrated: true };
    const names = pending.map(({ stream, name }) => `${stream}/${name}`).join(', ');
    return { findings: [error(`Migrations are pending: ${names}`, 'Run npm run cli -- migrate')], isMigrated: false };
  } catch (failure) {
    if (!(failure instanceof MigrationError)) throw failure;
    const remedy =
      'Run the version of the server that migrated the database, with unchanged migration files; see docs/upgrading.md';
    return { findings: [error(failure.message, remedy)], isMigrated: false };
  }
}
