import { stat } from 'node:fs/promises';
import { systemClock } from '../domain/time.ts';
import { collectAuditEntries } from '../jobs/audit-outbox.ts';
import type { ImportCounts } from '../transfer/import-account.ts';
import { withInstallation } from './administer.ts';
import { chooseAccount, inAccount } from './choose.ts';
import { argument, flag, optional, pairs, verb, withDefault } from './command.ts';
import { transferTimeoutMs } from './export.ts';
import { formatTable, oneLine, print } from './output.ts';
import { showProgress } from './progress.ts';

/** The number of refused records that the JSON output lists. */
const maxListed = 1_000;

/** The products whose files the command reads. A test compares them with the importers. */
export const products = ['astuto', 'canny', 'csv', 'fider', 'github', 'quackback'] as const;

type Product = (typeof products)[number];

export const addImportCommand = verb({
  description:
    'Imports an archive, or the files of another product, into an account. It skips the records of earlier imports, so a killed import continues if you start it again. It lists each refused record, and then exits with 1. It sends no mails, webhooks or chat messages. Servers may run meanwhile.',
  examples: [
    'import acme.jsonl.gz --account acme --dry-run',
    'import fider-backup --from fider --account acme --board ideas --status started=in_progress',
    'import ideas.csv --from csv --account acme --board ideas --column title=Subject --shorten',
  ],
  input: {
    file: argument('<file>', 'the archive, or the file or directory of the other product'),
    ...inAccount,
    from: optional<Product>('<product>', 'the product that wrote the files; an archive of Idea-Board if omitted', {
      choices: products,
    }),
    board: withDefault(
      '<slug>',
      'the board for ideas of a product without boards; a new board if there is none',
      'feedback',
    ),
    status: pairs('<old=new>', 'the key of our status for a status of the other product; repeatable'),
    column: pairs('<field=header>', 'for csv: the header of the column of a field, such as title=Subject; repeatable'),
    source: optional('<name>', 'another beginning of the external ids, to import two sites of one product'),
    dryRun: flag('check the files and count the records, but change nothing'),
    withRoles: flag('give people the roles of the archive; by default, every member gets the role member'),
    shorten: flag('shorten texts that are too long, instead of refusing their records'),
  },
  async perform({ file, account, from, dryRun = false, withRoles = false, shorten = false, ...given }, output) {
    const { importAccount } = await import('../transfer/import-account.ts');
    const { openRecords } = await import('../transfer/open-records.ts');
    const refused: { place: string; reason: string }[] = [];
    const counts = await withInstallation(
      async ({ database }) => {
        const { id: accountId } = await database.transaction(transaction => chooseAccount(transaction, account));
        const now = systemClock.now();
        const collectAudit = () => collectAuditEntries({ by: 'operator' }, now);
        const record = (records: Record<string, number>, is_complete: boolean) =>
          database.transaction(async transaction => {
            const audit = collectAudit();
            audit.trail.record('account.imported', {
              account_id: accountId,
              from: from ?? 'archive',
              records,
              is_complete,
            });
            await audit.leave(transaction);
          });
        const meter = { bytes: 0 };
        const options = {
          from,
          prefix: given.source ?? from ?? '',
          board: given.board,
          statuses: given.status ?? new Map(),
          columns: given.column ?? new Map(),
          now,
        };
        const read = await openRecords(database, accountId, file, options, meter);
        const progress = showProgress(process.stderr, from === undefined ? (await stat(file)).size : undefined, meter);
        if (!dryRun) await record({}, false);
        const result = await importAccount(
          database,
          read,
          { accountId, now, withRoles, shortens: shorten, isDryRun: dryRun },
          {
            refused(place, reason) {
              if (refused.length < maxListed) refused.push({ place, reason });
              progress.say(`${place}: ${oneLine(reason)}`);
            },
            warned: (place, reason) => progress.say(`${place}: ${oneLine(reason)}`),
            progressed: progress.update,
          },
          collectAudit,
        ).finally(progress.end);
        if (!dryRun) await record(result.imported, true);
        return result;
      },
      { DATABASE_STATEMENT_TIMEOUT_MS: transferTimeoutMs },
    );
    print(output, { is_dry_run: dryRun, ...counts, refusals: refused }, () => formatCounts(counts, dryRun));
    if (counts.refused > 0) process.exitCode = 1;
  },
});

function formatCounts({ imported, skipped, refused }: ImportCounts, isDryRun: boolean): string {
  const types = Object.keys(imported) as (keyof typeof imported)[];
  const table = formatTable(
    types.map(type => ({ type, imported: imported[type] ?? 0, skipped: skipped[type] ?? 0 })),
    'type',
    'imported',
    'skipped',
  );
  const lines = [table, '', `Refused: ${refused}`];
  if (isDryRun) lines.push('This was a dry run. It changed nothing.');
  return lines.join('\n');
}
