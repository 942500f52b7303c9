import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import {
  listLostKeys,
  oldestCitus,
  planDistribution,
  readCitusNodes,
  readCitusVersion,
  readPlacedTables,
  type Step,
} from '../database/distribution.ts';
import { CliError, withInstallation } from './administer.ts';
import { flag, verb } from './command.ts';
import { type OutputOptions, print } from './output.ts';

export const addDistributeCommand = verb({
  description:
    'Distributes the tables over the nodes of Citus, in one transaction. Stop all servers and workers first. See docs/citus.md.',
  examples: ['distribute --dry-run', 'distribute'],
  input: { dryRun: flag('only print the statements, also without Citus') },
  perform: run,
});

async function run({ dryRun = false }: { dryRun?: boolean }, output: OutputOptions) {
  await withInstallation(async ({ database }) => {
    const { db } = database;
    const version = await readCitusVersion(db);
    if (!dryRun) await requireCitus(database, version);
    const steps = await planDistribution(db, version === undefined ? [] : await readPlacedTables(db));
    const lostKeys = await listLostKeys(db);
    if (!dryRun) await distribute(database, steps);
    print(output, { applied: !dryRun, steps, lost_foreign_keys: lostKeys }, () => describe(steps, lostKeys, dryRun));
  }, patient);
}

/** Citus copies the rows of each table, which takes long for a large table. */
const patient = { DATABASE_STATEMENT_TIMEOUT_MS: 86_400_000 };

async function requireCitus({ db }: Database, version: string | undefined): Promise<void> {
  if (version === undefined) throw new CliError('The database does not have the extension citus: see docs/citus.md');
  if (Number.parseInt(version, 10) < oldestCitus) {
    throw new CliError(`Citus ${version} is too old; ${oldestCitus} or newer is needed`);
  }
  const { workers, has_coordinator } = await readCitusNodes(db);
  if (!has_coordinator) throw new CliError('Add the coordinator with citus_set_coordinator_host first');
  if (workers === 0) throw new CliError('Add a worker node with citus_add_node first');
}

async function distribute(database: Database, steps: readonly Step[]): Promise<void> {
  await database.transaction(async ({ db }) => {
    for (const { statement } of steps) await sql.raw(statement).execute(db);
  });
}

function describe(steps: readonly Step[], lostKeys: readonly string[], isDryRun: boolean): string {
  if (steps.length === 0) return 'All tables are distributed already.';
  const lines = steps.map(({ statement, note }) => (note === null ? `${statement};` : `${statement}; -- ${note}`));
  const lost = lostKeys.map(key => `-- Citus does not support the foreign key ${key}`);
  const end = isDryRun ? 'Nothing was changed.' : `Ran ${steps.length} statements.`;
  return ['begin;', ...lines, 'commit;', ...lost, '', end].join('\n');
}
