import type { ErasureResult } from '../../../server/domain/erasure/batches.ts';
import { type CleanUpOptions, cleanUp } from '../../../server/domain/erasure/clean-up.ts';
import type { TestDatabase } from '../../helpers/database.ts';

const graces = { ACCOUNT_DELETION_GRACE_DAYS: 30, USER_DELETION_GRACE_HOURS: 48 };

export interface CleanUpOutcome {
  isAlone: boolean;
  accounts: ErasureResult[];
  users: ErasureResult[];
  held: { id: number; heldBy: string[] }[];
  failed: { what: string; id: number; error: unknown }[];
}

/** Erases the accounts and users whose deletion is due. By default, the default grace periods of the server apply. */
export async function runCleanUp(
  { database }: Pick<TestDatabase, 'database'>,
  options: Partial<CleanUpOptions> = {},
): Promise<CleanUpOutcome> {
  const outcome: CleanUpOutcome = { isAlone: false, accounts: [], users: [], held: [], failed: [] };
  outcome.isAlone = await cleanUp(database, {
    graces,
    now: new Date(),
    erasers: [],
    record: async () => {},
    witness: {
      erased: (what, result) => outcome[`${what}s`].push(result),
      held: (id, heldBy) => outcome.held.push({ id, heldBy }),
      failed: (what, id, error) => outcome.failed.push({ what, id, error }),
    },
    ...options,
  });
  return outcome;
}
