import { ConfigError } from './config.ts';
import { EmbeddedPostgresError } from './database/embedded/postgres-program.ts';
import { MigrationError } from './database/migration-files.ts';
import { explainUnreachable } from './database/unavailable.ts';
import { ExtensionError } from './extensions/extension-error.ts';
import { buildEnvironmentRedactor } from './observability/redactor.ts';

/** What says itself, in one line, why nothing can be started. */
const refusals = [ConfigError, EmbeddedPostgresError, ExtensionError, MigrationError];

/** What a failed start says: one line of what has a plain cause, and the stacks of a fault of ours. Neither has secrets. */
export function tellFailure(error: unknown, environment: NodeJS.ProcessEnv): string {
  const redactor = buildEnvironmentRedactor(environment);
  const explanation = explainFailure(error);
  if (explanation !== undefined) return redactor.text(explanation);
  const stacks: string[] = [];
  for (let fault = redactor.value(error); fault !== undefined; fault = (fault as Fault).cause) {
    stacks.push((fault as Fault).stack ?? String(fault));
  }
  return stacks.join('\nCaused by ');
}

interface Fault {
  stack?: string;
  cause?: unknown;
}

/** The one line that says why a server cannot start; undefined for what nobody expected. */
export function explainFailure(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (refusals.some(kind => error instanceof kind)) {
    return `Idea-Board cannot start: ${error.message}`;
  }
  const { code, port, syscall } = error as NodeJS.ErrnoException & { port?: number };
  if (syscall === 'listen' && code === 'EADDRINUSE') return `Idea-Board cannot start: port ${port} is taken; set PORT`;
  if (syscall === 'listen') return `Idea-Board cannot start: cannot listen: ${error.message}`;
  const reason = explainUnreachable(error);
  return reason && `Idea-Board cannot start: the database cannot be reached: ${reason}`;
}
