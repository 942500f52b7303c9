import pg from 'pg';
import { statementName } from './statement.ts';

/** The part of pg's client that this one extends; its published types know neither. */
interface ClientInternals {
  connection: { stream: { destroy(): void } };
}

/**
 * The client of every connection in the pool.
 *
 * The ORM sends text and values; where the text is one of our statements it runs as a prepared one, also inside
 * the ORM's transactions. And a connection on which a query timed out is closed: the answer may still come, and
 * the next user of the connection would wait for it.
 */
export class DatabaseClient extends pg.Client {
  // biome-ignore lint/suspicious/noExplicitAny: pg overloads query in ways that no single signature can state.
  override query(...args: any[]): any {
    const [text, values] = args;
    const name = typeof text === 'string' && Array.isArray(values) ? statementName(text) : undefined;
    const result = name ? super.query({ name, text, values }) : super.query(...(args as [string]));
    if (result instanceof Promise) {
      result.catch((error: Error) => {
        if (error.message === 'Query read timeout') (this as unknown as ClientInternals).connection.stream.destroy();
      });
    }
    return result;
  }
}
