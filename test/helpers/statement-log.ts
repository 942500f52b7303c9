import { FailFastClient } from '../../server/database/client.ts';

export interface LoggedStatement {
  /** The number of the connection. Connections are numbered in the order of their first statements. */
  connection: number;
  text: string;
  values: unknown[];
}

/**
 * Records every statement that the server sends to PostgreSQL during `work`. Leaves out the statement that writes the
 * usage of tokens, because a timer runs it. Also leaves out the entity manager's first statement, which checks only
 * once that the database exists.
 */
export async function logStatements<T>(work: () => Promise<T>): Promise<{ result: T; statements: LoggedStatement[] }> {
  const statements: LoggedStatement[] = [];
  const connections = new Map<object, number>();
  const { query } = FailFastClient.prototype;
  FailFastClient.prototype.query = function (this: FailFastClient, ...args: unknown[]) {
    const connection = connections.get(this) ?? connections.size + 1;
    connections.set(this, connection);
    const [first, second] = args as [string | { text: string; values?: unknown[] }, unknown[]?];
    const { text, values = [] } = typeof first === 'string' ? { text: first, values: second } : first;
    const isOfWork = !text.includes('insert into "token_usage"') && !text.includes('from pg_database where');
    if (isOfWork) statements.push({ connection, text: text.trim(), values });
    return query.apply(this, args);
  };
  try {
    return { result: await work(), statements };
  } finally {
    FailFastClient.prototype.query = query;
  }
}
