import { loadConfig } from '../config.ts';
import { type MigrationName, streamsOf } from '../database/migration-files.ts';
import { listPendingMigrations, migrate } from '../database/migrator.ts';
import { requireSupportedPostgres } from '../database/server-version.ts';
import { fillCanonicalAddresses } from '../domain/users/fill-canonical-addresses.ts';
import { loadExtensions } from '../extensions/load-extensions.ts';
import { openForCommand, withDatabase } from './administer.ts';
import { flag, verb } from './command.ts';
import { formatTable, type OutputOptions, print } from './output.ts';

export const addMigrateCommand = verb({
  description:
    'Applies all pending migrations, also those of EXTENSIONS. Without DATABASE_URL it creates the database in DATA_DIR if it does not exist.',
  examples: ['migrate --dry-run', 'migrate'],
  input: {
    dryRun: flag('only list the pending migrations'),
    check: flag('only list the pending migrations, and exit with 1 if there are any', { conflicts: 'dryRun' }),
  },
  perform: run,
});

async function run({ dryRun, check }: { dryRun?: boolean; check?: boolean }, output: OutputOptions) {
  const config = loadConfig();
  const streams = streamsOf(await loadExtensions(config.EXTENSIONS));
  const tolerated = config.TOLERATED_MIGRATIONS;
  const onSupported = <T>(work: (url: string) => Promise<T>) =>
    withDatabase(config, async url => {
      await requireSupportedPostgres(url, config.DATABASE_CONNECT_TIMEOUT_MS);
      return work(url);
    });
  if (!dryRun && !check) {
    const applied = await onSupported(async url => {
      const done = await migrate(url, streams, { tolerated, onWait: sayWait });
      await openForCommand(url, config, fillCanonicalAddresses);
      return done;
    });
    print(output, { applied }, () => list('Applied:', applied, 'The database is up to date.'));
    return;
  }
  const pending = await onSupported(url => listPendingMigrations(url, streams, { tolerated }));
  print(output, { pending }, () => list('Pending:', pending, 'No migration is pending.'));
  if (check && pending.length > 0) process.exitCode = 1;
}

/** Writes to standard error, because with --json the standard output may contain only JSON. */
function sayWait(holder: string) {
  process.stderr.write(`Waiting for another process that is migrating the database: ${holder}\n`);
}

function list(heading: string, migrations: MigrationName[], none: string): string {
  if (migrations.length === 0) return none;
  return `${heading}\n${formatTable(migrations, 'stream', ['migration', 'name'])}`;
}
