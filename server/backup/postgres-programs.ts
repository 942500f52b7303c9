import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { BackupError } from './backup-error.ts';
import { markSchema } from './restore-mark.ts';

/**
 * The application name of pg_restore's sessions. With this name, a later restore finds the session of a killed restore.
 */
export const restoreSession = 'idea-board restore';

/** Returns the version of an installed program. Throws if the program is missing. */
export async function readProgramVersion(name: 'pg_dump' | 'pg_restore'): Promise<string> {
  const program = start(name, ['--version'], {});
  const [output] = await Promise.all([text(program.output), program.end]);
  return /\d+[.\w]*/.exec(output)?.[0] ?? output.trim();
}

/**
 * Writes a dump of the database in PostgreSQL's custom format. The dump has the state of an exported snapshot. It has
 * no rows of unlogged tables, because these rows are short-lived counters.
 */
export async function dumpDatabase(url: string, snapshot: string, target: (dump: Readable) => Promise<void>) {
  const { database, environment } = connectionOf(url, 'idea-board backup');
  const program = start(
    'pg_dump',
    [
      ['--format=custom', '--no-unlogged-table-data', `--exclude-schema=${markSchema}`],
      [`--snapshot=${snapshot}`, `--dbname=${database}`],
    ].flat(),
    environment,
  );
  await bothEnds(target(program.output), program);
}

/**
 * Restores a dump in one transaction. If this process is killed, pg_restore fails at the end of its input, or when it
 * reports the next step to the closed pipe. PostgreSQL then rolls back the transaction.
 */
export async function restoreDump(url: string, dump: Readable, { withRights }: { withRights: boolean }) {
  const { database, environment } = connectionOf(url, restoreSession);
  const rights = withRights ? [] : ['--no-acl'];
  // Restores no comments on objects. A PostgreSQL extension may belong to a superuser who created it in advance, and
  // only its owner may comment on it.
  const args = ['--single-transaction', '--no-owner', '--no-comments', ...rights, '--verbose', `--dbname=${database}`];
  const program = start('pg_restore', args, environment);
  program.output.resume();
  await bothEnds(pipeline(dump, program.input), program);
}

/**
 * Waits for a program, and for the stream of its input or output. If the program fails, the stream breaks too, and this
 * function throws the error of the program. If the stream fails first, this function stops the program and throws the
 * error of the stream.
 */
async function bothEnds(stream: Promise<void>, program: Program) {
  stream.catch(() => program.stop());
  const [streamed, ended] = await Promise.allSettled([stream, program.end]);
  const isEarlyEnd = streamed.status === 'rejected' && streamed.reason.code !== 'EPIPE';
  if (isEarlyEnd && program.isStopped()) throw streamed.reason;
  if (ended.status === 'rejected') throw ended.reason;
  if (streamed.status === 'rejected') throw streamed.reason;
}

/**
 * Returns the database URL without its password, and the environment for pg_dump or pg_restore. The password is in the
 * environment, because every user of the machine can see the arguments of a process.
 */
function connectionOf(url: string, name: string) {
  const database = new URL(url);
  const password = decodeURIComponent(database.password);
  database.password = '';
  return {
    database: database.href,
    environment: { PGAPPNAME: name, ...(password === '' ? {} : { PGPASSWORD: password }) },
  };
}

interface Program {
  input: Writable;
  output: Readable;
  /** Resolves if the program exits with 0. */
  end: Promise<void>;
  stop(): void;
  isStopped(): boolean;
}

function start(name: string, args: string[], environment: Record<string, string>): Program {
  const child = spawn(name, args, { env: { ...process.env, LC_ALL: 'C', ...environment } });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (output: string) => {
    // The verbose output has a line for each restored object. Keeps only the end of the output, which contains the
    // error.
    errors = (errors + output).slice(-20_000);
  });
  // Ignores the error of a closed pipe, because the program's exit explains it.
  child.stdin.on('error', () => {});
  const end = once(child, 'close').then(
    ([status]) => {
      if (status !== 0) throw new BackupError(`${name} failed: ${reasonOf(errors) ?? `exit status ${status}`}`);
    },
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw new BackupError(`${name} cannot run: ${error.message}`, { cause: error });
      throw new BackupError(
        `${name} is not installed: install the client programs of PostgreSQL, such as the package postgresql-client`,
      );
    },
  );
  end.catch(() => {});
  return {
    input: child.stdin,
    output: child.stdout,
    end,
    stop: () => void child.kill(),
    isStopped: () => child.killed,
  };
}

/** Returns the first error in a program's output, with its details, as one line. */
function reasonOf(output: string): string | undefined {
  const lines = output.split('\n');
  const first = lines.findIndex(line => /\b(?:error|fatal):/i.test(line));
  if (first < 0) return undefined;
  const details = lines.slice(first + 1, first + 4).filter(line => /^(?:\w+: )?(?:detail|hint):/i.test(line));
  const reason = [lines[first], ...details].map(line => (line ?? '').replace(/^(?:pg_\w+: )?(?:error: )?/, '').trim());
  const isOlder = reason.some(line => line.includes('server version mismatch'));
  return [...reason, ...(isOlder ? ["install the client programs of the PostgreSQL server's version"] : [])].join('; ');
}
