import pg from 'pg';
import { statementName } from './statement.ts';
import { isDatabaseUnavailable } from './unavailable.ts';

/** The parts of pg's client and pool that this one extends; their published types do not know them all. */
interface ClientInternals {
  connection: { stream: { destroy(): void } };
  /** Gives a client that was taken from a pool back to it; with an error, to be closed. */
  release?(error: Error): void;
}

/**
 * The client of every connection in the pool.
 *
 * The ORM sends text and values; where the text is one of our statements it runs as a prepared one, also inside
 * the ORM's transactions. And a connection on which a query timed out is closed: the answer may still come, and
 * the next user of the connection would wait for it.
 *
 * A transaction of the ORM gives its connection back only when its rollback succeeds, and none when its begin fails.
 * On a connection that broke neither can: without what is done for them here, each would keep its place in the pool
 * until none is left.
 */
export class DatabaseClient extends pg.Client {
  // biome-ignore lint/suspicious/noExplicitAny: pg overloads query in ways that no single signature can state.
  override query(...args: any[]): any {
    const [text, values] = args;
    const name = typeof text === 'string' && Array.isArray(values) ? statementName(text) : undefined;
    const result = name ? super.query({ name, text, values }) : super.query(...(args as [string]));
    if (!(result instanceof Promise)) return result;
    const internals = this as unknown as ClientInternals;
    return result.catch((error: Error & { code?: string }) => {
      if (error.message === 'Query read timeout') internals.connection.stream.destroy();
      if (isBegin(text)) internals.release?.(error);
      // PostgreSQL has rolled back, or will when it notices that the connection is gone.
      if (text === 'rollback' && isDatabaseUnavailable(error)) return { command: 'ROLLBACK', rowCount: 0, rows: [] };
      throw error;
    });
  }
}

/** How the ORM's transactions begin. */
function isBegin(text: unknown): boolean {
  return typeof text === 'string' && /^(begin|start transaction)\b/.test(text);
}
