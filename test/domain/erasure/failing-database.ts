import type { Database, Queryable } from '../../../server/database/database.ts';

export interface FailingDatabase {
  database: Database;
  /** Returns whether the database has already rejected an SQL statement. */
  isKilled(): boolean;
}

/**
 * Simulates a killed process. Returns a database that runs the given number of SQL statements and rejects all later
 * statements. PostgreSQL then rolls back the open transaction.
 */
export function failAfter(inner: Database, statements: number): FailingDatabase {
  let left = statements;
  const counted = (queryable: Queryable): Queryable => ({
    query(statement, values) {
      if (left <= 0) {
        left = -1;
        throw new Error('The process was killed');
      }
      left--;
      return queryable.query(statement, values);
    },
  });
  return {
    database: {
      ...inner,
      query: async (statement, values) => counted(inner).query(statement, values),
      transaction: work => {
        if (left < 0) return Promise.reject(new Error('The process was killed'));
        return inner.transaction(transaction => work({ ...transaction, ...counted(transaction) }));
      },
    },
    isKilled: () => left < 0,
  };
}
