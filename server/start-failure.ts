import { ConfigError } from './config.ts';
import { EmbeddedPostgresError } from './database/embedded/postgres-program.ts';
import { MigrationError } from './database/migration-files.ts';
import { DatabaseUrlError } from './database/pooler.ts';
import { explainUnreachable } from './database/unavailable.ts';
import { ExtensionError } from './extensions/extension-error.ts';
import { buildEnvironmentRedactor } from './observability/redactor.ts';

/** The kinds of errors whose messages explain the problem to the operator of the server. */
const expectedErrors = [ConfigError, DatabaseUrlError, EmbeddedPostgresError, ExtensionError, MigrationError];

/** Describes why the server did not start, without secrets: one line for a known cause, otherwise stack traces. */
export function describeFailure(error: unknown, environment: NodeJS.ProcessEnv): string {
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

/** Returns one line that explains an expected error. Returns undefined for other errors. */
export function explainFailure(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (expectedErrors.some(kind => error instanceof kind)) return `Idea-Board cannot start: ${error.message}`;
  const { code, port, syscall } = error as NodeJS.ErrnoException & { port?: number };
  if (syscall === 'listen' && code === 'EADDRINUSE') return `Idea-Board cannot start: port ${port} is in use; set PORT`;
  if (syscall === 'listen') return `Idea-Board cannot start: cannot listen: ${error.message}`;
  const reason = explainUnreachable(error);
  return reason && `Idea-Board cannot start: the database cannot be reached: ${reason}`;
}
