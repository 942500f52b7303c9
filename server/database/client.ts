import pg from 'pg';
import { inTimeOr } from './in-time.ts';
import { isReadOnly } from './unavailable.ts';

/** The internal parts of pg's client that this file uses. The types of pg omit them. */
interface ClientInternals {
  connection: { stream: { destroy(): void } };
}

/** The time limit for closing a connection. Without it, closing could wait forever for PostgreSQL. */
const closeLimitMs = 1_000;

/**
 * A PostgreSQL client that closes its connection after a query timeout. Otherwise the late answer would reach the next
 * query. The client also closes its connection when PostgreSQL is a read-only standby, such as the former primary after
 * a failover. If a query gets no answer, PostgreSQL may have executed the query. The client then emits 'answer lost'.
 */
export class FailFastClient extends pg.Client {
  // biome-ignore lint/suspicious/noExplicitAny: pg overloads query in ways that no single signature can state.
  override query(...args: any[]): any {
    const result = super.query(...(args as [string]));
    if (!(result instanceof Promise)) return result;
    return result.catch((error: Error) => {
      if (error.message === 'Query read timeout' || isReadOnly(error)) this.cut();
      if (isAnswerLost(error)) this.emit('answer lost');
      throw error;
    });
  }

  /** Breaks the connection. Its pending queries fail. */
  cut() {
    (this as unknown as ClientInternals).connection.stream.destroy();
  }

  /** Ends the connection. If PostgreSQL does not answer within a second, breaks the connection. */
  async close(): Promise<void> {
    await inTimeOr(this.end(), closeLimitMs, undefined);
    this.cut();
  }
}

/** Whether a query got no answer from PostgreSQL. An error during PostgreSQL's shutdown also counts as no answer. */
function isAnswerLost(error: Error): boolean {
  return !(error instanceof pg.DatabaseError) || (error.code?.startsWith('57P') ?? false);
}
