import pg from 'pg';
import { statementName } from './statement.ts';
import { isDatabaseUnavailable, isReadOnly } from './unavailable.ts';

/** The parts of pg's client and pool that these extend; their published types do not know them all. */
interface ClientInternals {
  connection: { stream: { destroy(): void } };
  /** Gives a client that was taken from a pool back to it; with an error, to be closed. */
  release?(error: Error): void;
}

/** How long a farewell may take on a connection that may have gone silent. */
const farewellMs = 1_000;

/**
 * A client that closes its connection when nothing good can come of it any more: a query timed out, whose answer may
 * still come and would be the next user's, or PostgreSQL takes no writes, as one that another has taken over from.
 * Emits 'answer lost' when the connection broke under a query, which may have been carried out.
 */
export class WaryClient extends pg.Client {
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

  /** Breaks the connection: who waits for an answer on it gets an error. */
  cut() {
    internalsOf(this).connection.stream.destroy();
  }

  /** Ends the connection, and waits for PostgreSQL no longer than a moment. */
  async leave(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>(resolve => {
      timer = setTimeout(resolve, farewellMs);
    });
    await Promise.race([this.end().catch(() => {}), late]);
    clearTimeout(timer);
    this.cut();
  }
}

/** Not when PostgreSQL itself says that the statement failed, unless it says so as it shuts down. */
function isAnswerLost(error: Error): boolean {
  return !(error instanceof pg.DatabaseError) || (error.code?.startsWith('57P') ?? false);
}

/**
 * The client of every connection in the pool of requests.
 *
 * The ORM sends text and values; where the text is one of our statements it runs as a prepared one, also inside
 * the ORM's transactions.
 *
 * A transaction of the ORM gives its connection back only when its rollback succeeds, and none when its begin fails.
 * On a connection that broke neither can: without what is done for them here, each would keep its place in the pool
 * until none is left.
 */
export class DatabaseClient extends WaryClient {
  // biome-ignore lint/suspicious/noExplicitAny: pg overloads query in ways that no single signature can state.
  override query(...args: any[]): any {
    const [text, values, ...rest] = args;
    const name = typeof text === 'string' && Array.isArray(values) ? statementName(text) : undefined;
    const result = name ? super.query({ name, text, values }, ...rest) : super.query(...args);
    if (!(result instanceof Promise)) return result;
    return result.catch((error: Error) => {
      if (isBegin(text)) internalsOf(this).release?.(error);
      // PostgreSQL has rolled back, or will when it notices that the connection is gone.
      if (text === 'rollback' && isDatabaseUnavailable(error)) return { command: 'ROLLBACK', rowCount: 0, rows: [] };
      throw error;
    });
  }
}

function internalsOf(client: pg.Client): ClientInternals {
  return client as unknown as ClientInternals;
}

/** How the ORM's transactions begin. */
function isBegin(text: unknown): boolean {
  return typeof text === 'string' && /^(begin|start transaction)\b/.test(text);
}
