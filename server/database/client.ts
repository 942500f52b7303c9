import pg from 'pg';
import { inTimeOr } from './in-time.ts';
import { isReadOnly } from './unavailable.ts';

/** A part of pg's client that its types omit. */
interface ClientInternals {
  connection: { stream: { destroy(): void } };
}

/** A limit on closing a connection that may have gone silent. */
const closeLimitMs = 1_000;

/**
 * A client that closes its connection in two cases. After a query timeout, a late answer would go to the next query.
 * After a failover, the former primary accepts no writes. Emits 'answer lost' if the connection broke during a query,
 * which PostgreSQL may have executed.
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

  /** Breaks the connection. Pending queries fail. */
  cut() {
    (this as unknown as ClientInternals).connection.stream.destroy();
  }

  /** Ends the connection. Breaks it after a second without an answer. */
  async close(): Promise<void> {
    await inTimeOr(this.end(), closeLimitMs, undefined);
    this.cut();
  }
}

/** An error from PostgreSQL is an answer, unless it comes from a shutdown. */
function isAnswerLost(error: Error): boolean {
  return !(error instanceof pg.DatabaseError) || (error.code?.startsWith('57P') ?? false);
}
