export interface UserIds {
  uid: number;
  gid: number;
}

/** The system user `nobody`, because initdb requires an existing user, and this user exists nearly everywhere. */
export const unprivileged: UserIds = { uid: 65534, gid: 65534 };

/** The name of the application's database and of the role that owns it. The role is not a superuser. */
export const applicationName = 'idea_board';

/** The name of the superuser that initdb creates. It has no password, so nobody can connect with it. */
export const superuserName = 'idea_board_superuser';

/** The environment of PostgreSQL's programs: English messages, UTC, and no PG* variables. */
export const postgresEnvironment = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };

/** Returns the reason for a failure from PostgreSQL's output, without the time and process id of the log line. */
export function pickReason(output: string): string | undefined {
  const lines = output.split('\n').filter(line => line.trim() !== '');
  const reason = lines.findLast(line => /\b(FATAL|PANIC|error):/.test(line)) ?? lines.at(-1);
  return reason?.replace(/^.*?\b(?=FATAL:|PANIC:|error:)/, '');
}

/** Whether PostgreSQL exited because another PostgreSQL uses the same directory. */
export function isLockConflict(output: string): boolean {
  return /lock file ".*" already exists/.test(output);
}

/** Means that the embedded PostgreSQL is not available. The message is one line for the operator. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
  /** The code `in_use` means that another running process owns the embedded PostgreSQL. */
  readonly code: 'in_use' | undefined;

  constructor(message: string, { code, ...options }: ErrorOptions & { code?: 'in_use' } = {}) {
    super(message.replace(/\s+/g, ' ').trim(), options);
    this.code = code;
  }
}
