export interface UserIds {
  uid: number;
  gid: number;
}

/** `nobody`, who exists nearly everywhere: initdb looks its user up and fails if there is none. */
export const unprivileged: UserIds = { uid: 65534, gid: 65534 };

/** The application's role and its database. The role owns the database and is no superuser. */
export const applicationName = 'idea_board';

/** The superuser that initdb makes. It has no password, so nobody can connect as it. */
export const superuserName = 'idea_board_superuser';

/** The environment of PostgreSQL's programs: English messages and UTC, and nothing of the caller's PG* variables. */
export const postgresEnvironment = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };

/** The line of PostgreSQL's output that says why it gave up, without its time and process id. */
export function pickReason(output: string): string | undefined {
  const lines = output.split('\n').filter(line => line.trim() !== '');
  const reason = lines.findLast(line => /\b(FATAL|PANIC|error):/.test(line)) ?? lines.at(-1);
  return reason?.replace(/^.*?\b(?=FATAL:|PANIC:|error:)/, '');
}

/** Whether PostgreSQL exited because another one works in the same directory. */
export function isLockConflict(output: string): boolean {
  return /lock file ".*" already exists/.test(output);
}

export type EmbeddedPostgresErrorCode =
  /** No PostgreSQL is packaged for this platform, or optional dependencies were left out. */
  | 'unavailable'
  /** Another live process owns the cluster. */
  | 'in_use'
  /** The data directory, initdb or PostgreSQL itself failed. */
  | 'failed';

/** Why there is no embedded PostgreSQL, in one line fit to be printed before the process exits. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
  readonly code: EmbeddedPostgresErrorCode;

  constructor(code: EmbeddedPostgresErrorCode, message: string, options?: ErrorOptions) {
    super(message.replace(/\s+/g, ' ').trim(), options);
    this.code = code;
  }
}
