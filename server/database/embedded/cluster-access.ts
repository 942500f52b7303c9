import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chown, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeKeptSecret, readKeptSecret } from '../../kept-secret.ts';
import { readIfExists } from '../read-if-exists.ts';
import { isRoot, type PostgresBinaries } from './postgres-binaries.ts';
import {
  applicationName,
  EmbeddedPostgresError,
  isLockConflict,
  pickReason,
  postgresEnvironment,
  superuserName,
  type UserIds,
  unprivileged,
} from './postgres-program.ts';

const run = promisify(execFile);

/**
 * Returns the password of the application's database role. The password is stored outside the database cluster, because
 * every process of PostgreSQL's system user can read the cluster.
 */
export async function loadPassword(dataDir: string, runAs?: UserIds): Promise<string> {
  const file = join(dataDir, 'postgres.password');
  const name = 'The password of the embedded PostgreSQL';
  const kept = await readKeptSecret(file, name);
  if (kept !== undefined) return kept.toString('base64');
  const secret = await makeKeptSecret(file, name);
  // Changes the owner of the password file to the system user that owns the database cluster. This user may start
  // PostgreSQL later without root, and then needs the password.
  if (runAs !== undefined && runAs.uid !== unprivileged.uid) await chown(file, runAs.uid, runAs.gid);
  return secret.toString('base64');
}

/**
 * Whether the database cluster requires a password from every client, and whether the application's role has the given
 * password.
 */
export async function isSecured(directory: string, password: string): Promise<boolean> {
  return (await readIfExists(join(directory, 'pg_hba.conf'))) === describeAccess(password);
}

export interface StoppedCluster {
  directory: string;
  /** The system user that runs PostgreSQL. Undefined if this is the current user. */
  runAs: UserIds | undefined;
}

/**
 * Sets up the roles, the password and the access rules of a stopped database cluster. An interrupted run can be
 * repeated, because pg_hba.conf is written last. Returns false if another process uses the cluster.
 */
export async function secureCluster(
  cluster: StoppedCluster,
  binaries: PostgresBinaries,
  password: string,
): Promise<boolean> {
  if ((await runAlone(cluster, binaries, arrangeRoles(password))) === 'in_use') return false;
  const file = join(cluster.directory, 'pg_hba.conf');
  const draft = `${file}.idea-board`;
  await writeFile(draft, describeAccess(password), { mode: 0o600 });
  if (isRoot() && cluster.runAs !== undefined) await chown(draft, cluster.runAs.uid, cluster.runAs.gid);
  await rename(draft, file);
  return true;
}

/**
 * Returns the text of pg_hba.conf, which contains a fingerprint of the password. If the database cluster was copied or
 * the password file was lost, the fingerprint differs. The server then sets up the cluster's password and access rules
 * again.
 */
function describeAccess(password: string): string {
  const fingerprint = createHash('sha256').update(password).digest('hex').slice(0, 16);
  return `# Written by Idea-Board, which restores it at each start. Password: ${fingerprint}
local all all scram-sha-256
host all all all scram-sha-256
`;
}

/** The superuser has no password, so that nobody can connect with it. */
function arrangeRoles(password: string): string {
  return `do $$
begin
  alter role ${superuserName} password null;
  if not exists (select from pg_roles where rolname = '${applicationName}') then
    create role ${applicationName};
  end if;
  alter role ${applicationName}
    login createdb nosuperuser nocreaterole noreplication nobypassrls password '${password}';
end $$;

`;
}

/**
 * Runs one statement as the superuser, in PostgreSQL's single-user mode. Meanwhile nobody can connect, and the lock on
 * the directory prevents another PostgreSQL from starting there.
 */
async function runAlone(
  { directory, runAs }: StoppedCluster,
  { postgres }: PostgresBinaries,
  sql: string,
): Promise<'done' | 'in_use'> {
  // Hash iterations slow down the guessing of passwords. A password of 32 random bytes does not need many iterations,
  // and many iterations would slow down each connection.
  const settings = ['exit_on_error=on', 'password_encryption=scram-sha-256', 'scram_iterations=1'];
  // With the option -j, a semicolon and an empty line end each statement.
  const args = ['--single', '-j', '-D', directory, ...settings.flatMap(setting => ['-c', setting])];
  const running = run(postgres, [...args, 'postgres'], { ...runAs, cwd: '/', env: postgresEnvironment });
  running.child.stdin?.on('error', () => {}); // Ignores the error if PostgreSQL exits before it reads `sql`.
  running.child.stdin?.end(sql);
  try {
    await running;
    return 'done';
  } catch (error) {
    const { message, stderr = '' } = error as Error & { stderr?: string };
    if (isLockConflict(stderr)) return 'in_use';
    // Does not show the message of this error, because the message could contain the statement with the password.
    const reason = pickReason(stderr) ?? message.split('\n')[0];
    throw new EmbeddedPostgresError(`PostgreSQL in ${directory} cannot be secured: ${reason}`);
  }
}
