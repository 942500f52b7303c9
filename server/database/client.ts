import pg from 'pg';
import { inTimeOr } from './in-time.ts';
import { isReadOnly } from './unavailable.ts';

/** The internal parts of pg's client that this file needs. pg's types omit them. */
interface ClientInternals {
  connection: { stream: { destroy(): void } };
}

/** The time limit for closing a connection, because PostgreSQL may no longer answer. */
const closeLimitMs = 1_000;

/**
 * A PostgreSQL client that closes its connection after a query timeout. Otherwise the next query would get the late
 * answer. It also closes its connection when PostgreSQL is a read-only standby, such as the former primary after a
 * failover. If a query gets no answer, PostgreSQL may have executed it. The client then emits 'answer lost'.
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

/** Whether a query failed without an answer from PostgreSQL. An error at PostgreSQL's shutdown counts as no answer. */
function isAnswerLost(error: Error): boolean {
  return !(error instanceof pg.DatabaseError) || (error.code?.startsWith('57P') ?? false);
}
