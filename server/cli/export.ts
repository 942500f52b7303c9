import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { PassThrough, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Database } from '../database/database.ts';
import { systemClock } from '../domain/time.ts';
import { collectAuditEntries } from '../jobs/audit-outbox.ts';
import { CliError, withInstallation } from './administer.ts';
import { chooseAccount, inAccount } from './choose.ts';
import { optional, verb } from './command.ts';
import { formatTable, print } from './output.ts';

/** The time limit for one statement. The first batch of a large table needs a sort of the whole table. */
export const transferTimeoutMs = 3_600_000;

export const addExportCommand = verb({
  description:
    'Writes an archive with the boards, ideas, comments, notes, votes and people of an account, as JSON Lines. The archive has personal data, but no passwords, tokens or other secrets. Servers may run meanwhile.',
  examples: ['export --account acme --out acme.jsonl.gz', 'export --account acme'],
  input: {
    ...inAccount,
    out: optional('<file>', 'the file to write, compressed if its name ends in .gz; standard output if omitted'),
  },
  async perform({ account, out }, output) {
    await withInstallation(
      async ({ database }) => {
        if (out === undefined) return void (await writeArchive(database, account, process.stdout));
        const records = await intoFile(out, target => writeArchive(database, account, target));
        print(output, { file: out, records }, () =>
          formatTable(
            Object.entries(records).map(([type, count]) => ({ type, count })),
            'type',
            'count',
          ),
        );
      },
      { DATABASE_STATEMENT_TIMEOUT_MS: transferTimeoutMs },
    );
  },
});

/** Returns the number of written records of each type. */
async function writeArchive(
  database: Database,
  slug: string | undefined,
  target: Writable,
): Promise<Record<string, number>> {
  // The other commands start faster without the modules of the transfer.
  const { exportAccount } = await import('../transfer/export-account.ts');
  const { id: accountId } = await database.transaction(transaction => chooseAccount(transaction, slug));
  const records: Record<string, number> = {};
  await exportAccount(database, accountId, async batch => {
    if ('type' in batch) records[batch.type] = (records[batch.type] ?? 0) + batch.count;
    await new Promise<void>((resolve, reject) => {
      target.write(batch.lines, error => (error ? reject(error) : resolve()));
    });
  });
  await database.transaction(async transaction => {
    const audit = collectAuditEntries({ by: 'operator' }, systemClock.now());
    audit.trail.record('account.exported', { account_id: accountId });
    await audit.leave(transaction);
  });
  return records;
}

/** Writes a file that only its owner may read. The file gets its name when it is complete. */
async function intoFile<T>(path: string, write: (target: Writable) => Promise<T>): Promise<T> {
  const partial = `${path}.partial`;
  const target = new PassThrough();
  const file = createWriteStream(partial, { mode: 0o600 });
  const whole = path.endsWith('.gz') ? pipeline(target, createGzip(), file) : pipeline(target, file);
  const written = write(target).then(
    result => {
      target.end();
      return result;
    },
    error => {
      target.destroy(error);
      throw error;
    },
  );
  const [stored, result] = await Promise.allSettled([whole, written]);
  if (stored.status === 'fulfilled' && result.status === 'fulfilled') {
    await rename(partial, path);
    return result.value;
  }
  await rm(partial, { force: true });
  if (stored.status === 'fulfilled') throw (result as PromiseRejectedResult).reason;
  // An error of the export also ends the pipeline. Only errors of the file system name a path.
  if ('path' in stored.reason) throw new CliError(`The archive cannot be written: ${stored.reason.message}`);
  throw result.status === 'rejected' ? result.reason : stored.reason;
}
