import pg from 'pg';
import { isReadOnly } from './unavailable.ts';

/** The part of pg's client that its published types leave out. */
interface ClientInternals {
  connection: { stream: { destroy(): void } };
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

function internalsOf(client: pg.Client): ClientInternals {
  return client as unknown as ClientInternals;
}
