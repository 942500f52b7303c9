import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chown, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeKeptSecret, readKeptSecret } from '../../kept-secret.ts';
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
 * Returns the password of the application role. The data directory keeps it beside the application key, because the
 * cluster belongs to PostgreSQL's user: any other process of that user could read it there.
 */
export async function loadPassword(dataDir: string, runAs?: UserIds): Promise<string> {
  const file = join(dataDir, 'postgres.password');
  const name = 'The password of the embedded PostgreSQL';
  const kept = await readKeptSecret(file, name);
  if (kept !== undefined) return kept.toString('base64');
  const secret = await makeKeptSecret(file, name);
  // An ordinary user who owns the cluster can go on without root, and then has to read the password.
  if (runAs !== undefined && runAs.uid !== unprivileged.uid) await chown(file, runAs.uid, runAs.gid);
  return secret.toString('base64');
}

/** Whether the cluster asks every client for a password, and the application role has this one. */
export async function isSecured(directory: string, password: string): Promise<boolean> {
  const text = await readFile(join(directory, 'pg_hba.conf'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  return text === describeAccess(password);
}

export interface StoppedCluster {
  directory: string;
  /** Who runs PostgreSQL, when that is not ourselves. */
  runAs: UserIds | undefined;
}

/**
 * Changes who may connect to a cluster whose PostgreSQL is stopped. Repeating it after an interruption is safe:
 * pg_hba.conf is written last, and says that everything is done. Returns false if another process uses the cluster.
 */
export async function secureCluster(
  cluster: StoppedCluster,
  binaries: PostgresBinaries,
  password: string,
): Promise<boolean> {
  const runSql = (database: string, sql: string) => runAlone(cluster, binaries, database, sql);
  if ((await runSql('postgres', arrangeRoles(password))) === 'in_use') return false;
  if ((await runSql(applicationName, giveDatabase)) === 'in_use') return false;
  const file = join(cluster.directory, 'pg_hba.conf');
  const draft = `${file}.idea-board`;
  await writeFile(draft, describeAccess(password), { mode: 0o600 });
  if (isRoot() && cluster.runAs !== undefined) await chown(draft, cluster.runAs.uid, cluster.runAs.gid);
  await rename(draft, file);
  return true;
}

/** The fingerprint ties the file to the password: a copied cluster or a lost password is arranged again. */
function describeAccess(password: string): string {
  const fingerprint = createHash('sha256').update(password).digest('hex').slice(0, 16);
  return `# Written by Idea-Board, which restores it at each start. Password: ${fingerprint}
local all all scram-sha-256
host all all all scram-sha-256
`;
}

/**
 * In a cluster of a version that trusted every client, the application's role is the superuser that initdb made, which
 * PostgreSQL lets nobody demote. It gets another name and a new role takes over its old one. The superuser has no
 * password, so nobody can connect as it.
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
 * Gives the application role everything in its database that belonged to the superuser. Extensions stay: PostgreSQL has
 * no command for their owner, and their functions serve everybody. 16384 is the first id that initdb does not give out.
 */
const giveDatabase = `do $$
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
      -- What belongs to an extension stays, and arrays and the sequences of columns follow their owner.
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
 * Runs one statement as the superuser, without a server: nobody can connect meanwhile. PostgreSQL's own lock on the directory keeps
 * servers and other such runs out.
 */
export async function runAlone(
  { directory, runAs }: StoppedCluster,
  { postgres }: PostgresBinaries,
  database: string,
  sql: string,
): Promise<'done' | 'in_use'> {
  // Iterations make guessing slower, which 32 random bytes do not need, and every connection as well.
  const settings = ['exit_on_error=on', 'password_encryption=scram-sha-256', 'scram_iterations=1'];
  // -j: a statement ends at an empty line.
  const args = ['--single', '-j', '-D', directory, ...settings.flatMap(setting => ['-c', setting])];
  const running = run(postgres, [...args, database], { ...runAs, cwd: '/', env: postgresEnvironment });
  running.child.stdin?.on('error', () => {}); // It exits before it reads if it cannot start.
  running.child.stdin?.end(sql);
  try {
    await running;
    return 'done';
  } catch (error) {
    const { message, stderr = '' } = error as Error & { stderr?: string };
    if (isLockConflict(stderr)) return 'in_use';
    // A first start is interrupted before it makes the database, or has not come to that yet.
    if (stderr.includes(`database "${applicationName}" does not exist`)) return 'done';
    // Not the message of the failure: it could quote the statement, and the password with it.
    const reason = pickReason(stderr) ?? message.split('\n')[0];
    throw new EmbeddedPostgresError('failed', `PostgreSQL in ${directory} cannot be secured: ${reason}`);
  }
}
