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
  const runSql = (database: string, sql: string) => runAlone(cluster, binaries, database, sql);
  if ((await runSql('postgres', arrangeRoles(password))) === 'in_use') return false;
  if ((await runSql(applicationName, transferDatabase)) === 'in_use') return false;
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

/**
 * Old versions of Idea-Board trusted every client and used initdb's superuser as the application's role. PostgreSQL
 * cannot demote that role. So this SQL renames the role, and creates a new role with the old name. The superuser has no
 * password, so that nobody can connect with it.
 */
function arrangeRoles(password: string): string {
  return `do $$
begin
  if (select rolname from pg_roles where oid = 10) = '${applicationName}' then
    -- PostgreSQL refuses to rename the role of the session.
    create role idea_board_renamer superuser;
    set session authorization idea_board_renamer;
    alter role ${applicationName} rename to ${superuserName};
    set session authorization ${superuserName};
    drop role idea_board_renamer;
  end if;
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
 * Transfers the database and its objects from the superuser to the application's role. Extensions keep their owner,
 * because PostgreSQL cannot change the owner of an extension. Objects with ids below 16384 come from initdb and also
 * keep their owner.
 */
const transferDatabase = `do $$
declare
  object record;
begin
  alter database ${applicationName} owner to ${applicationName};
  for object in
    select replace(named.type, 'statistics object', 'statistics') as type, named.identity
    from (
      select 'pg_namespace'::regclass as classid, oid from pg_namespace where nspowner = 10 and nspname !~ '^pg_'
      union all select 'pg_class'::regclass, oid from pg_class
        where relowner = 10 and relkind in ('r', 'p', 'v', 'm', 'f', 'S') and relpersistence <> 't'
      union all select 'pg_proc'::regclass, oid from pg_proc where proowner = 10
      union all select 'pg_type'::regclass, oid from pg_type where typowner = 10
        and (typrelid = 0 or (select relkind from pg_class where pg_class.oid = typrelid) = 'c')
      union all select 'pg_collation'::regclass, oid from pg_collation where collowner = 10
      union all select 'pg_operator'::regclass, oid from pg_operator where oprowner = 10
      union all select 'pg_ts_dict'::regclass, oid from pg_ts_dict where dictowner = 10
      union all select 'pg_ts_config'::regclass, oid from pg_ts_config where cfgowner = 10
      union all select 'pg_statistic_ext'::regclass, oid from pg_statistic_ext where stxowner = 10
    ) owned, pg_identify_object(owned.classid, owned.oid, 0) named
    where owned.oid >= 16384
      -- Objects of extensions keep their owner. Array types and the sequences of columns get the owner of their type or
      -- table.
      and not exists (
        select from pg_depend d
        where d.classid = owned.classid and d.objid = owned.oid and d.objsubid = 0 and d.deptype in ('e', 'i', 'a')
          and case d.deptype when 'e' then true when 'i' then named.type <> 'function' else named.type = 'sequence' end
      )
  loop
    execute format('alter %s %s owner to ${applicationName}', object.type, object.identity);
  end loop;
end $$;

`;

/**
 * Runs one statement as the superuser, in PostgreSQL's single-user mode. Meanwhile nobody can connect, and the lock on
 * the directory prevents another PostgreSQL from starting there.
 */
async function runAlone(
  { directory, runAs }: StoppedCluster,
  { postgres }: PostgresBinaries,
  database: string,
  sql: string,
): Promise<'done' | 'in_use'> {
  // Hash iterations slow down the guessing of passwords. A password of 32 random bytes does not need many iterations,
  // and many iterations would slow down each connection.
  const settings = ['exit_on_error=on', 'password_encryption=scram-sha-256', 'scram_iterations=1'];
  // With the option -j, a semicolon and an empty line end each statement.
  const args = ['--single', '-j', '-D', directory, ...settings.flatMap(setting => ['-c', setting])];
  const running = run(postgres, [...args, database], { ...runAs, cwd: '/', env: postgresEnvironment });
  running.child.stdin?.on('error', () => {}); // Ignores the error if PostgreSQL exits before it reads `sql`.
  running.child.stdin?.end(sql);
  try {
    await running;
    return 'done';
  } catch (error) {
    const { message, stderr = '' } = error as Error & { stderr?: string };
    if (isLockConflict(stderr)) return 'in_use';
    // The database cluster may not have the application's database yet, because the first start creates it later.
    if (stderr.includes(`database "${applicationName}" does not exist`)) return 'done';
    // Does not show the message of this error, because the message could contain the statement with the password.
    const reason = pickReason(stderr) ?? message.split('\n')[0];
    throw new EmbeddedPostgresError(`PostgreSQL in ${directory} cannot be secured: ${reason}`);
  }
}
