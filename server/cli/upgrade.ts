import { requireAppKey } from '../app-key.ts';
import type { Rehearsal } from '../backup/rehearse-upgrade.ts';
import { loadConfig } from '../config.ts';
import { streamsOf } from '../database/migration-files.ts';
import { requireSupportedPostgres } from '../database/server-version.ts';
import { loadExtensions } from '../extensions/load-extensions.ts';
import { openForCommand, requireCluster, withDatabase } from './administer.ts';
import { flag, optional, verb } from './command.ts';
import { findingsOfRows, findingsOfSecrets, findingsOfTallies } from './diagnosis/restored-data.ts';
import { formatFindings } from './doctor.ts';
import { transferTimeoutMs } from './export.ts';
import { formatTable, print } from './output.ts';

export const addUpgradeCommand = verb({
  description:
    'Rehearses an upgrade: copies the database into a new one on the same PostgreSQL, migrates the copy with this version, prints the time and the locks of each migration, and drops the copy. Needs pg_dump and pg_restore. Servers may run meanwhile. Exits with 1 if a migration fails or a check of the copy finds a difference.',
  examples: ['upgrade --rehearse', 'upgrade --rehearse --backup /var/backups/ideas-2026-11-28'],
  input: {
    rehearse: flag('migrate a copy; the command migrate does the upgrade itself'),
    backup: optional('<directory>', 'the backup to copy; the running database if omitted'),
  },
  refuse: ({ rehearse }) => (rehearse ? undefined : 'add --rehearse; the command migrate does the upgrade itself'),
  async perform({ backup }, output) {
    const { rehearseUpgrade } = await import('../backup/rehearse-upgrade.ts');
    const config = { ...loadConfig(), DATABASE_STATEMENT_TIMEOUT_MS: transferTimeoutMs };
    await requireCluster(config);
    const streams = streamsOf(await loadExtensions(config.EXTENSIONS));
    const rehearsal = await withDatabase(config, async url => {
      await requireSupportedPostgres(url, config.DATABASE_CONNECT_TIMEOUT_MS);
      const appKey = await requireAppKey(config);
      return openForCommand(url, config, database =>
        rehearseUpgrade({
          database,
          url,
          appKey,
          backup,
          streams,
          tolerated: config.TOLERATED_MIGRATIONS,
          openCopy: (copyUrl, work) => openForCommand(copyUrl, config, work),
        }),
      );
    });
    const findings = [
      ...findingsOfRows(rehearsal.tables),
      ...findingsOfTallies(rehearsal.tallies),
      ...findingsOfSecrets(rehearsal.secrets),
    ];
    const isWell = findings.every(({ level }) => level !== 'error');
    print(output, { ok: isWell, ...rehearsal }, () =>
      [formatMigrations(rehearsal), '', formatFindings(findings)].join('\n'),
    );
    if (!isWell) process.exitCode = 1;
  },
});

function formatMigrations({ copy_ms, created_at, migrations }: Rehearsal): string {
  const rows = migrations.flatMap(({ stream, name, ms, locks }) => {
    const [first, ...others] = locks.map(({ table, blocks, held_ms }) => ({ table, blocks, held_ms }));
    return [
      { migration: `${stream}/${name}`, ms, ...first },
      ...others.map(lock => ({ migration: '', ms: '', ...lock })),
    ];
  });
  const table = formatTable(
    rows,
    'migration',
    'ms',
    ['locks', ({ table }: { table?: string }) => table],
    ['blocks', ({ blocks }: { blocks?: string }) => blocks],
    ['held ms', ({ held_ms }: { held_ms?: number }) => held_ms],
  );
  return `Copied the database of ${created_at} in ${copy_ms} ms.\n\n${table}`;
}
