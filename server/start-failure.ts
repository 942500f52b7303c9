import { ConfigError } from './config.ts';
import { EmbeddedPostgresError } from './database/embedded-postgres-error.ts';
import { explainUnreachable } from './database/explain-unreachable.ts';
import { MigrationError } from './database/migrator.ts';

/** The one line that says why a server cannot start; undefined for what nobody expected. */
export function explainFailure(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof ConfigError || error instanceof EmbeddedPostgresError || error instanceof MigrationError) {
    return `Idea-Board cannot start: ${error.message}`;
  }
  const { code, port, syscall } = error as NodeJS.ErrnoException & { port?: number };
  if (syscall === 'listen' && code === 'EADDRINUSE') return `Idea-Board cannot start: port ${port} is taken; set PORT`;
  if (syscall === 'listen') return `Idea-Board cannot start: cannot listen: ${error.message}`;
  const reason = explainUnreachable(error);
  return reason && `Idea-Board cannot start: the database cannot be reached: ${reason}`;
}
