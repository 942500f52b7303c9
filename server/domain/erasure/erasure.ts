import type { Queryable } from '../../database/database.ts';
import type { RowCounts } from './batches.ts';

/** The options of the erasure of one account or user. */
export interface ErasureOptions {
  now: Date;
  /** A deletion that was requested at this time or before is due. */
  dueBefore: Date;
  /** About the largest number of rows that one transaction changes. */
  batchSize: number;
  /** Called in the last transaction of each erasure, so its writes commit with it or not at all. */
  record(transaction: Queryable, erased: ErasureResult): Promise<void>;
}

/** An account or user that is erased. */
export interface ErasureResult {
  id: number;
  /** Whether an earlier run began it. Then the counts contain only the rows that were left. */
  isResumed: boolean;
  counts: RowCounts;
}

/** Erases a user from tables of its own, such as those of an extension. */
export interface UserEraser {
  readonly name: string;
  /** Called in the last transaction of a user's erasure, while the user's row is still there. It may run again. */
  eraseUser?(transaction: Queryable, userId: number): Promise<void>;
}
