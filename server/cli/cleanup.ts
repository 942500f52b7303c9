import { type CleanUpWitness, cleanUp } from '../domain/erasure/clean-up.ts';
import { type CleanUpPreview, previewCleanUp } from '../domain/erasure/preview-clean-up.ts';
import { type LoggedDeletion, repeatDeletions } from '../domain/erasure/repeat-deletions.ts';
import { systemClock } from '../domain/time.ts';
import { collectAuditEntries } from '../jobs/audit-outbox.ts';
import { buildEnvironmentRedactor } from '../observability/redactor.ts';
import { CliError, type Installation, withInstallation } from './administer.ts';
import { flag, optional, parseTime, verb } from './command.ts';
import { formatTable, type OutputOptions, oneLine, print } from './output.ts';
import { readLoggedDeletions } from './read-logged-deletions.ts';

/** The JSON output identifies people only by ids, because operators may keep this output in logs. */
interface CleanUpReport {
  is_another_running: boolean;
  accounts: ErasedView[];
  users: ErasedView[];
  skipped: { user_id: number; held_by: string[] }[];
  failed: { what: 'account' | 'user'; id: number; reason: string }[];
}

interface ErasedView {
  id: number;
  is_resumed: boolean;
  rows: Record<string, number>;
}

export const addCleanUpCommand = verb({
  description:
    'Erases the accounts and users whose grace period is over. The server never runs it, so schedule it yourself; servers may run meanwhile. After a killed run the next one continues. It exits with 1 if an erasure fails.',
  examples: ['cleanup --dry-run', 'cleanup', 'cleanup --audit-log audit.log --since 2026-11-20T03:00:00Z'],
  input: {
    dryRun: flag('only list the accounts and users to erase, and those to skip with the reason'),
    auditLog: optional(
      '<file>',
      'after a restore: first repeat the deletion requests, cancellations and erasures in this audit log; needs --since',
    ),
    since: optional('<time>', 'the time of the restored backup', { parse: parseTime }),
  },
  refuse: ({ auditLog, since }) =>
    (auditLog === undefined) === (since === undefined) ? undefined : '--audit-log and --since need each other',
  async perform({ dryRun, auditLog, since }, output) {
    const logged = auditLog !== undefined && since ? { since, deletions: await readLog(auditLog, since) } : undefined;
    await (dryRun ? preview(output, logged) : run(output, logged));
  },
});

interface Logged {
  since: Date;
  deletions: LoggedDeletion[];
}

async function readLog(path: string, since: Date): Promise<LoggedDeletion[]> {
  return readLoggedDeletions(path, since).catch((error: Error) => {
    throw new CliError(`The audit log cannot be read: ${error.message}`, { cause: error });
  });
}

async function preview(output: OutputOptions, logged: Logged | undefined) {
  const due = await withInstallation(({ database, config }) => previewCleanUp(database, config, systemClock.now()));
  const of = logged ? { in_audit_log: logged.deletions } : {};
  print(output, { ...due, ...of }, () =>
    [formatPreview(due), ...(logged ? [`\nIn the audit log:\n${formatLogged(logged)}`] : [])].join('\n'),
  );
}

function formatLogged({ deletions }: Logged): string {
  return formatTable(deletions, ['of', 'what'], 'id', 'state', 'at');
}

async function run(output: OutputOptions, logged: Logged | undefined) {
  const say = (line: string) => {
    if (!output.json) process.stdout.write(`${line}\n`);
  };
  const report = await withInstallation(async installation => {
    if (logged) {
      const { database, config: graces } = installation;
      const { since, deletions } = logged;
      const options = { graces, now: systemClock.now(), since };
      const count = await database.transaction(({ db }) => repeatDeletions(db, deletions, options));
      say(`Accounts and users changed as in the audit log: ${count}`);
    }
    return runOn(installation, say);
  });
  print(output, report, summaryOf);
  if (report.failed.length > 0) process.exitCode = 1;
}

async function runOn(
  { database, config, extensions }: Installation,
  say: (line: string) => void,
): Promise<CleanUpReport> {
  const report: CleanUpReport = { is_another_running: false, accounts: [], users: [], skipped: [], failed: [] };
  const now = systemClock.now();
  const redactor = buildEnvironmentRedactor(process.env);
  const witness: CleanUpWitness = {
    erased(what, { id, isResumed, counts }) {
      report[`${what}s`].push({ id, is_resumed: isResumed, rows: counts });
      say(`Erased ${what} ${id}: ${formatRows(counts)}`);
    },
    held(id, heldBy) {
      report.skipped.push({ user_id: id, held_by: heldBy });
      say(`Skipped user ${id}, who is ${heldBy.join(' and ')}`);
    },
    failed(what, id, error) {
      // Redacts the message of the error and puts it on one line. The message may contain personal data, and operators
      // may keep the output.
      const reason = oneLine(redactor.text(error instanceof Error ? error.message : String(error)));
      report.failed.push({ what, id, reason });
      say(`Could not erase ${what} ${id}; the next run will continue: ${reason}`);
    },
  };
  const isAlone = await cleanUp(database, {
    graces: config,
    now,
    erasers: extensions,
    witness,
    async record(transaction, what, { id, counts: rows }) {
      const audit = collectAuditEntries({ by: 'operator' }, now);
      if (what === 'account') audit.trail.record('account.erased', { account_id: id, rows });
      else audit.trail.record('user.erased', { user_id: id, rows });
      await audit.leave(transaction);
    },
  });
  return { ...report, is_another_running: !isAlone };
}

function summaryOf({ is_another_running, accounts, users, skipped, failed }: CleanUpReport): string {
  if (is_another_running) return 'Another clean-up is running. Nothing was done.';
  const outcomes = [`Accounts erased: ${accounts.length}`, `Users erased: ${users.length}`];
  if (skipped.length > 0) outcomes.push(`Skipped: ${skipped.length}`);
  if (failed.length > 0) outcomes.push(`Failed: ${failed.length}`);
  return `${outcomes.join('. ')}.`;
}

function formatPreview({ accounts, users }: CleanUpPreview): string {
  const accountTable = formatTable(
    accounts,
    'id',
    'slug',
    ['scheduled', 'deletion_scheduled_at'],
    ['rows', account => formatRows(account.counts)],
  );
  const userTable = formatTable(
    users,
    'id',
    'email',
    ['requested', 'deletion_requested_at'],
    ['skipped', user => user.held_by.join(' and ')],
    ['rows', user => formatRows(user.counts)],
  );
  return `Accounts:\n${accountTable}\n\nUsers:\n${userTable}`;
}

/**
 * Writes counts as `ideas 3, votes 1`. The form `3 ideas, 1 vote` would need the singular and plural of every table.
 */
function formatRows(counts: Record<string, number>): string {
  const rows = Object.entries(counts).filter(([, count]) => count > 0);
  return rows.map(([table, count]) => `${table} ${count}`).join(', ') || 'nothing';
}
