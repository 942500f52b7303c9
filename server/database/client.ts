import pg from 'pg';
import { inTimeOr } from './in-time.ts';
import { type Callback, PreparedQuery } from './prepared-query.ts';
import { isReadOnly } from './unavailable.ts';

/** The internal parts of pg's client that this file uses. The types of pg omit them. */
interface ClientInternals {
  connection: { stream: { destroy(): void } };
}

/** The time limit for closing a connection. Without it, closing could wait forever for PostgreSQL. */
const closeLimitMs = 1_000;

/** The arguments of a statement that each connection prepares once. */
interface PreparableConfig {
  name: string;
  text: string;
  values?: unknown[];
}

/**
 * A PostgreSQL client that closes its connection after a query timeout. Otherwise the late answer would reach the next
 * query. The client also closes its connection when PostgreSQL is a read-only standby, such as the former primary after
 * a failover. If a query gets no answer, PostgreSQL may have executed the query. The client then emits 'answer lost'.
 */
export class FailFastClient extends pg.Client {
  // biome-ignore lint/suspicious/noExplicitAny: pg overloads query in ways that no single signature can state.
  override query(...args: any[]): any {
    const [config, values, callback] = args;
    const result = isPreparable(config) ? this.#prepare(config, values, callback) : super.query(...(args as [string]));
    if (!(result instanceof Promise)) return result;
    return result.catch((error: Error) => {
      // Replaces the stack of the socket's event with the stack of the caller.
      Error.captureStackTrace(error);
      if (error.message === 'Query read timeout' || isReadOnly(error)) this.cut();
      if (isAnswerLost(error)) this.emit('answer lost');
      throw error;
    });
  }

  #prepare({ name, text, values }: PreparableConfig, given: unknown[] | undefined, callback: Callback | undefined) {
    const run = (done: Callback) =>
      super.query(new PreparedQuery(name, text, given ?? values ?? [], done) as unknown as pg.Submittable);
    if (callback) return run(callback);
    return new Promise((resolve, reject) => {
      run((error, result) => (error ? reject(error) : resolve(result)));
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

/** Whether a PreparedQuery can run this statement: it has a name, and no column types of its own. */
function isPreparable(config: pg.QueryConfig): config is PreparableConfig {
  return config.name !== undefined && config.types === undefined;
}
