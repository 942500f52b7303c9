import { requireAppKey } from '../app-key.ts';
import type { Restoration } from '../backup/restore-backup.ts';
import { loadConfig } from '../config.ts';
import { streamsOf } from '../database/migration-files.ts';
import { requireSupportedPostgres } from '../database/server-version.ts';
import { loadExtensions } from '../extensions/load-extensions.ts';
import { openForCommand, withDatabase } from './administer.ts';
import { argument, flag, invocation, verb } from './command.ts';
import { error, type Finding, ok } from './diagnosis/finding.ts';
import { createAgain, findingsOfRows, findingsOfSecrets, findingsOfTallies } from './diagnosis/restored-data.ts';
import { formatFindings } from './doctor.ts';
import { transferTimeoutMs } from './export.ts';
import { print } from './output.ts';

export const addRestoreCommand = verb({
  description:
    'Restores a backup into an empty database. Needs pg_restore. Stop servers and workers first. After a killed restore, run the same command again. Exits with 1 if the verification finds a difference.',
  examples: ['restore /var/backups/ideas-2026-11-28 --verify', 'restore ideas.backup --verify --no-acl'],
  input: {
    directory: argument('<directory>', 'the directory of the backup'),
    verify: flag('compare the row counts with the manifest and the tallies with the votes, and decrypt the secrets'),
    noAcl: flag('do not restore the rights of database roles; use it if the new PostgreSQL lacks these roles'),
  },
  async perform(
    { directory, verify = false, acl = true }: { directory: string; verify?: boolean; acl?: boolean },
    output,
  ) {
    const { restoreBackup } = await import('../backup/restore-backup.ts');
    const config = { ...loadConfig(), DATABASE_STATEMENT_TIMEOUT_MS: transferTimeoutMs };
    const streams = streamsOf(await loadExtensions(config.EXTENSIONS));
    const restoration = await withDatabase(config, async url => {
      await requireSupportedPostgres(url, config.DATABASE_CONNECT_TIMEOUT_MS);
      const appKey = verify ? await requireAppKey(config) : undefined;
      return openForCommand(url, config, database =>
        restoreBackup(directory, {
          database,
          url,
          streams,
          tolerated: config.TOLERATED_MIGRATIONS,
          withRights: acl,
          appKey,
        }),
      );
    });
    const findings = findingsOf(restoration);
    const isWell = findings.every(({ level }) => level !== 'error');
    const { manifest, ...outcome } = restoration;
    print(output, { ok: isWell, backup: { created_at: manifest.created_at }, ...outcome }, () =>
      [formatFindings(findings), '', nextSteps(restoration)].join('\n'),
    );
    if (!isWell) process.exitCode = 1;
  },
});

function findingsOf({ manifest, verification, is_continued }: Restoration): Finding[] {
  const from = `the backup of ${manifest.created_at}`;
  const restored = ok(is_continued ? `An earlier restore had restored ${from}` : `Restored ${from}`);
  if (!verification) return [restored];
  const { tables, tallies, secrets, has_new_incarnation } = verification;
  return [
    restored,
    ...findingsOfRows(tables),
    ...(tallies ? findingsOfTallies(tallies) : []),
    ...findingsOfSecrets(secrets),
    has_new_incarnation
      ? ok('The database has a new identity, so old cursors of the list of events skip no events')
      : error('The database has the identity of the original, so old cursors could skip events', createAgain),
  ];
}

function nextSteps({ pending, manifest }: Restoration): string {
  const steps = [
    ...(pending.length > 0 ? [`Migrate: ${invocation} migrate`] : []),
    `Repeat the deletions since the backup: ${invocation} cleanup --audit-log <file> --since ${manifest.created_at}`,
    `Check the installation: ${invocation} doctor`,
  ];
  return ['Before you start the servers:', ...steps.map((step, index) => `${index + 1}. ${step}`)].join('\n');
}
