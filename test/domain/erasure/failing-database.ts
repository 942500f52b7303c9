import type { Database, Queryable } from '../../../server/database/database.ts';

export interface FailingDatabase {
  database: Database;
  /** Whether the statements were used up before the work was done. */
  isKilled(): boolean;
}

/**
 * A database on which a number of statements run, and none after: what the work leaves behind is what it would if its
 * process were killed there. A transaction in the middle of which that happens is rolled back.
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
