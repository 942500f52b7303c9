import type { Queryable } from '../../database/database.ts';
import type { RowCounts } from './batches.ts';

/** What the erasure of one account or user is given. */
export interface ErasureOptions {
  now: Date;
  /** Whoever was to be deleted then or before is due: the end of the grace is now. */
  dueBefore: Date;
  /** Rows that one transaction changes at most, or nearly. */
  batchSize: number;
  /** Called in the last transaction of each erasure: what it writes is committed with it, or not at all. */
  record(transaction: Queryable, erased: ErasureResult): Promise<void>;
}

/** An account or user that is erased. */
export interface ErasureResult {
  id: number;
  /** Whether an earlier run had begun it: then the counts are of what that one left. */
  isResumed: boolean;
  counts: RowCounts;
}

/** What keeps tables of its own, such as an extension, and forgets a user with the rest. */
export interface UserEraser {
  readonly name: string;
  /** Called in the last transaction of a user's erasure, while the user's row is still there. It may run again. */
  eraseUser?(transaction: Queryable, userId: number): Promise<void>;
}
