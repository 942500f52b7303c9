import type { MigrationStream } from '../database/migrator.ts';

/** What an operator adds to the server by the setting EXTENSIONS. */
export interface Extension {
  name: string;
  /** Its own stream of migrations; undefined: it has no tables. */
  migrations: MigrationStream | undefined;
}
